-- migration.sql - as "prisma migrate diff" writes it for schema.prisma.
-- SPDX-License-Identifier: ISC

-- CreateEnum
CREATE TYPE "Colour" AS ENUM ('red', 'green');

-- CreateTable
CREATE TABLE "Customer" (
    "id" SERIAL NOT NULL,
    "email" TEXT NOT NULL,
    "visits" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "Customer_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Order" (
    "id" SERIAL NOT NULL,
    "item" TEXT NOT NULL,
    "price" DECIMAL(12,2) NOT NULL,
    "note" JSONB,
    "customerId" INTEGER NOT NULL,

    CONSTRAINT "Order_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "Kinds" (
    "id" SERIAL NOT NULL,
    "json" JSONB,
    "decimal" DECIMAL(40,12),
    "bigint" BIGINT,
    "bytes" BYTEA,
    "time" TIMESTAMP(3),
    "texts" TEXT[],
    "colour" "Colour",
    "text" TEXT,

    CONSTRAINT "Kinds_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "Customer_email_key" ON "Customer"("email");

-- CreateIndex
CREATE INDEX "Order_customerId_idx" ON "Order"("customerId");

-- AddForeignKey
ALTER TABLE "Order" ADD CONSTRAINT "Order_customerId_fkey" FOREIGN KEY ("customerId") REFERENCES "Customer"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
