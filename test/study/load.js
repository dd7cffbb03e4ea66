// load.js - workers that become more and more; what each response took.
// SPDX-License-Identifier: ISC
//
// node load.js URL SECONDS WORKERS...
// A step for each number of workers. Those that are new come one after the
// other in the first third of it; the figures are those of the rest.
import { setTimeout as sleep } from "node:timers/promises";
import autocannon from "autocannon";

const [url, seconds, ...counts] = process.argv.slice(2).map(
	(word, i) => i === 0 ? word : Number(word));
const timeout = 30; // of a request, in seconds
const rows = [];
const running = [];

function worker(duration) {
	// at most one request a second: who waits for long asks less often
	const one = autocannon({ url, connections: 1, duration, timeout,
		connectionRate: 1 });
	one.on("response", (_client, status, _bytes, ms) =>
		rows.push([Date.now(), ms, status]));
	one.on("reqError", () => rows.push([Date.now(), timeout * 1000, 0]));
	running.push(one);
}

const begin = Date.now();
const steps = [];
for (const [i, count] of counts.entries()) {
	const from = begin + i * seconds * 1000;
	const fresh = count - running.length;
	for (let k = 0; k < fresh; k++) {
		const at = from + k * seconds * 1000 / 3 / fresh;
		await sleep(Math.max(0, at - Date.now()));
		const rest = begin + counts.length * seconds * 1000 - Date.now();
		worker(Math.max(1, rest / 1000));
	}
	const steady = from + seconds * 1000 / 3;
	const end = from + seconds * 1000;
	steps.push({ workers: count, from, steady, end });
	await sleep(Math.max(0, end - Date.now()));
}
await Promise.all(running);
console.log(JSON.stringify({ steps, rows }));
