"""Sends requests with a Python client, and says `answers errors slowest_ms`.

peer.py aiohttp|httpx URL CONNECTIONS [SECONDS]: for so many seconds, or one on each connection.
"""

import asyncio
import sys
import time


def aiohttp_get(connections):
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections),
        timeout=aiohttp.ClientTimeout(total=120),
    )

    async def get(url):
        async with session.get(url) as answer:
            await answer.read()
            return answer.status

    return get, session.close


def httpx_get(connections):
    import httpx

    client = httpx.AsyncClient(
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        timeout=120,
    )

    async def get(url):
        return (await client.get(url)).status_code

    return get, client.aclose


async def main(client, url, connections, seconds=None):
    get, close = {"aiohttp": aiohttp_get, "httpx": httpx_get}[client](int(connections))
    end = time.monotonic() + float(seconds or 0)
    answers = errors = 0
    slowest = 0.0

    async def user():
        nonlocal answers, errors, slowest
        while True:
            start = time.monotonic()
            try:
                good = await get(url) == 200
            except Exception:
                good = False
            answers += good
            errors += not good
            slowest = max(slowest, time.monotonic() - start)
            if time.monotonic() >= end:
                return

    await asyncio.gather(*(user() for _ in range(int(connections))))
    await close()
    print(answers, errors, slowest * 1000)


asyncio.run(main(*sys.argv[1:]))
