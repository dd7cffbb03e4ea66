// console.js - the admin console by node-postgres: node console.js PORT
// SPDX-License-Identifier: ISC
'use strict';
const assert = require('assert');
const { Client, Pool } = require('pg');

const where = { host: '127.0.0.1', port: Number(process.argv[2]),
  user: 'admin', password: 'adminpw', database: 'pgbouncer' };

async function tryAll(c) {
  for (let i = 0; i < 10; i++) {
    let res = await c.query('SHOW DATABASES');
    assert.strictEqual(res.rows[0].name, 'p0');
    assert.strictEqual(typeof res.rows[0].port, 'number');
    res = await c.query('SHOW DATABASES (name) WHERE name = $1', ['p1']);
    assert.deepStrictEqual(res.rows, [{ name: 'p1' }]);
    res = await c.query({ name: 'pools', text: 'SHOW POOLS' });
    assert.ok(res.rows.length > 0);
    res = await c.query('SHOW JSON LISTS');
    assert.strictEqual(res.rows[0].json[0].list, 'databases');
    await assert.rejects(c.query('NONSENSE'), { code: '08P01' });
    await c.query('BEGIN');
    await c.query('SHOW VERSION');
    await c.query('COMMIT');
  }
}

async function main() {
  const c = new Client(where);
  await c.connect();
  await tryAll(c);
  await c.end();
  const pool = new Pool(where);
  await Promise.all([1, 2, 3].map(() => pool.query('SHOW CLIENTS')));
  await pool.end();
  console.log('good');
}

main().catch((e) => {
  console.log(e);
  process.exit(1);
});
