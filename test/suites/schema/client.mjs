// client.mjs - postgres.js and node-postgres, each by one way to send a query;
// see schema.py.
// SPDX-License-Identifier: ISC
import readline from "node:readline";
import pg from "pg";
import postgres from "postgres";

const driver = process.argv[2];
const env = process.env;

class PostgresJs {
  async open() {
    this.sql = postgres({host: env.PGHOST, port: +env.PGPORT,
                         username: env.PGUSER, database: env.PGDATABASE,
                         max: 1, fetch_types: false, onnotice() {},
                         prepare: driver !== "postgres.js-unnamed"});
    this.held = null;
    await this.sql`select 1`;
  }

  query(text, ...args) {
    return (this.held || this.sql).unsafe(text, args,
                                          {prepare: driver !== "postgres.js-unnamed"});
  }

  async begin() {
    this.held = await this.sql.reserve();
    await this.held.unsafe("begin");
  }

  async rollback() {
    await this.held.unsafe("rollback");
    this.held.release();
    this.held = null;
  }

  close() {
    return this.sql.end();
  }
}

class NodePostgres {
  async open() {
    this.c = new pg.Client({host: env.PGHOST, port: +env.PGPORT,
                            user: env.PGUSER, database: env.PGDATABASE});
    this.c.on("error", () => {});
    await this.c.connect();
  }

  async query(text, ...args) {
    const name = driver === "pg-named" ? text.slice(0, 60) : undefined;
    return (await this.c.query({name, text, values: args})).rows;
  }

  begin() {
    return this.c.query("begin");
  }

  rollback() {
    return this.c.query("rollback");
  }

  close() {
    return this.c.end();
  }
}

const Driver = driver.startsWith("postgres.js") ? PostgresJs : NodePostgres;

function state(e) {
  return "error " + (e.code || String(e).replaceAll("\n", " "));
}

function show(rows) {
  const words = ["row"];
  for (const row of rows)
    for (const [k, v] of Object.entries(row))
      words.push(`${k}=${v}`);
  return words.join(" ");
}

async function crowd(clients, rounds) {
  const bad = [];
  await Promise.all(Array.from({length: clients}, async (_, n) => {
    const ident = n + 1, c = new Driver();
    try {
      await c.open();
      for (let i = 0; i < rounds; i++) {
        const rows = await c.query(
          `select $1::int4 + ${ident * 1000} as n${ident}`, i);
        const said = show(rows);
        if (said !== `row n${ident}=${ident * 1000 + i}`)
          bad.push(said);
      }
      await c.close();
    } catch (e) {
      bad.push(state(e));
    }
  }));
  return ["wrong", bad.length, ...bad.slice(0, 1)].join(" ");
}

const conns = {};

async function answer(word) {
  const [what, name, value] = word;
  if (what === "open")
    await (conns[name] = new Driver()).open();
  else if (what === "select")
    return show(await conns[name].query("select * from t where id = $1", 1));
  else if (what === "insert")
    await conns[name].query("insert into t (id, a) values ($1, $2)", 2, value);
  else if (what === "crowd")
    return crowd(+name, +value);
  else
    await conns[name][what]();
  return "ok";
}

for await (const line of readline.createInterface({input: process.stdin}))
  console.log(await answer(line.split(" ")).catch(state));
process.exit(0);
