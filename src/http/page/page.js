"use strict";
(() => {
const POLL = 2000;		/* milliseconds */
const SPANS = [60, 120, 300, 600];	/* seconds that charts show */
const LONG = 1e6;		/* of a wait that is worth a word */
const LATE = 5e6;		/* of a transaction that may hold others up */
const MOST_ROWS = 200;		/* of a table */
const SEARCHED = 2000;		/* asked for when some are looked for */
const FULL_POOLS = 5;		/* whose holders are shown */
const CONSOLE = "pgbouncer";	/* the console's own pool is not shown */

const $ = id => document.getElementById(id);
const tells = what => document.body.dataset[what] === "1";

/* --- elements: whatever a server says becomes text, and nothing else --- */

function make(tag, props, ...kids) {
	const e = document.createElement(tag);

	for (const [name, value] of Object.entries(props || {})) {
		if (value !== null && value !== undefined && value !== false)
			e.setAttribute(name, value);
	}
	e.append(...kids.filter(k => k !== null && k !== undefined));
	return e;
}

function draw(tag, props, text) {
	const e = document.createElementNS("http://www.w3.org/2000/svg", tag);

	for (const [name, value] of Object.entries(props))
		e.setAttribute(name, value);
	if (text !== undefined)
		e.textContent = text;
	return e;
}

function cut(text, most) {
	const s = text === null || text === undefined ? "" : String(text);

	return s.length > most ? s.slice(0, most) + "…" : s;
}

/* A name, as long as it may be. */
function name(text, most = 300) {
	return make("span", { class: "t", title: cut(text, 2000) },
	    cut(text, most));
}

function badge(text, kind) {
	return make("span", { class: "badge " + kind }, cut(text, 60));
}

let today = "";			/* as the server's texts have it */

function noteDay(text) {
	today = text.slice(0, 10) > today ? text.slice(0, 10) : today;
}

let zone = "", offset = 0;	/* of the server's clock, offset in ms */

/* "2026-11-23 09:28:28 UTC": the day only where it is another. */
function moment(text) {
	const at = cut(text, 40);

	return make("span", { title: at }, at.startsWith(today) ?
	    at.slice(11, 19) : at.slice(0, 16));
}

/* --- numbers --- */

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const count = n => grouped.format(n);

function short(n) {
	for (const [size, unit] of [[1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
		if (n >= size)
			return digits(n / (size === 1e4 ? 1e3 : size)) + unit;
	}
	return n > 0 && n < 10 ? String(Math.round(n * 10) / 10) :
	    String(Math.round(n));
}

function digits(n) {
	return n >= 100 ? n.toFixed(0) : n.toFixed(n >= 10 ? 1 : 2);
}

function duration(us) {
	if (us === null || us === undefined)
		return "–";
	if (us < 1000)
		return Math.round(us) + " µs";
	if (us < 1e6)
		return digits(us / 1e3) + " ms";
	if (us < 60e6)
		return digits(us / 1e6) + " s";
	const s = Math.floor(us / 1e6);

	return s < 3600 ? Math.floor(s / 60) + " min " + s % 60 + " s" :
	    Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
}

/* The time of a sample, by the server's clock. */
const clock = ms => new Date(ms + offset).toISOString().slice(11, 19);

/* --- asking --- */

class Refused extends Error {}

const known = new Map();	/* path: what was answered, and its tag */

async function get(path) {
	const before = known.get(path), headers = {};
	const token = sessionStorage.getItem("token");

	if (before)
		headers["If-None-Match"] = before.tag;
	if (token)
		headers.Authorization = "Bearer " + token;
	const answer = await fetch("/api/" + path, {
		headers, cache: "no-store", credentials: "omit",
		signal: AbortSignal.timeout(20000) });

	if (answer.status === 304 && before)
		return before.data;
	if (answer.status === 401)
		throw new Refused();
	if (!answer.ok)
		throw new Error(path + ": " + answer.status);
	const data = await answer.json(), tag = answer.headers.get("ETag");

	if (tag && !path.includes("since="))
		known.set(path, { tag, data });
	return data;
}

/* --- tables --- */

const tables = new Map();

function sorted(t, rows) {
	const column = t.columns[t.by];

	if (!column)
		return rows;
	const value = column.sort || column.value;
	const order = (a, b) => {
		const x = value(a), y = value(b);

		if (typeof x === "number" && typeof y === "number")
			return x - y;
		return String(x).localeCompare(String(y));
	};

	return rows.slice().sort((a, b) => t.down ? order(b, a) : order(a, b));
}

/* What is looked for: words, one pool, only what is in trouble. */
const wanted = { words: [], pool: null, trouble: false };

const isWanted = () => wanted.words.length > 0 || wanted.pool !== null ||
    wanted.trouble;

function fits(t, row) {
	const text = wanted.words.length ?
	    JSON.stringify(Object.values(row)).toLowerCase() : "";

	return wanted.words.every(word => text.includes(word)) &&
	    (!wanted.trouble || !t.trouble || t.trouble(row)) &&
	    (wanted.pool === null || !t.ofPool || t.ofPool(row, wanted.pool));
}

function headOf(t) {
	const row = make("tr");

	t.columns.forEach((column, i) => {
		const button = make("button", { type: "button" }, column.title);
		const th = make("th", { scope: "col",
			class: column.number ? "n" : null }, button);

		if (column.time)
			button.append(make("span", { class: "zone" }));

		button.addEventListener("click", () => {
			t.down = t.by === i ? !t.down : Boolean(column.number);
			t.by = i;
			fill(t);
		});
		row.append(th);
	});
	return make("thead", null, row);
}

/* A column that may be left out, and has nothing to say. */
function isSilent(column, rows) {
	return Boolean(column.optional) &&
	    rows.every(row => !column.value(row));
}

function rowOf(t, row) {
	const tr = make("tr", { "data-key": t.key ? cut(t.key(row), 300) : null,
		class: t.kind ? t.kind(row) : null });

	for (const column of t.columns.filter(c => !c.silent)) {
		const value = column.show ? column.show(row) :
		    name(column.value(row));

		tr.append(make("td", { class: column.number ? "n" :
			column.wide ? "wide" : null,
			"data-title": column.title }, value));
	}
	return tr;
}

/* Change what differs: what was selected, or has the focus, stays. */
function renewRow(old, fresh) {
	if (old.isEqualNode(fresh))
		return old;
	if (old.cells.length !== fresh.cells.length)
		return fresh;
	old.className = fresh.className;
	[...fresh.cells].forEach((cell, i) => {
		if (!old.cells[i].isEqualNode(cell))
			old.cells[i].replaceWith(cell);
	});
	return old;
}

function renewBody(t, rows) {
	const before = new Map([...t.body.rows].map(tr =>
		[tr.dataset.key, tr]));
	const now = rows.map(row => {
		const fresh = rowOf(t, row), old = before.get(fresh.dataset.key);

		before.delete(fresh.dataset.key);
		return old ? renewRow(old, fresh) : fresh;
	});

	for (const tr of before.values())
		tr.remove();
	now.forEach((tr, i) => {
		if (t.body.rows[i] !== tr)
			t.body.insertBefore(tr, t.body.rows[i] || null);
	});
	while (t.body.rows.length > now.length)
		t.body.lastChild.remove();
}

/* Some of it is selected, to be copied: it stands still meanwhile. */
function isSelected(t) {
	const s = getSelection();

	return !s.isCollapsed && s.rangeCount > 0 &&
	    s.getRangeAt(0).intersectsNode(t.table) &&
	    t.table.contains(s.anchorNode);
}

const none = t => t.rows.length > 0 ? "None of " + count(t.rows.length) +
    " is what you look for." : t.nothing;

function fill(t) {
	const rows = sorted(t, t.rows.filter(row => fits(t, row)));

	if (isSelected(t))
		return;

	t.columns.forEach((column, i) => {
		column.silent = isSilent(column, rows);
		t.head.rows[0].cells[i].hidden = column.silent;
	});
	t.table.hidden = rows.length === 0;
	t.empty.hidden = rows.length > 0;
	t.empty.textContent = none(t);
	t.more.hidden = rows.length <= MOST_ROWS;
	t.more.textContent = count(rows.length - MOST_ROWS) + " more";
	renewBody(t, rows.slice(0, MOST_ROWS));
	[...t.head.rows[0].cells].forEach((th, i) => {
		if (i === t.by)
			th.setAttribute("aria-sort",
			    t.down ? "descending" : "ascending");
		else
			th.removeAttribute("aria-sort");
	});
}

/* { columns, empty, key(), kind() }: show() gives rows to it */
function table(id, t) {
	t.by = t.by === undefined ? -1 : t.by;
	t.head = headOf(t);
	t.body = make("tbody");
	t.table = make("table", null, t.head, t.body);
	t.rows = [];
	t.nothing = t.empty;
	t.empty = make("p", { class: "empty" });
	t.more = make("p", { class: "more" });
	$(id).append(t.table, t.empty, t.more);
	tables.set(id, t);
}

function show(id, rows) {
	const t = tables.get(id);

	t.rows = rows;
	fill(t);
}

/* Parts of a whole; without a limit, or with no part, the text is all. */
function meter(parts, whole, text) {
	const bar = make("span", { class: "bar", "aria-hidden": "true" });
	const sum = parts.reduce((n, [, value]) => n + value, 0);
	const all = Math.max(whole, sum);

	if (!whole)
		return text;
	if (sum === 0)
		return make("span", { class: "meter" },
		    make("span", { class: "no-bar" }), make("span", null, text));

	for (const [kind, value] of parts) {
		const part = make("i", { class: kind });

		part.style.width = 100 * value / all + "%";
		if (value > 0)
			bar.append(part);
	}
	return make("span", { class: "meter" }, bar, make("span", null, text));
}

/* --- the tables there are --- */

const KINDS = { paused: "warn", drained: "warn", server_login_failed: "bad",
	no_host: "bad", down: "bad", degraded: "warn", well: "ok",
	waiting: "warn", active: "busy", idle: "spare", new: "login",
	tested: "login" };

const kindOf = word => KINDS[word] || "";
const linked = p => p.sv_active + p.sv_active_cancel + p.sv_being_canceled;
const spare = p => p.sv_idle + p.sv_used + p.sv_tested;
const ofPool = p => linked(p) + spare(p) + p.sv_login;
const use = p => p.pool_size > 0 ? ofPool(p) / p.pool_size : 0;
const where = x => x.addr === "unix" ? "unix" : x.addr + ":" + x.port;

let longestQueue = 1;

let troubles = new Map();	/* database: its worst finding */

const isTroubled = database => troubles.has(database);
const inPool = (row, pool) => row.database === pool.database &&
    row.user === pool.user;

/* A name that leads to what its pool has. */
function poolLink(p) {
	const chosen = wanted.pool !== null && inPool(p, wanted.pool);
	const button = make("button", { type: "button", class: "link",
		"aria-pressed": String(chosen),
		title: "Show this pool alone" }, cut(p.database, 300));

	return button;
}

table("pools", {
	empty: "No pool yet: nobody has logged in.",
	key: p => p.database + "/" + p.user,
	trouble: p => p.cl_waiting > 0 || isTroubled(p.database),
	ofPool: inPool,
	columns: [
		{ title: "Database", value: p => p.database, show: poolLink },
		{ title: "User", value: p => p.user },
		{ title: "Waiting", sort: p => p.cl_waiting, number: false,
			show: p => meter([["queue", p.cl_waiting]],
			    longestQueue, count(p.cl_waiting)) },
		{ title: "Longest wait", sort: p => p.wait_us, number: true,
			show: p => p.cl_waiting ? duration(p.wait_us) : "" },
		{ title: "Because of", sort: p => p.wait_reason || "",
			show: p => p.wait_reason ? badge(p.wait_reason,
			    kindOf(p.wait_reason) || "warn") : "" },
		{ title: "Servers", sort: use, show: p => meter([
			["active", linked(p)], ["idle", spare(p)],
			["login", p.sv_login]], p.pool_size, linked(p) +
		    (p.pool_size ? " of " + p.pool_size : "") + " busy" +
		    (spare(p) ? ", " + spare(p) + " idle" : "") +
		    (p.sv_login ? ", " + p.sv_login + " new" : "")) },
		{ title: "Clients", sort: p => p.cl_active, number: true,
			show: p => count(p.cl_active) },
		{ title: "Mode", value: p => p.pool_mode },
	],
});

table("waits", {
	empty: "Nobody waits for a server.",
	key: w => w.database + "/" + w.user,
	ofPool: inPool,
	columns: [
		{ title: "Database", value: w => w.database },
		{ title: "User", value: w => w.user },
		{ title: "Clients", sort: w => w.clients, number: true,
			show: w => count(w.clients) },
		{ title: "Longest", sort: w => w.wait_us, number: true,
			show: w => duration(w.wait_us) },
		{ title: "Because of", sort: w => w.wait_reason,
			show: w => badge(w.wait_reason,
			    kindOf(w.wait_reason) || "warn") },
		{ title: "Look at", value: w => w.setting },
		{ title: "Why", wide: true, value: w => w.detail,
			show: w => name(w.detail, 1200) },
	],
});

table("holders", {
	empty: "No client has a server of a full pool.",
	key: s => s.id,
	ofPool: inPool,
	columns: [
		{ title: "Database", value: s => s.database },
		{ title: "User", value: s => s.user },
		{ title: "In transaction", number: true,
			sort: s => s.transaction_us, show: s =>
			s.transaction_us ? duration(s.transaction_us) :
			"none" },
		{ title: "Application", value: s => s.application_name },
		{ title: "Client", value: s => s.client || "" },
		{ title: "Client id", number: true, sort: s => s.client_id,
			show: s => String(s.client_id || "") },
		{ title: "Server process", sort: s => s.remote_pid,
			number: true, show: s => String(s.remote_pid || "") },
	],
});

/* What is wrong with a database, and for how long. */
function health(d) {
	const f = troubles.get(d.name);

	if (!f)
		return d.disabled ? badge("disabled", "warn") :
		    d.paused ? badge("paused", "warn") : badge("well", "ok");
	return make("span", null, badge(f.state, kindOf(f.state)), " " +
	    f.reason + (f.seconds ? " for " + duration(f.seconds * 1e6) : ""));
}

const rank = d => ["well", "degraded", "down"].indexOf(
    (troubles.get(d.name) || { state: d.disabled || d.paused ? "degraded" :
    "well" }).state);

table("databases", {
	empty: "None.",
	key: d => d.name,
	trouble: d => rank(d) > 0,
	ofPool: (d, pool) => d.name === pool.database,
	columns: [
		{ title: "Name", value: d => d.name },
		{ title: "Health", sort: rank, number: false, show: health },
		{ title: "Leads to", value: d => (d.host || "unix") + ":" +
			d.port + "/" + (d.database || "") },
		{ title: "Servers", sort: d => d.current_connections,
			show: d => meter([["active", d.current_connections]],
			    d.max_connections, d.current_connections +
			    (d.max_connections ? " of " + d.max_connections :
			    "")) },
		{ title: "Clients", number: true,
			sort: d => d.current_client_connections,
			show: d => count(d.current_client_connections) +
			    (d.max_client_connections ? " of " +
			    d.max_client_connections : "") },
		{ title: "Pool size", number: true, sort: d => d.pool_size,
			show: d => String(d.pool_size) },
	],
});

/* What clients and servers have in common. */
const connection = [
	{ title: "State", sort: c => c.state,
		show: c => badge(c.state, kindOf(c.state)) },
	{ title: "Database", value: c => c.database },
	{ title: "User", value: c => c.user },
	{ title: "Address", value: where },
];

const transaction = { title: "In transaction", number: true, optional: true,
	value: c => c.transaction_us, show: c => c.transaction_us ?
	    duration(c.transaction_us) : "" };

table("servers", {
	empty: "No connection to a server.",
	key: s => s.id,
	trouble: s => s.transaction_us > LATE || isTroubled(s.database),
	ofPool: inPool,
	columns: [
		...connection,
		transaction,
		{ title: "Process", sort: s => s.remote_pid, number: true,
			show: s => String(s.remote_pid || "") },
		{ title: "Application", optional: true,
			value: s => s.application_name },
		{ title: "Client", optional: true, value: s => s.client || "" },
		{ title: "Connected", time: true, value: s => s.connect_time,
			show: s => moment(s.connect_time) },
		{ title: "Last used", time: true, value: s => s.request_time,
			show: s => moment(s.request_time) },
		{ title: "TLS", optional: true, value: s => s.tls },
	],
});

table("clients", {
	empty: "No client.",
	key: c => c.id,
	trouble: c => c.waited_us > 0 || c.transaction_us > LATE ||
	    isTroubled(c.database),
	ofPool: inPool,
	columns: [
		...connection,
		transaction,
		{ title: "Application", optional: true,
			value: c => c.application_name },
		{ title: "Waits", number: true, optional: true,
			value: c => c.waited_us,
			show: c => c.waited_us ? duration(c.waited_us) : "" },
		{ title: "Because of", optional: true,
			value: c => c.wait_reason || "" },
		{ title: "Server process", number: true, optional: true,
			value: c => c.server_pid,
			show: c => String(c.server_pid || "") },
		{ title: "Connected", time: true, value: c => c.connect_time,
			show: c => moment(c.connect_time) },
		{ title: "Last heard", time: true, value: c => c.request_time,
			show: c => moment(c.request_time) },
		{ title: "TLS", optional: true, value: c => c.tls },
	],
});

const CLASSES = { "08": "connection", "0A": "feature not supported",
	"22": "data", "23": "constraint", "25": "state of the transaction",
	"26": "name of a statement", "28": "login", "34": "name of a cursor",
	"3D": "name of a database", "40": "rollback, deadlock",
	"42": "syntax, access, names", "53": "resources", "54": "limit of the program",
	"55": "state of an object", "57": "operator, timeout, shutdown",
	"58": "system", "P0": "PL/pgSQL", "XX": "internal" };

table("errors", {
	empty: "No error was sent to a client.",
	key: x => x.sqlstate_class + x.source,
	columns: [
		{ title: "SQLSTATE", value: x => x.sqlstate_class + "…" },
		{ title: "About", value: x => CLASSES[x.sqlstate_class] || "" },
		{ title: "From", value: x => x.source },
		{ title: "In the last minute", number: true, sort: x => x.lately,
			show: x => count(x.lately) },
		{ title: "Since the start", number: true, sort: x => x.count,
			show: x => count(x.count) },
	],
});

table("settings", {
	empty: "All are at their default.",
	key: s => s.key,
	columns: [
		{ title: "Setting", value: s => s.key },
		{ title: "Value", value: s => s.value },
		{ title: "Default", value: s => s.default },
		{ title: "By RELOAD", value: s => s.changeable },
	],
});

table("log", {
	empty: tells("log") || tells("token") ? "Nothing yet." :
	    "Not told here: see http_log_lines.",
	key: l => l.number,
	trouble: l => l.level !== "LOG",
	ofPool: (l, pool) => l.text.includes(pool.database),
	columns: [
		{ title: "Time", time: true, value: l => l.number, show: l =>
			make("span", { title: cut(l.time, 40) },
			    l.time.startsWith(today) ? l.time.slice(11, 23) :
			    l.time.slice(0, 19).replace("T", " ")) },
		{ title: "Level", value: l => l.level, show: l =>
			badge(l.level, { ERROR: "bad", FATAL: "bad",
			    WARNING: "warn" }[l.level] || "") },
		{ title: "Line", wide: true, value: l => l.text,
			show: l => name(l.text, 600) },
	],
});

/* --- charts --- */

const perSecond = what => s => s[what] * 1e6 / s.length;
const ifAny = (any, what) => s => s[any] ? s[what] : null;
const rate = n => short(n) + "/s";

/* Each colour has one meaning: busy, idle, waiting, failed; the others count. */
const charts = [
	{ title: "Throughput", unit: rate, lines: [
		["transactions", perSecond("transactions"), "done"],
		["queries", perSecond("queries"), "asked"]] },
	{ title: "Time of a query", unit: duration, decades: true, lines: [
		["p50", ifAny("queries", "query_p50"), "p50"],
		["p95", ifAny("queries", "query_p95"), "p95"],
		["p99", ifAny("queries", "query_p99"), "p99"]] },
	{ title: "Logins and errors", unit: rate, lines: [
		["logins", perSecond("logins"), "asked"],
		["failed logins", perSecond("failed_logins"), "failed dash"],
		["errors", perSecond("errors"), "failed"]] },
	{ title: "Wait for a server", unit: duration, decades: true, lines: [
		["p50", ifAny("waits", "wait_p50"), "p50"],
		["p95", ifAny("waits", "wait_p95"), "p95"],
		["longest now", s => s.longest_wait, "queue"]] },
	{ title: "Clients", unit: short, whole: true, lines: [
		["active", s => s.clients_active, "active"],
		["waiting", s => s.clients_waiting, "queue"]] },
	{ title: "Servers", unit: short, whole: true, lines: [
		["busy", s => s.servers_active, "active"],
		["idle", s => s.servers_idle, "idle"]] },
];

let samples = [];		/* the oldest first */
let span = SPANS[0] * 1e6;	/* that charts show, in microseconds */
const HEIGHT = 136, LEFT = 52, TOP = 8, BOTTOM = 20;

/* The next of 1, 2, 5, 10, 20 ... */
function ceiling(n, whole) {
	let size = whole ? 1 : 0.1;

	for (let i = 0; size < n; i++)
		size *= [2, 2.5, 2][i % 3];
	return Math.max(size, whole ? 2 : 0.2);
}

/* From 10 microseconds on, ten times as much each step: what is seldom does not
 * flatten what is usual. */
function decades(most) {
	let steps = 2;

	while (10 * 10 ** steps < most)
		steps++;
	const every = steps > 4 ? 2 : 1, ticks = [];

	for (let i = 0; i <= steps; i += every)
		ticks.push(10 * 10 ** i);
	return { ticks, share: n => n <= 10 ? 0 : Math.log10(n / 10) / steps };
}

function evenly(most, whole) {
	const top = ceiling(most, whole);

	return { ticks: [0, top / 2, top], share: n => n / top };
}

/* Lines between the gaps, in which nothing happened. */
function pathOf(points, floor) {
	let line = "", area = "", open = null;
	const close = at => {
		if (open !== null)
			area += "L" + at + "," + floor + "L" + open + "," +
			    floor + "Z";
		open = null;
	};
	let last = 0;

	for (const [x, y] of points) {
		if (y === null) {
			close(last);
			continue;
		}
		const at = x.toFixed(1) + "," + y.toFixed(1);

		/* one alone is a dot */
		line += (open === null ? "M" + at + "h.1" : "") + "L" + at;
		area += (open === null ? "M" : "L") + at;
		open = open === null ? x.toFixed(1) : open;
		last = x.toFixed(1);
	}
	close(last);
	return { line, area };
}

function begin(chart) {
	chart.svg = draw("svg", { role: "img", tabindex: "0" });
	chart.legend = make("div", { class: "legend" });
	$("charts").append(make("figure", null,
	    make("figcaption", null, chart.title), chart.legend, chart.svg));
	chart.at = null;
	const move = at => {
		chart.at = at;
		plot(chart);
	};

	chart.svg.addEventListener("pointermove", e => {
		const box = chart.svg.getBoundingClientRect();

		move((e.clientX - box.left - LEFT) /
		    Math.max(1, box.width - LEFT));
	});
	chart.svg.addEventListener("pointerleave", () => move(null));
	chart.svg.addEventListener("blur", () => move(null));
	chart.svg.addEventListener("keydown", e => {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];

		if (!step)
			return;
		e.preventDefault();
		move(Math.min(1, Math.max(0, (chart.at === null ? 1 :
		    chart.at) + step * 0.01)));
	});
}

/* The sample that is looked at; or the last. */
function chosen(chart, end) {
	if (chart.at === null)
		return samples[samples.length - 1];
	const time = end - (1 - chart.at) * span;

	return samples.reduce((best, s) => Math.abs(s.at - time) <
	    Math.abs(best.at - time) ? s : best);
}

function tellLegend(chart, s) {
	const items = chart.lines.map(([title, value, kind]) => {
		const n = s ? value(s) : null;
		const key = make("span", { class: "key " + kind });

		return make("span", null, key, title + " ",
		    make("b", null, n === null ? "–" : chart.unit(n)));
	});

	if (chart.at !== null && s)
		items.push(make("span", null,
		    "at " + clock(s.at / 1e3) + " " + zone));
	chart.legend.replaceChildren(...items);
	chart.svg.setAttribute("aria-label", chart.title + ": " +
	    chart.legend.textContent);
}

function ago(us) {
	const s = Math.round(us / 1e6);

	return s === 0 ? "now" : "−" + (s < 120 ? s + " s" : s / 60 + " min");
}

/* 10 ms and 2.5 s, not 10.0 ms. */
const tickOf = (chart, n) => chart.unit(n).replace(/\.0+ /, " ");

function plotGrid(chart, width, scale) {
	const floor = HEIGHT - BOTTOM, parts = [];

	for (const n of scale.ticks) {
		const y = floor - scale.share(n) * (floor - TOP);

		parts.push(draw("line", { class: "grid", x1: LEFT, x2: width,
			y1: y, y2: y }));
		parts.push(draw("text", { x: LEFT - 6, y: y + 4,
			"text-anchor": "end" },
		    n === 0 ? "0" : tickOf(chart, n)));
	}
	for (const [share, anchor] of [[1, "start"], [0.5, "middle"],
	    [0, "end"]]) {
		parts.push(draw("text", { y: HEIGHT - 5,
			x: width - (width - LEFT) * share,
			"text-anchor": anchor }, ago(span * share)));
	}
	return parts;
}

function plot(chart) {
	const width = Math.max(200, chart.svg.clientWidth || 400);
	const floor = HEIGHT - BOTTOM;
	const end = samples.length ? samples[samples.length - 1].at : 0;
	const s = samples.length ? chosen(chart, end) : null;
	const most = Math.max(0, ...chart.lines.flatMap(([, value]) =>
		samples.map(x => value(x) || 0)));
	const scale = chart.decades ? decades(most) :
	    evenly(most, chart.whole);
	const x = at => width - (width - LEFT) * (end - at) / span;
	const parts = plotGrid(chart, width, scale);

	chart.lines.forEach(([, value, kind], i) => {
		const points = samples.map(one => {
			const n = value(one);

			return [x(one.at), n === null ? null :
			    floor - (floor - TOP) * scale.share(n)];
		});
		const path = pathOf(points, floor);

		if (i === 0)
			parts.push(draw("path", { class: "area " + kind,
				d: path.area }));
		parts.push(draw("path", { class: "line " + kind,
			d: path.line }));
	});
	if (chart.at !== null && s)
		parts.push(draw("line", { class: "cross", x1: x(s.at),
			x2: x(s.at), y1: TOP, y2: floor }));
	chart.svg.setAttribute("viewBox", "0 0 " + width + " " + HEIGHT);
	chart.svg.replaceChildren(...parts);
	tellLegend(chart, s);
}

function take(history) {
	const names = history.columns;
	const fresh = history.rows.map(row =>
		Object.fromEntries(names.map((n, i) => [n, row[i]])));

	samples = samples.concat(fresh);
	const end = samples.length ? samples[samples.length - 1].at : 0;

	const all = SPANS[SPANS.length - 1] * 1e6;

	samples = samples.filter(s => s.at > end - all);
	const age = samples.length ? end - samples[0].at : 0;

	span = Math.min(all, ...SPANS.map(s => s * 1e6).filter(s => s >= age));
}

/* Those that are new; all, when it is another process. */
async function renewHistory() {
	const last = samples.length ? samples[samples.length - 1].number : 0;
	const history = await get("history?since=" + last);

	if (history.last >= last) {
		take(history);
		return;
	}
	samples = [];
	take(await get("history?since=0"));
}

/* --- what is at the top --- */

function tile(id, title, value, note, kind) {
	return make("div", { id: "tile-" + id, class: "tile " + (kind || "") },
	    make("div", { class: "name" }, title),
	    make("div", { class: "value" }, value),
	    make("div", { class: "note" }, note));
}

const sum = (rows, value) => rows.reduce((n, row) => n + value(row), 0);

const PHASES = {
	grace: "/readyz fails; who comes is served still.",
	leaving: "Clients go between two transactions; new ones are refused.",
};

/* How far a drain is; nothing where there is none. */
function tileOfDrain(state) {
	return state.draining ? [tile("drain", "Clients left to go",
	    count(state.clients_left), "within " + state.seconds_left + " s",
	    "bad")] : [];
}

function tellTiles(pools, settings, state) {
	const s = samples[samples.length - 1];
	const waiting = sum(pools, p => p.cl_waiting);
	const longest = Math.max(0, ...pools.map(p => p.wait_us));
	const busy = sum(pools, linked), idle = sum(pools, spare);
	const fresh = sum(pools, p => p.sv_login);
	const most = settings.max_client_conn;

	$("tiles").replaceChildren(...tileOfDrain(state),
	    tile("clients", "Clients", count(sum(pools, p => p.cl_active) +
	        waiting), most ? "of " + count(most.value) : ""),
	    tile("waiting", "Waiting for a server", count(waiting),
	        waiting ? "the first for " + duration(longest) : "nobody",
	        longest > LONG ? "warn" : ""),
	    tile("servers", "Busy servers", count(busy), idle + " idle" +
	        (fresh ? ", " + fresh + " new" : "")),
	    tile("transactions", "Transactions", s ?
	        rate(perSecond("transactions")(s)) : "–", s ?
	        rate(perSecond("queries")(s)).replace("/s", " queries/s") : ""),
	    tile("query", "Query, p95", s && s.queries ?
	        duration(s.query_p95) : "–", s && s.queries ?
	        "p50 " + duration(s.query_p50) + ", p99 " +
	        duration(s.query_p99) : "none runs"),
	    tile("logins", "Logins", s ? rate(perSecond("logins")(s)) : "–",
	        s && s.failed_logins ? rate(perSecond("failed_logins")(s)) +
	        " failed" : "none failed", s && s.failed_logins ? "bad" : ""),
	    tile("errors", "Errors", s ? rate(perSecond("errors")(s)) : "–",
	        "sent to clients"),
	    tile("wait", "Wait, p95", s && s.waits ?
	        duration(s.wait_p95) : "–", s && s.waits ?
	        "p50 " + duration(s.wait_p50) + ", p99 " +
	        duration(s.wait_p99) : "none was assigned"));
}

let place = "pgsluice";		/* which one it is, for the title */

function tellProcess(p) {
	const up = (p.now - p.started) / 1e6;

	place = p.host + ":" + p.port + " – pgsluice";
	zone = p.clock.split(" ").pop();
	offset = Date.parse(p.clock.slice(0, 19).replace(" ", "T") + "Z") -
	    p.now / 1e3;
	noteDay(p.clock);
	$("where").textContent = cut(p.host, 100) + ":" + p.port;
	$("process").textContent = "process " + p.pid + ", up " +
	    (up < 172800 ? duration(up * 1e6) : Math.floor(up / 86400) +
	    " days");
	for (const e of document.querySelectorAll(".zone"))
		e.textContent = zone;
	$("updated").textContent = "as of " + clock(p.now / 1e3) + " " + zone;
}

/* The word that SHOW HEALTH, /readyz and the metrics have, too. */
const WORDS = {
	well: ["Well", "ok"],
	degraded: ["Degraded", "warn"],
	down: ["Down", "bad"],
};

/* States in which the pooler does not serve every client. The first is shown. */
const DOINGS = [
	["shutting down", x => x.reasons.some(r =>
		r.reason === "shutting down")],
	["draining", x => x.state.draining],
	["suspended", x => x.state.suspended === "yes"],
	["paused", x => x.state.paused === "yes"],
	["not ready", x => !x.ready],
];

function tellBanner(lines, kind) {
	const banner = $("banner");
	const text = JSON.stringify(lines);

	/* who listens to the page hears of it once */
	if (banner.dataset.text === text)
		return;
	banner.dataset.text = text;
	banner.hidden = lines.length === 0;
	banner.className = kind;
	banner.replaceChildren(...lines.map(([head, rest]) =>
		make("p", null, make("b", null, cut(head, 200)),
		    cut(rest, 600))));
}

function tellPill(text, kind) {
	const pill = $("state");

	if (pill.textContent !== text)
		pill.textContent = text;
	pill.className = "pill " + kind;
	document.title = (text === "Well" ? "" : text + " – ") + place;
}

/* Its head and the rest. The progress of a drain stands elsewhere. */
function lineOf(r, state) {
	if (r.database)
		return [r.database + (r.user ? "/" + r.user : ""), r.reason +
		    (r.seconds ? " for " + duration(r.seconds * 1e6) : "") +
		    (r.detail ? ": " + r.detail : "")];
	return [r.reason, r.reason === "draining" ? PHASES[state.draining] :
	    r.detail];
}

function tellState(rows, state, health) {
	const x = { state, ready: health.ready, reasons: health.reasons };
	const doing = DOINGS.find(([, holds]) => holds(x));
	const [word, kind] = WORDS[health.state];
	const lines = health.reasons.map(r => lineOf(r, state));

	for (const s of rows.filter(one => one.key === "drained"))
		lines.push(["drained", s.value]);
	tellPill(doing ? word + ": " + doing[0] : word, kind);
	tellBanner(lines, kind === "ok" ? "warn" : kind);
}

/* --- all of it, again and again --- */

const isOpen = id => $(id + "-box").open;

const limit = () => "limit=" + (isWanted() ? SEARCHED : MOST_ROWS);

/* Of the chosen pool, or of all. */
const ofWanted = () => wanted.pool === null ? "" :
    "&database=" + encodeURIComponent(wanted.pool.database) +
    "&user=" + encodeURIComponent(wanted.pool.user);

/* Who waits comes first. */
async function renewClients() {
	const ask = limit() + ofWanted();
	const [waiting, some] = await Promise.all([
		get("clients?state=waiting&" + ask), get("clients?" + ask)]);
	const seen = new Set(waiting.map(c => c.id));

	for (const c of some)
		noteDay(c.request_time);
	show("clients", waiting.concat(some.filter(c => !seen.has(c.id) &&
		c.database !== CONSOLE)));
}

/* The oldest transaction comes first. */
const byAge = (a, b) => b.transaction_us - a.transaction_us ||
    String(a.state).localeCompare(b.state);

/* In the pools in which clients wait, or in the one that is looked at. */
async function renewHolders(pools) {
	const full = pools.filter(p => wanted.pool !== null ?
		inPool(p, wanted.pool) : p.cl_waiting > 0 && linked(p) > 0)
	    .sort((a, b) => b.wait_us - a.wait_us).slice(0, FULL_POOLS);
	const rows = await Promise.all(full.map(p => get(
		"servers?state=active&limit=" + MOST_ROWS + "&database=" +
		encodeURIComponent(p.database) + "&user=" +
		encodeURIComponent(p.user))));

	$("holding").hidden = full.length === 0;
	show("holders", rows.flat().filter(s => s.client_id !== null)
	    .sort(byAge));
}

const seenErrors = [];		/* [time, counts], the oldest first */

/* Of the last minute, as far as the page has seen it. */
async function renewErrors() {
	const rows = await get("errors"), now = Date.now();
	const id = x => x.sqlstate_class + x.source;

	while (seenErrors.length > 1 && seenErrors[1][0] < now - 60e3)
		seenErrors.shift();
	seenErrors.push([now, new Map(rows.map(x => [id(x), x.count]))]);
	const then = seenErrors[0][1];

	show("errors", rows.map(x => ({ ...x,
		lately: x.count - (then.get(id(x)) || 0) }))
	    .sort((a, b) => b.lately - a.lately || b.count - a.count));
	$("errors-count").textContent = count(sum(rows, x => x.count));
}

async function renewBoxes() {
	const jobs = [];

	if (isOpen("clients"))
		jobs.push(renewClients());
	if (isOpen("servers"))
		jobs.push(get("servers?" + limit() + ofWanted())
		    .then(rows => {
			rows.forEach(s => noteDay(s.request_time));
			show("servers", rows.slice().sort(byAge));
		    }));
	if (isOpen("errors"))
		jobs.push(renewErrors());
	if (isOpen("log") && tells("log"))
		jobs.push(get("log").then(rows => {
			rows.forEach(l => noteDay(l.time));
			show("log", rows.slice().reverse());
		}));
	await Promise.all(jobs);
}

/* The worst of each database: a finding of the whole comes first in the list. */
function noteTroubles(findings) {
	const worth = f => ["well", "degraded", "down"].indexOf(f.state);

	troubles = new Map();
	for (const f of findings.filter(one => one.database)) {
		const before = troubles.get(f.database);

		if (!before || worth(f) > worth(before))
			troubles.set(f.database, f);
	}
}

function renewTables(pools, waits, databases) {
	const ours = rows => rows.filter(r => r.name !== CONSOLE);

	longestQueue = Math.max(1, ...pools.map(p => p.cl_waiting));
	show("pools", pools.slice().sort((a, b) =>
		b.cl_waiting - a.cl_waiting || use(b) - use(a) ||
		a.database.localeCompare(b.database)));
	show("waits", waits.filter(w => w.clients > 0));
	show("databases", ours(databases).sort((a, b) => rank(b) - rank(a)));
	$("pools-count").textContent = count(pools.length);
	$("databases-count").textContent = count(ours(databases).length);
	$("servers-count").textContent = count(sum(pools, ofPool));
	$("clients-count").textContent = count(sum(pools, p =>
		p.cl_active + p.cl_waiting));
}

/* Numbers may be told in another form than they are written in. */
function isChanged(s) {
	const a = s.value || "", b = s.default || "";

	return a !== b && !(/^0[0-7]+$/.test(b) && Number(a) ===
	    parseInt(b, 8)) && !(b === "" && a === "0");
}

function renewSettings(config) {
	const changed = config.filter(isChanged);

	show("settings", changed);
	$("settings-count").textContent = count(changed.length);
	return Object.fromEntries(config.map(s => [s.key, s]));
}

async function renew() {
	const [own, rows, health, findings, version, config, all, waits,
	    databases] = await Promise.all([get("process"), get("state"),
		get("health"), get("findings"), get("version"), get("config"),
		get("pools"), get("waits"), get("databases"),
		renewHistory()]);
	const pools = all.filter(p => p.database !== CONSOLE);
	const state = Object.fromEntries(rows.map(r => [r.key, r.value]));

	$("login").hidden = true;
	$("main").hidden = false;
	const text = cut(version[0].version, 100);
	const ours = /\(pgsluice ([^)]+)\)/.exec(text);

	$("version").textContent = ours ? ours[1] : text;
	$("version").title = text;
	tellProcess(own);
	noteTroubles(findings);
	tellState(rows, state, health);
	tellTiles(pools, renewSettings(config), state);
	charts.forEach(plot);
	renewTables(pools, waits, databases);
	await Promise.all([renewHolders(pools), renewBoxes()]);
	document.body.dataset.renewed = "1";
}

let lost = null;		/* since when nothing is answered */

function fail(error) {
	if (error instanceof Refused) {
		$("refused").textContent = sessionStorage.getItem("token") ?
		    "That is not the token." : "";
		sessionStorage.removeItem("token");
		askToken();
		return;
	}
	lost = lost || new Date();
	tellPill("No answer", "bad");
	tellBanner([["No answer since " + clock(lost.getTime()) + " " + zone +
		".",
		"What stands below is older than that."]], "bad");
}

let timer = null, busy = false;

async function turn() {
	if (busy)
		return;
	busy = true;
	clearTimeout(timer);
	try {
		if (!document.hidden)
			await renew();
		lost = null;
	} catch (error) {
		fail(error);
	}
	busy = false;
	if ($("pause").getAttribute("aria-pressed") === "false" &&
	    $("login").hidden)
		timer = setTimeout(turn, POLL);
}

/* --- what can be pressed --- */

function askToken() {
	$("main").hidden = true;
	$("login").hidden = false;
	tellPill("Token needed", "warn");
	tellBanner([], "");
	$("token").focus();
}

$("login").addEventListener("submit", e => {
	e.preventDefault();
	sessionStorage.setItem("token", $("token").value.trim());
	$("token").value = "";
	$("login").hidden = true;
	turn();
});

$("pause").addEventListener("click", () => {
	const held = $("pause").getAttribute("aria-pressed") === "false";

	$("pause").setAttribute("aria-pressed", String(held));
	$("pause").textContent = held ? "▶ Go on" : "❚❚ Pause";
	clearTimeout(timer);
	if (!held)
		turn();
});

/* --- looking for some --- */

function look() {
	$("pool").hidden = wanted.pool === null;
	$("pool").textContent = wanted.pool === null ? "" :
	    cut(wanted.pool.database + "/" + wanted.pool.user, 80) + " ×";
	tables.forEach(fill);
	/* there may be more of them than the page has */
	if (timer !== null)
		turn();
}

function choosePool(pool) {
	wanted.pool = wanted.pool !== null && pool !== null &&
	    inPool(pool, wanted.pool) ? null : pool;
	look();
}

$("search").addEventListener("input", () => {
	wanted.words = $("search").value.toLowerCase().split(/\s+/)
	    .filter(word => word !== "");
	look();
});
$("trouble").addEventListener("change", () => {
	wanted.trouble = $("trouble").checked;
	look();
});
$("pool").addEventListener("click", () => choosePool(null));
$("pools").addEventListener("click", e => {
	const tr = e.target.closest("tbody tr");
	const row = tr && tables.get("pools").rows.find(p =>
		cut(p.database + "/" + p.user, 300) === tr.dataset.key);

	if (row && getSelection().isCollapsed)
		choosePool({ database: row.database, user: row.user });
});
document.addEventListener("keydown", e => {
	const field = e.target.closest("input");

	if (e.key === "/" && !field && !e.ctrlKey && !e.metaKey) {
		e.preventDefault();
		$("search").focus();
	} else if (e.key === "Escape" && field && field.id === "search") {
		field.value = "";
		field.dispatchEvent(new Event("input"));
	}
});

const prefers = matchMedia("(prefers-color-scheme: dark)");

function paint() {
	document.documentElement.dataset.theme =
	    sessionStorage.getItem("theme") ||
	    (prefers.matches ? "dark" : "light");
}

$("theme").addEventListener("click", () => {
	sessionStorage.setItem("theme",
	    document.documentElement.dataset.theme === "dark" ? "light" :
	    "dark");
	paint();
});
prefers.addEventListener("change", paint);
document.addEventListener("visibilitychange", () => {
	if (!document.hidden && timer !== null)
		turn();
});
for (const id of ["servers", "clients", "errors", "log"])
	$(id + "-box").addEventListener("toggle", () => {
		if (isOpen(id) && timer !== null)
			turn();
	});
addEventListener("resize", () => charts.forEach(plot));

paint();
charts.forEach(begin);
if (tells("token") && !sessionStorage.getItem("token"))
	askToken();
else
	turn();
})();
