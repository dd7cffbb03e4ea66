// service.ts - each request in a client of its own, as a serverless function.
// SPDX-License-Identifier: ISC
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "./generated/client.js";

const connectionString = process.env.DATABASE_URL;
const customers = Number(process.env.CUSTOMERS);
const max = Number(process.env.CONNECTIONS);
const elsewhere = 200; // ms: what a request waits for that is no database

async function serve(id: number) {
	const db = new PrismaClient({
		adapter: new PrismaPg({ connectionString, max }),
	});
	try {
		const [customer, orders, sum] = await Promise.all([
			db.customer.findUniqueOrThrow({ where: { id } }),
			db.order.findMany({ where: { customerId: id }, take: 10 }),
			db.order.aggregate({
				where: { customerId: id }, _sum: { price: true } }),
		]);
		await sleep(elsewhere);
		await db.$transaction(async (tx) => {
			await tx.customer.update({
				where: { id }, data: { visits: { increment: 1 } } });
			await tx.order.create({
				data: { item: "tea", price: "2.50", customerId: id } });
		}, { maxWait: 30000, timeout: 30000 });
		return { customer, orders: orders.length, sum: sum._sum.price };
	} finally {
		await db.$disconnect();
	}
}

let count = 0;

const server = http.createServer(async (_request, response) => {
	try {
		const text = JSON.stringify(await serve(1 + count++ % customers));
		response.writeHead(200, { "content-type": "application/json" });
		response.end(text);
	} catch (error) {
		// one line each, for who counts them
		const text = String((error as Error).message).trim().split("\n").at(-1);
		console.error("failed: " + text);
		response.writeHead(500).end();
	}
});

server.listen(Number(process.env.PORT), "127.0.0.1");
