#!/usr/bin/env python3
"""A server that lets everybody log in and answers each query with nothing.

  stub.py PORT

For thousands of server connections, which PostgreSQL would take long to open.
SPDX-License-Identifier: ISC
"""
import asyncio
import resource
import struct
import sys


def message(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


SSL_REQUEST = struct.pack("!i", 80877103)
READY = message(b"Z", b"I")
WELCOME = (message(b"R", b"\0\0\0\0") + b"".join(
    message(b"S", name + b"\0" + value + b"\0") for name, value in [
        (b"server_version", b"15.0"), (b"client_encoding", b"UTF8"),
        (b"server_encoding", b"UTF8"), (b"DateStyle", b"ISO, MDY"),
        (b"TimeZone", b"Etc/UTC"), (b"standard_conforming_strings", b"on"),
        (b"integer_datetimes", b"on")]) +
    message(b"K", struct.pack("!ii", 1, 1)) + READY)
DONE = message(b"C", b"SELECT 0\0") + READY


async def start_packet(reader):
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size - 4)


async def serve(reader, writer):
    try:
        while (await start_packet(reader))[:4] == SSL_REQUEST:
            writer.write(b"N")
        writer.write(WELCOME)
        while True:
            head = await reader.readexactly(5)
            await reader.readexactly(int.from_bytes(head[1:], "big") - 4)
            if head[:1] == b"Q":
                writer.write(DONE)
    except (EOFError, OSError):
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1",
                                        int(sys.argv[1]), backlog=1000)
    await server.serve_forever()


if __name__ == "__main__":
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    asyncio.run(main())
