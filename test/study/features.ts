// features.ts - what Prisma can do, through whatever DATABASE_URL leads to.
// SPDX-License-Identifier: ISC
//
// A line of JSON for each: its name, and what went wrong, if anything.
import assert from "node:assert/strict";
import pg from "pg";
import { PrismaPg } from "@prisma/adapter-pg";
import { Prisma, PrismaClient } from "./generated/client.js";

const connectionString = process.env.DATABASE_URL;
const limit = 20000; // ms for each

type Client = InstanceType<typeof PrismaClient>;

function open(max = 3, more = {}): Client {
	return new PrismaClient({
		adapter: new PrismaPg({ connectionString, max, ...more }),
	});
}

const db = open();

async function two(work: (a: Client, b: Client) => Promise<void>) {
	const [a, b] = [open(1), open(1)];
	try {
		await work(a, b);
	} finally {
		await Promise.all([a.$disconnect(), b.$disconnect()]);
	}
}

async function fails(code: string, work: Promise<unknown>) {
	await assert.rejects(work, { code });
}

function customer(email: string) {
	return { email: email + "@" + crypto.randomUUID() };
}

const features: Record<string, () => Promise<void>> = {
	"queries, relations, in parallel": async () => {
		const made = await Promise.all([..."abcdefgh"].map((name) =>
			db.customer.create({ data: { ...customer(name), orders: {
				create: [{ item: name, price: 1 }, { item: "x", price: 2 }],
			} }, include: { orders: true } })));
		for (const one of made)
			assert.equal(one.orders.length, 2);
	},
	"batch": async () => {
		const data = customer("batch");
		await db.$transaction([db.customer.create({ data }),
			db.customer.update({ where: data, data: { visits: 7 } })]);
		await fails("P2002", db.$transaction([
			db.customer.update({ where: data, data: { visits: 8 } }),
			db.customer.create({ data })]));
		const found = await db.customer.findUnique({ where: data });
		assert.equal(found?.visits, 7);
	},
	"interactive transaction: commit, rollback": async () => {
		const data = customer("interactive");
		await db.$transaction(async (tx) => {
			await tx.customer.create({ data });
			await tx.customer.update({ where: data, data: { visits: 1 } });
		}, { isolationLevel: "Serializable" });
		await assert.rejects(db.$transaction(async (tx) => {
			await tx.customer.update({ where: data, data: { visits: 2 } });
			throw new Error("no");
		}), /no/);
		const found = await db.customer.findUnique({ where: data });
		assert.equal(found?.visits, 1);
	},
	"interactive transaction that takes too long": async () => {
		const data = customer("late");
		await fails("P2028", db.$transaction(async (tx) => {
			await tx.customer.create({ data });
			await new Promise((done) => setTimeout(done, 400));
			await tx.customer.count();
		}, { timeout: 200 }));
		assert.equal(await db.customer.count({ where: data }), 0);
	},
	"40 clients at once": async () => {
		await Promise.all(Array.from({ length: 40 }, async () => {
			const one = open(1);
			try {
				await one.$transaction(async (tx) => {
					await tx.customer.create({ data: customer("many") });
					await tx.customer.count();
				}, { maxWait: limit, timeout: limit });
			} finally {
				await one.$disconnect();
			}
		}));
	},
	"raw queries": async () => {
		const rows = await db.$queryRaw<{ n: number }[]>`
			select n::int from generate_series(1, ${5}::int) as n`;
		assert.equal(rows.length, 5);
		const data = customer("raw");
		await db.customer.create({ data });
		assert.equal(await db.$executeRaw`
			update "Customer" set visits = 3 where email = ${data.email}`, 1);
		const unsafe = await db.$queryRawUnsafe<{ visits: number }[]>(
			'select visits from "Customer" where email = $1', data.email);
		assert.equal(unsafe[0].visits, 3);
	},
	"SET LOCAL ends with its transaction": async () => {
		await two(async (a) => {
			const tenant = () => a.$queryRaw<{ v: string | null }[]>`
				select current_setting('shop.tenant', true) as v`;
			await a.$transaction(async (tx) => {
				await tx.$executeRaw`
					select set_config('shop.tenant', 'a', true)`;
				const rows = await tx.$queryRaw<{ v: string }[]>`
					select current_setting('shop.tenant', true) as v`;
				assert.equal(rows[0].v, "a");
			});
			assert.equal((await tenant())[0].v || "", "");
		});
	},
	"SET stays with its client, and with nobody else": async () => {
		await two(async (a, b) => {
			const tenant = async (one: Client) => (await one.$queryRaw<
				{ v: string | null }[]>`select
				current_setting('shop.tenant', true) as v`)[0].v || "";
			await a.$executeRawUnsafe("set shop.tenant = 'a'");
			assert.equal(await tenant(b), "", "another client has it");
			await b.$executeRawUnsafe("set shop.tenant = 'b'");
			assert.equal(await tenant(a), "a", "it is another one's");
			assert.equal(await tenant(b), "b");
		});
	},
	"advisory lock of a session": async () => {
		await two(async (a, b) => {
			const locked = async (one: Client) => (await one.$queryRaw<
				{ v: boolean }[]>`select pg_try_advisory_lock(20) as v`)[0].v;
			assert.equal(await locked(a), true);
			assert.equal(await locked(b), false, "another client has it, too");
			const [{ v }] = await a.$queryRaw<{ v: boolean }[]>`
				select pg_advisory_unlock(20) as v`;
			assert.equal(v, true);
			assert.equal(await locked(b), true);
			await b.$queryRaw`select pg_advisory_unlock(20)::text`;
		});
	},
	"JSON": async () => {
		const json = { a: [1, 2.5, null, "ü"], deep: { b: true } };
		const { id } = await db.kinds.create({ data: { json } });
		const found = await db.kinds.findFirst({ where: {
			id, json: { path: ["deep", "b"], equals: true } } });
		assert.deepEqual(found?.json, json);
		await db.kinds.update({ where: { id },
			data: { json: Prisma.JsonNull } });
		assert.equal(await db.kinds.count({ where: {
			id, json: { equals: Prisma.JsonNull } } }), 1);
	},
	"decimals": async () => {
		const text = "1234567890123456789012345.123456789012";
		const { id } = await db.kinds.create({ data: { decimal: text } });
		const found = await db.kinds.findUnique({ where: { id } });
		assert.equal(found?.decimal?.toFixed(), text);
		const sum = await db.kinds.aggregate({
			where: { id }, _sum: { decimal: true } });
		assert.equal(sum._sum.decimal?.toFixed(), text);
	},
	"BigInt, bytes, times, lists, enums": async () => {
		const data = { bigint: 9007199254740993n, colour: "green" as const,
			bytes: Uint8Array.from([0, 255, 39, 92]), texts: ["a", "{\"}", ""],
			time: new Date("2026-02-03T04:05:06.789Z") };
		const { id } = await db.kinds.create({ data });
		const found = await db.kinds.findUniqueOrThrow({ where: { id } });
		assert.equal(found.bigint, data.bigint);
		assert.deepEqual([...found.bytes!], [...data.bytes]);
		assert.deepEqual(found.time, data.time);
		assert.deepEqual(found.texts, data.texts);
		assert.equal(found.colour, "green");
	},
	"large results: 50,000 rows, 8 MB in a value": async () => {
		const rows = await db.$queryRaw<{ n: number, t: string }[]>`
			select n::int, repeat('x', 100) as t
			from generate_series(1, 50000) as n`;
		assert.equal(rows.length, 50000);
		assert.equal(rows.at(-1)?.n, 50000);
		const text = "y".repeat(8 << 20);
		const { id } = await db.kinds.create({ data: { text } });
		const found = await db.kinds.findUniqueOrThrow({ where: { id } });
		assert.equal(found.text, text);
		await db.kinds.delete({ where: { id } });
	},
	"many rows by createMany": async () => {
		const data = Array.from({ length: 5000 }, (_, i) => ({
			texts: ["row " + i], text: "many" }));
		assert.equal((await db.kinds.createMany({ data })).count, 5000);
		const done = await db.kinds.deleteMany({ where: { text: "many" } });
		assert.equal(done.count, 5000);
	},
	"an error, and on with it": async () => {
		const data = customer("twice");
		await db.customer.create({ data });
		await fails("P2002", db.customer.create({ data }));
		await assert.rejects(db.$queryRawUnsafe("selec 1"));
		assert.equal(await db.customer.count({ where: data }), 1);
	},
	"no named prepared statements are used": async () => {
		await two(async (a) => {
			for (let i = 0; i < 3; i++)
				await a.customer.findFirst({ where: { id: i } });
			const [{ n }] = await a.$queryRaw<{ n: number }[]>`
				select count(*)::int as n from pg_prepared_statements`;
			assert.equal(n, 0);
		});
	},
	"?pgbouncer=true&connection_limit=1 in the URL": async () => {
		const one = open(3, { connectionString:
			connectionString + "?pgbouncer=true&connection_limit=1" });
		try {
			await one.customer.count();
		} finally {
			await one.$disconnect();
		}
	},
	"options=-c search_path=... in the URL": async () => {
		const one = open(1, { connectionString: connectionString
			+ "?options=-c%20search_path%3Dpg_catalog" });
		try {
			const [{ v }] = await one.$queryRaw<{ v: string }[]>`
				select current_setting('search_path') as v`;
			assert.equal(v, "pg_catalog");
		} finally {
			await one.$disconnect();
		}
	},
	"named prepared statements of the driver pg": async () => {
		const clients = [1, 2].map(() => new pg.Client({ connectionString }));
		await Promise.all(clients.map((one) => one.connect()));
		try {
			for (let i = 0; i < 3; i++)
				for (const one of clients) {
					const { rows } = await one.query({ name: "sum",
						text: "select $1::int + 1 as n", values: [i] });
					assert.equal(rows[0].n, i + 1);
				}
		} finally {
			await Promise.all(clients.map((one) => one.end()));
		}
	},
};

function late() {
	return new Promise<never>((_, reject) => setTimeout(() =>
		reject(new Error("not done after " + limit + " ms")), limit).unref());
}

for (const [name, work] of Object.entries(features)) {
	let error = "";
	try {
		await Promise.race([work(), late()]);
	} catch (e) {
		const lines = String((e as Error).message).trim().split("\n");
		const own = e instanceof assert.AssertionError && !e.generatedMessage;
		error = lines.at(own ? 0 : -1) || "?";
	}
	console.log(JSON.stringify([name, error]));
}
process.exit(0);
