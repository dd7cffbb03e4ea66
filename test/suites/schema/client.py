# client.py - asyncpg, psycopg and pg8000, each by one way to send a query; see
# schema.py.
# SPDX-License-Identifier: ISC
import asyncio
import concurrent.futures
import os
import sys

WHERE = {"host": os.environ["PGHOST"], "port": int(os.environ["PGPORT"]),
         "user": os.environ["PGUSER"], "database": os.environ["PGDATABASE"]}
LOOP = asyncio.new_event_loop()


class Asyncpg:
    def __init__(self):
        import asyncpg
        self.c = LOOP.run_until_complete(asyncpg.connect(**WHERE))

    def query(self, text, *args):
        rows = LOOP.run_until_complete(self.c.fetch(text, *args))
        return [(k, v) for row in rows for k, v in row.items()]

    exec = query


class Psycopg:
    def __init__(self):
        import psycopg
        self.c = psycopg.connect(
            host=WHERE["host"], port=WHERE["port"], user=WHERE["user"],
            dbname=WHERE["database"], autocommit=True)
        self.c.prepare_threshold = 0

    def query(self, text, *args):
        for i in range(len(args)):
            text = text.replace("$%d" % (i + 1), "%s")
        done = self.c.execute(text, args)
        if not done.description:
            return []
        names = [c.name for c in done.description]
        return [pair for row in done.fetchall() for pair in zip(names, row)]

    exec = query


class Pg8000:
    def __init__(self):
        import pg8000.native
        self.c = pg8000.native.Connection(**WHERE)
        self.made = {}

    def query(self, text, *args):
        # its prepared statements have names, and what it does not prepare
        # goes in two trips
        for i in range(len(args)):
            text = text.replace("$%d" % (i + 1), ":p%d" % (i + 1))
        rows = self.c.run(text, **{"p%d" % (i + 1): a
                                   for i, a in enumerate(args)})
        names = [c["name"] for c in self.c.columns or ()]
        return [pair for row in rows or () for pair in zip(names, row)]

    exec = query


class Pg8000Prepared(Pg8000):
    def query(self, text, *args):
        if text not in self.made:
            spelled = text
            for i in range(len(args)):
                spelled = spelled.replace("$%d" % (i + 1), ":p%d" % (i + 1))
            self.made[text] = self.c.prepare(spelled)
        made = self.made[text]
        rows = made.run(**{"p%d" % (i + 1): a for i, a in enumerate(args)})
        names = [c["name"] for c in made.columns or ()]
        return [pair for row in rows or () for pair in zip(names, row)]

    exec = query


DRIVERS = {"asyncpg": Asyncpg, "psycopg": Psycopg, "pg8000": Pg8000,
           "pg8000-prepared": Pg8000Prepared}


def state(e):
    code = getattr(e, "sqlstate", None)
    if not code and e.args and isinstance(e.args[0], dict):
        code = e.args[0].get("C")
    return "error " + (code or " ".join(repr(e).split()))


def attempt(what, *args):
    try:
        return what(*args), None
    except Exception as e:		# of any driver
        return None, state(e)


def show(pairs):
    return " ".join(["row"] + ["%s=%s" % (
        k, int(v) if isinstance(v, float) and v == int(v) else v)
        for k, v in pairs])


async def swarm_asyncpg(clients, rounds):
    import asyncpg
    wrong = []

    async def one(ident):
        c = await asyncpg.connect(**WHERE)
        for i in range(rounds):
            row = await c.fetchrow("select $1::int4 + %d as n%d" % (
                ident * 1000, ident), i)
            if dict(row) != {"n%d" % ident: ident * 1000 + i}:
                wrong.append(row)
        await c.close()
    done = await asyncio.gather(*map(one, range(1, clients + 1)),
                                return_exceptions=True)
    return wrong + [state(e) for e in done if isinstance(e, Exception)]


def swarm(driver, clients, rounds):
    def one(ident):
        bad = []
        c = DRIVERS[driver]()
        for i in range(rounds):
            got, error = attempt(c.query, "select $1::int4 + %d as n%d" % (
                ident * 1000, ident), i)
            if got != [("n%d" % ident, ident * 1000 + i)]:
                bad.append(error or show(got))
        return bad
    with concurrent.futures.ThreadPoolExecutor(clients) as threads:
        return sum(threads.map(one, range(1, clients + 1)), [])


def main():
    driver, conns = sys.argv[1], {}
    for line in sys.stdin:
        word = line.split()
        said = None
        if word[0] == "open":
            conns[word[1]], said = attempt(DRIVERS[driver])
        elif word[0] == "select":
            got, said = attempt(conns[word[1]].query,
                                "select * from t where id = $1", 1)
            said = said or show(got)
        elif word[0] == "insert":
            _, said = attempt(conns[word[1]].exec,
                              "insert into t (id, a) values ($1, $2)", 2,
                              int(word[2]))
        elif word[0] == "crowd":
            clients, rounds = int(word[1]), int(word[2])
            bad, said = attempt(LOOP.run_until_complete, swarm_asyncpg(
                clients, rounds)) if driver == "asyncpg" else \
                attempt(swarm, driver, clients, rounds)
            said = said or " ".join(["wrong %d" % len(bad),
                                     *map(str, bad[:1])])
        else:
            _, said = attempt(conns[word[1]].exec, word[0])
        print(said or "ok", flush=True)


main()
