// prisma.config.ts - migrations by the driver, as there is no other engine.
// SPDX-License-Identifier: ISC
import { defineConfig } from "prisma/config";
import { PrismaPg } from "@prisma/adapter-pg";
import Result from "pg/lib/result.js";

const CHAR = 18; // "char", with its quotes
const NAME = 19;
const TEXT = 25;

// The adapter does not know these two types, which catalogs consist of.
const addFields = Result.prototype.addFields;
Result.prototype.addFields = function (fields) {
	for (const field of fields)
		if (field.dataTypeID === NAME || field.dataTypeID === CHAR)
			field.dataTypeID = TEXT;
	addFields.call(this, fields);
};

class Adapter extends PrismaPg {
	// A shadow database can't be dropped before its connections are gone.
	async connectToShadowDb() {
		const shadow = await super.connectToShadowDb();
		const pool = shadow.underlyingDriver();
		const dispose = shadow.dispose.bind(shadow);
		shadow.dispose = async () => {
			await pool.end();
			pool.end = async () => {};
			await dispose();
		};
		return shadow;
	}
}

// The adapter opens a shadow database by its name, beside which a
// connectionString would win.
const url = new URL(process.env.DATABASE_URL!);

export default defineConfig({
	experimental: { adapter: true },
	engine: "js",
	schema: "prisma/schema.prisma",
	migrations: { path: "prisma/migrations" },
	adapter: async () => new Adapter({
		host: url.hostname,
		port: Number(url.port),
		user: url.username,
		password: url.password,
		database: url.pathname.slice(1),
	}),
});
