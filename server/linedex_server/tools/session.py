"""Write sessions as tools: a file's new text in chunks, for what is too long for one call."""

from __future__ import annotations

from linedex.files.names import display
from linedex_server.edit.content.style import Style
from linedex_server.edit.errors import Conflict, Exists
from linedex_server.edit.planners import whole
from linedex_server.edit.put.plans import Target
from linedex_server.edit.sessions import Begun, Sessions
from linedex_server.edit.streamed import LargeText
from linedex_server.render.edit import committed_session
from linedex_server.render.fields import Fields
from linedex_server.render.schemas import SESSION, WRITTEN
from linedex_server.tools.parameters import WORDS, Given, Parameter, text
from linedex_server.tools.tool import Reply, Session, Tool
from linedex_server.tools.writing import (
    BASE_HASH,
    CREATE_DIRS,
    ENCODING,
    IF_EXISTS,
    PATH,
    STYLE,
    style_of,
    written_fields,
)

HELD_CHARACTERS = 16 << 20
"""Longest text of a session that is compared with the file line by line; a longer one is written as one piece."""
SESSION_ID = Parameter("session_id", text(WORDS), "From begin_write_session.")


def _begin(session: Session, given: Given) -> Reply:
    editor = session.editor
    place = editor.place(given.text("path"), must_exist=False)
    shown, base_hash, if_exists = editor.shown(place), given.maybe_text("base_hash"), given.text("if_exists")
    style_of(given)
    hash_then, note = None, ""
    with editor.opened(place) as snapshot:
        if snapshot is not None:
            if if_exists == "error":
                raise Exists(f"{shown} exists.", 'Name another file, or give if_exists="overwrite".')
            editor.subject(place).demand(snapshot, base_hash)
            hash_then = snapshot.token()
            note = " (it exists; as long as it does, the commit will leave it as it is)" if if_exists == "skip" else ""
        elif base_hash is not None:
            raise Conflict(f"There is no {shown}, so it has no hash {base_hash}.", "Leave base_hash out.")
        else:
            editor.demand_folder(place, create=given.flag("create_dirs"))
    begun = Begun(
        path=display(place.absolute),
        encoding=given.text("encoding"),
        bom=given.text("bom"),
        newline=given.text("newline"),
        final_newline=given.text("final_newline"),
        create_dirs=given.flag("create_dirs"),
        if_exists=if_exists,
        base_hash=base_hash,
        hash_then=hash_then,
    )
    number = editor.engine.sessions.begin(begun)
    sentence = f"Write session started for {shown}{note}. Session: {number}"
    return session.reply(lambda: sentence, lambda: {**_fields(number, sentence), "path": shown, "hash": hash_then})


def _append(session: Session, given: Given) -> Reply:
    number = given.text("session_id")
    sessions = session.editor.engine.sessions
    with sessions.turn(number):
        tally = sessions.append(number, given.text("content"))
    chunks = f"{tally.chunks:,} chunk{'' if tally.chunks == 1 else 's'}"
    sentence = f"Appended to session {number}: {chunks}, {tally.characters:,} characters."
    return session.reply(
        lambda: sentence,
        lambda: {**_fields(number, sentence), "chunks": tally.chunks, "characters": tally.characters},
    )


def _commit(session: Session, given: Given) -> Reply:
    number = given.text("session_id")
    editor = session.editor
    sessions = editor.engine.sessions
    with sessions.turn(number):
        answer = sessions.committed(number)
        if answer is None:
            begun = sessions.begun(number)
            style = Style.parse(begun.encoding, begun.bom, begun.newline, begun.final_newline)
            place = editor.place(begun.path, must_exist=False)
            plan = whole(
                editor.subject(place),
                _text(sessions, number),
                style,
                if_exists=begun.if_exists,
                base_hash=begun.base_hash,
                hash_then=begun.hash_then,
            )
            target = Target(place, editor.shown(place), plan, begun.create_dirs)
            (done,) = editor.commit((target,), tool="commit_write_session", progress=session.progress)
            sentence = committed_session(number, done)
            answer = {**written_fields(done, sentence), "session_id": number}
            sessions.finish(number, answer)
    told = answer
    return session.reply(lambda: str(told["message"]), lambda: told)


def _text(sessions: Sessions, number: str) -> str | LargeText:
    """The text of a session, held only if it is small."""
    if sessions.characters(number) <= HELD_CHARACTERS:
        return "".join(sessions.chunks(number))
    return LargeText(lambda: sessions.chunks(number), sessions.bytes_path(number))


def _abort(session: Session, given: Given) -> Reply:
    number = given.text("session_id")
    sessions = session.editor.engine.sessions
    with sessions.turn(number):
        there = sessions.abort(number)
    sentence = (
        f"Aborted write session {number}; nothing was written." if there else f"Session {number} was gone already."
    )
    return session.reply(lambda: sentence, lambda: _fields(number, sentence))


def _fields(number: str, sentence: str) -> Fields:
    return {"success": True, "message": sentence, "session_id": number}


TOOLS = (
    Tool(
        "begin_write_session",
        "Write a file in several calls, for text too long for one: append_write_chunk for each part, then "
        "commit_write_session, which writes it in one step. Parameters are those of write_full_text. It outlives "
        "restarts and ends after 24 hours without a call.",
        (PATH, ENCODING, *STYLE, CREATE_DIRS, IF_EXISTS, BASE_HASH),
        _begin,
        SESSION,
        writes=True,
        idempotent=False,
    ),
    Tool(
        "append_write_chunk",
        "Add the next part of the text to a write session. The answer counts chunks and characters, so that a "
        "lost or doubled call shows.",
        (SESSION_ID, Parameter("content", text(None), "The next part, as it is.")),
        _append,
        SESSION,
        writes=True,
        idempotent=False,
    ),
    Tool(
        "commit_write_session",
        "Write the file that a session holds, in one step. A second commit answers as the first did; a refused "
        "one keeps the session.",
        (SESSION_ID,),
        _commit,
        WRITTEN,
        writes=True,
        destructive=True,
    ),
    Tool(
        "abort_write_session",
        "Forget a write session and its text; the file is as it was.",
        (SESSION_ID,),
        _abort,
        SESSION,
        writes=True,
        destructive=True,
    ),
)
