#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands between Sluice and the API server and does harm, or only takes notes. A process of its own.

    proxy.py cut PORT UPSTREAM_PORT                             bytes pass; every second all connections are cut
    proxy.py fail PORT UPSTREAM_PORT CERT KEY CA CLIENT_CERT CLIENT_KEY
                                                                the first attempt of each write fails
    proxy.py note PORT UPSTREAM_PORT CERT KEY CA CLIENT_CERT CLIENT_KEY FILE
                                                                each write becomes a line of JSON in FILE

`fail` and `note` end TLS and speak to the API server with a certificate of their own. Every other write that fails
was carried out before: only the answer is lost. What was done is counted on standard output when it ends.
"""

import asyncio
import json
import os
import signal
import ssl
import sys

counts = {"connections": 0, "cuts": 0, "requests": 0, "failed before": 0, "failed after": 0}


async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.transport.abort()


async def cut(port, upstream):
    open_now = set()

    async def serve(reader, writer):
        counts["connections"] += 1
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", upstream)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, up_writer)
        open_now.add(pair)
        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))
        open_now.discard(pair)

    async def scissors():
        while True:
            await asyncio.sleep(1)
            for pair in list(open_now):
                counts["cuts"] += 1
                for writer in pair:
                    writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    return server, asyncio.ensure_future(scissors())


async def head(reader):
    """The first line and the fields of a message; the names of fields in lower case."""
    raw = await reader.readuntil(b"\r\n\r\n")
    first, *lines = raw.decode("latin-1").split("\r\n")
    fields = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
    return raw, first, fields


async def body(reader, fields, answer, take):
    """Gives take() the bytes of a body as they stand on the wire. Whether the connection may go on."""
    if fields.get("transfer-encoding") == "chunked":
        while True:
            line = await reader.readuntil(b"\r\n")
            data = await reader.readexactly(int(line.split(b";")[0], 16) + 2)
            await take(line + data)
            if line[:1] == b"0" and int(line.split(b";")[0], 16) == 0:
                return True
    if "content-length" in fields:
        await take(await reader.readexactly(int(fields["content-length"])))
        return True
    if answer:  # until the end of the connection
        while data := await reader.read(65536):
            await take(data)
        return False
    return True


async def fail(port, upstream, cert, key, ca, client_cert, client_key, notes=None):
    """With notes, a path: nothing fails, but all writes are noted there."""
    mine = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    mine.load_cert_chain(cert, key)
    mine.set_alpn_protocols(["http/1.1"])
    theirs = ssl.create_default_context(cafile=ca)
    theirs.load_cert_chain(client_cert, client_key)
    tried = set()
    notes = notes and open(notes, "a", buffering=1)

    async def serve(reader, writer):
        counts["connections"] += 1
        up = None
        try:
            while True:
                raw, first, fields = await head(reader)
                method, path, _ = first.split(" ")
                sent = [raw]

                async def keep(data):
                    sent.append(data)

                if fields.get("expect"):
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                await body(reader, fields, False, keep)
                counts["requests"] += 1
                write = method in ("POST", "PUT", "PATCH", "DELETE")
                refuse = write and not notes and (method, path) not in tried
                tried.add((method, path))
                if write and notes:
                    notes.write(
                        json.dumps(
                            {
                                "method": method,
                                "path": path,
                                "type": fields.get("content-type"),
                                "body": b"".join(sent[1:]).decode(),
                            }
                        )
                        + "\n"
                    )
                late = refuse and len(tried) % 2 == 0
                more = True
                if not refuse or late:
                    if up is None:
                        up = await asyncio.open_connection("127.0.0.1", upstream, ssl=theirs)
                    lines = [line for line in sent[0].split(b"\r\n") if not line.lower().startswith(b"expect:")]
                    up[1].write(b"\r\n".join(lines) + b"".join(sent[1:]))
                    await up[1].drain()
                    raw, first, fields = await head(up[0])

                    async def back(data):
                        if not late:
                            writer.write(data)
                            await writer.drain()

                    await back(raw)
                    if method != "HEAD" and first.split(" ")[1] not in ("204", "304"):
                        more = await body(up[0], fields, True, back)
                if refuse:
                    counts["failed after" if late else "failed before"] += 1
                    text = json.dumps(
                        {
                            "kind": "Status",
                            "apiVersion": "v1",
                            "status": "Failure",
                            "code": 500,
                            "reason": "InternalError",
                            "message": "a test wants this to fail",
                        }
                    ).encode()
                    writer.write(
                        b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
                        b"Content-Length: %d\r\n\r\n" % len(text) + text
                    )
                    await writer.drain()
                if not more:
                    break
        except (OSError, asyncio.IncompleteReadError, ssl.SSLError, ValueError):
            pass
        finally:
            writer.transport.abort()
            if up:
                up[1].transport.abort()

    return await asyncio.start_server(serve, "127.0.0.1", port, ssl=mine), None


async def main():
    kind, port, upstream, *rest = sys.argv[1:]
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    kept = await {"cut": cut, "fail": fail, "note": fail}[kind](int(port), int(upstream), *rest)
    await ended.wait()
    print(json.dumps(counts), flush=True)
    del kept
    os._exit(0)  # whatever is still open


asyncio.run(main())
