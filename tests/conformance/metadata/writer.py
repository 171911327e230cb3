"""A process that writes metadata until it is killed, or as a test asks. Run: writer.py MODE FILE [NUMBER].

``forever``   writes from eight tasks and prints a line for each write that has been confirmed
``count N``   adds one to /counter N times by compare and set, each time under another path of /done/ as well
``ioerror``   lets the kernel refuse to grow any file, and prints what the store says before, meanwhile and after
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys

from magnetar.errors import MetadataFailed
from magnetar.metadata.sqlite import SqliteMetadata
from magnetar.ports.metadata import VersionConflict


async def forever(store: SqliteMetadata, number: int) -> None:
    async def write(task: int) -> None:
        for n in range(1_000_000):
            path = f"/crash/{number}/{task}/{n % 50}"
            version = await store.put(path, b"%d" % n)
            os.write(1, f"{path} {version} {n}\n".encode())

    await asyncio.gather(*(write(task) for task in range(8)))


async def count(store: SqliteMetadata, number: int) -> None:
    for n in range(number):
        while True:
            found = await store.get("/counter")
            value, version = (0, -1) if found is None else (int(found.value), found.version)
            try:
                await store.put("/counter", b"%d" % (value + 1), expected=version)
            except VersionConflict:
                continue
            break
        await store.put(f"/done/{os.getpid()}/{n:04}", b"")


async def ioerror(store: SqliteMetadata, _: int) -> None:
    async def attempt(path: str) -> None:
        try:
            await store.put(path, b"x" * 200_000)
        except MetadataFailed as error:
            os.write(1, f"{path} failed: {error}\n".encode())
        else:
            os.write(1, f"{path} written\n".encode())

    await attempt("/before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    await attempt("/meanwhile")
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    await attempt("/after")
    os.write(1, f"readable {[found.path for found in await store.scan('/')]}\n".encode())
    await store.close()
    await store.open()
    await attempt("/reopened")


async def main(mode: str, file: str, number: int) -> None:
    store = SqliteMetadata(file)
    await store.open()
    await {"forever": forever, "count": count, "ioerror": ioerror}[mode](store, number)
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0))
