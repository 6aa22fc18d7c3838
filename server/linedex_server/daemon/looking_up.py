"""A look-up of the command line, answered from an index that is open here.

Promise: as of every question, see `questions`. The answer is one line.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from anyio.abc import ByteStream

from linedex.errors import LinedexError
from linedex_server.daemon.house import Guest, House
from linedex_server.daemon.lines import Lines, send
from linedex_server.daemon.questions import Held, held_at, own_thread, question_line, release, settings_of
from linedex_server.json_lines import error_line
from linedex_server.lookups import NOBODY, Lookup, answer_line
from linedex_server.rendezvous.hello import Hello


async def answer_lookup(house: House, connection: ByteStream, lines: Lines, hello: Hello) -> None:
    """Welcome the client that said `hello`, hear what it looks up and answer it."""
    try:
        lookup = Lookup.of(await question_line(connection, lines))
    except ValueError:
        return
    in_thread = own_thread()
    try:
        held = await in_thread(partial(_held, house, hello, lookup))
    except LinedexError as error:
        await send(connection, error_line(error))
        return
    if held is None:
        await send(connection, NOBODY)
        return
    try:
        with house.hosting(Guest(hello.pid, (held.lease.index.root,))):
            await send(connection, await in_thread(partial(_answer, held, lookup)))
    finally:
        await release(house, held.lease.release, in_thread)


def _held(house: House, hello: Hello, lookup: Lookup) -> Held | None:
    settings = settings_of(house, hello)
    return held_at(Path(lookup.path), house, settings, lookup.limits(settings.limits))


def _answer(held: Held, lookup: Lookup) -> bytes:
    try:
        return answer_line(held.scope, lookup.answered(held.lease.index, held.scope))
    except LinedexError as error:
        return error_line(error)
