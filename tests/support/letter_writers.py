"""A process that writes letters under load and says what it was told: what the crash harness kills.

``python -m tests.support.letter_writers PATH FIRST WRITERS LETTERS [on]`` opens the database, lets several writers post
their letters (from serial FIRST) at once while a carrier claims and sends them, closes it, and ends. Each line of its
output is written after the database has answered: "opened", "posted writer0 3", "sent 7", "closing", "closed", or
"failed" with an error's code, which ends the program too. With "on" a refused letter is "refused writer0 3" and its
writer goes on with the next, as a gateway does.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from canon_ops.durable import Database, DurableError
from canon_ops.durable.opening import Opened, open_for_writing
from tests.support import letters

CHECKPOINT_PAGES = 12  # the log is moved into the database often, also in a small run


def say(*words: object) -> None:
    """One line, one system call: a kill leaves whole lines."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def connect(path: Path) -> Opened:
    opened = open_for_writing(path, letters.SCHEMA)
    opened.connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    return opened


async def write(database: Database, writer: str, first: int, count: int, *, goes_on: bool) -> None:
    for serial in range(first, first + count):
        try:
            await database.write(letters.post, writer, serial, [f"{writer} {serial} {place}" for place in range(3)])
        except DurableError:
            say("refused", writer, serial)
            if not goes_on:
                raise
        else:
            say("posted", writer, serial)


async def carry(database: Database, token: str, count: int, *, goes_on: bool) -> None:
    """Try to send as many letters as this life posts; those of an earlier life may be among them."""
    idle = 0
    while count and idle < 1_000:
        try:
            letter = await database.write(letters.claim, token)
            if letter is None:
                idle += goes_on
                await asyncio.sleep(0)
                continue
            await database.write(letters.send, letter.number, token)
        except DurableError:
            if not goes_on:
                raise
        else:
            say("sent", letter.number)
        count -= 1


async def live(path: Path, first: int, writers: int, count: int, *, goes_on: bool) -> None:
    database = Database(path, letters.SCHEMA, connect=lambda: connect(path))
    await database.open()
    say("opened")
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(writers):
                group.create_task(write(database, f"writer{number}", first, count, goes_on=goes_on))
            group.create_task(carry(database, f"life{first}", writers * count, goes_on=goes_on))
    finally:
        say("closing")
        await database.close()
        say("closed")


def main(path: str, first: str, writers: str, count: str, manner: str = "") -> None:
    try:
        asyncio.run(live(Path(path), int(first), int(writers), int(count), goes_on=manner == "on"))
    except* DurableError as group:
        say("failed", *sorted({error.code for error in _leaves(group)}))


def _leaves(group: BaseExceptionGroup[DurableError]) -> list[DurableError]:
    leaves: list[DurableError] = []
    for each in group.exceptions:
        leaves += _leaves(each) if isinstance(each, BaseExceptionGroup) else [each]
    return leaves


if __name__ == "__main__":
    main(*sys.argv[1:])
