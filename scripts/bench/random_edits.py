"""Random calls of the edit tools, each with what the rules of edits make of it."""

from __future__ import annotations

import hashlib
import re

from byte_model import STRAY, Change, Modelled, whole
from random_world import Step, World, drawn_file

PRESERVED = {"bom": "preserve", "newline": "preserve", "final_newline": "preserve"}
SUPERSETS = {"euc-jp": "euc_jis_2004", "euc-kr": "cp949"}
"""What the server calls an encoding that is a part of a larger one, with the same bytes."""
STEPS = 60
"""Newest steps that are taken back by their id."""


async def usable(world: World, name: str) -> Modelled | None:
    """Return a file's text if the server reads the bytes as the model does, else None."""
    model = world.text_of(name)
    if model.mark or not world.files[name] or (world.files[name] or b"").isascii():
        return model
    refused, text = await world.call("get_overview", absolute_file_path=name)
    named = "" if refused else text.rsplit("\n", 1)[-1]
    same = (model.encoding, SUPERSETS.get(model.encoding, model.encoding))
    return model if any(f", {one}, " in named or f", {one};" in named for one in same) else None


def guarded(world: World, name: str, wanted: bytes | None) -> tuple[dict[str, str], dict[str, bytes | None] | None]:
    """Return a `base_hash` for a call or none, and what the call does: nothing if the hash is a wrong one."""
    if wanted is None or world.draw.random() < 0.6:
        return {}, None if wanted is None else {name: wanted}
    right = world.draw.random() < 0.8
    content = (world.files[name] or b"") + (b"" if right else b"?")
    return {"base_hash": hashlib.sha256(content).hexdigest()[:16]}, {name: wanted} if right else None


async def by_lines(world: World, name: str, model: Modelled) -> None:
    """Replace, insert, delete and append lines."""
    draw, lines = world.draw, model.lines
    edits, changes, touched = [], [], set[int]()
    for _ in range(draw.randint(1, 3)):
        first = draw.randint(1, len(lines) + 1)
        last = first - 1 if first > len(lines) or draw.random() < 0.3 else min(len(lines), first + draw.randint(0, 2))
        numbers = set(range(first, last + 1)) or {first}
        if touched & {one + by for one in numbers for by in (-1, 0, 1)}:
            continue
        touched |= numbers
        new = "\n".join(world.some_lines(model, 4)) if draw.random() < 0.8 else ""
        start = lines[first - 1][0] if first <= len(lines) else len(model.units)
        end = start if last < first else lines[last - 1][1]
        edit: dict[str, object] = {"start_line": first, "end_line": last, "new_text": new}
        if last == first and draw.random() < 0.5:
            del edit["end_line"]
        if draw.random() < 0.3:
            edit["expected_old_text"] = model.text[start:end]
        if new and draw.random() < 0.5:
            edit["new_text"] = new + "\n"
        edits.append(edit)
        if new and last < len(lines):
            new += "\n"
        elif new and first > len(lines) and model.text and not model.text.endswith("\n"):
            new = "\n" + new
        elif new and str(edit["new_text"]).endswith("\n"):
            new += "\n"
        changes.append(Change(start, end, new))
    if len(edits) > 1 and max(touched) >= len(lines):
        # how edits of the last lines join is the business of the unit tests
        edits, changes = edits[:1], changes[:1]
    hashed, wanted = guarded(world, name, model.edited(changes, keep_final=True))
    await world.expect("apply_text_edits", wanted, path=name, edits=edits, **hashed)


async def by_spans(world: World, name: str, model: Modelled) -> None:
    """Replace offsets."""
    draw, size = world.draw, len(model.units)
    places = sorted(draw.sample(range(size + 1), min(size + 1, draw.choice((2, 4)))))
    places = places[: len(places) // 2 * 2] or [0, 0]
    spans, changes = [], []
    width = 1 if model.encoding == "utf-8" or "utf" not in model.encoding else 2
    for start, stop in zip(places[::2], places[1::2], strict=True):
        if width > 1 and model.stray(max(0, start - 1), stop + 1):
            continue  # a code unit would be divided
        end = start if draw.random() < 0.3 else stop
        new = draw.choice(("", world.some(model), world.some(model) + "\n" + world.some(model)))
        span: dict[str, object] = {"start_offset": start, "end_offset": end, "new_text": new}
        if model.stray(start, end) or draw.random() < 0.3:
            span["expected_old_text"] = model.text[start:end]
        spans.append(span)
        changes.append(Change(start, end, new))
    if spans:
        hashed, wanted = guarded(world, name, model.edited(changes, keep_final=True))
        await world.expect("apply_text_spans", wanted, path=name, spans=draw.sample(spans, len(spans)), **hashed)


def places_of(text: str, part: str) -> list[int]:
    """Return where a text stands, left to right without overlap."""
    return [found.start() for found in re.finditer(re.escape(part), text)]


def word_in(world: World, text: str) -> str:
    """Return a word of a text, or one that it has not."""
    found = re.findall(r"\b(?:w\d+[A-Za-z]|xx+)\b", text)
    return world.draw.choice(found) if found and world.draw.random() < 0.95 else world.fresh()


async def by_literal(world: World, name: str, model: Modelled) -> None:
    """Replace a word, or two lines' ends of it."""
    draw, text = world.draw, model.text
    old = word_in(world, text)
    at = text.find(old)
    reach = text[at : at + len(old) + draw.choice((0, 0, 3, 40))] if at >= 0 else old
    if STRAY not in reach and "\r" not in reach:
        old = reach
    new = draw.choice(("", world.some(model), "\n".join(world.some_lines(model, 3)), r"a\1$1&amp;"))
    count = draw.choice((None, 1, 1, 2))
    places = places_of(text, old)
    fits = bool(places) if count is None else len(places) == count
    if count == 1 and fits:
        fits = len(re.findall(f"(?={re.escape(old)})", text)) == 1
    made = model.edited([Change(one, one + len(old), new) for one in places], keep_final=True) if fits else None
    hashed, wanted = guarded(world, name, made)
    await world.expect(
        "replace_literal", wanted, path=name, old_text=old, new_text=new, expected_occurrences=count, **hashed
    )


async def by_regex(world: World, name: str, model: Modelled) -> None:
    """Replace matches; what Python's engine makes of the same pattern is right."""
    draw = world.draw
    # no class, and nothing else of a pattern here, matches a byte that does not decode
    text = model.text.replace(STRAY, "\x1c")
    word = draw.randint(1, 99)
    pattern, replacement = draw.choice(
        (
            (rf"w({word % 10}\d*)([A-Za-z])\b", r"v\2\1"),
            (r"(?P<x>x+)", rf"[\g<x>{word}]"),
            (r"\bxx\b", ""),
            (r"^\t", "    "),
            (r"^(?=\S)", "> "),
            (rf"w{word % 10}\d*[a-m](?=\n)", r"\g<0>\n" + world.fresh()),
        )
    )
    compiled = re.compile(pattern, re.MULTILINE)
    changes = []
    for found in compiled.finditer(text):
        if not found.group() and found.start() == len(text):
            continue
        changes.append(Change(found.start(), found.end(), found.expand(replacement)))
    made = model.edited(changes, keep_final=True) if changes else None
    hashed, wanted = guarded(world, name, made)
    await world.expect(
        "replace_regex",
        wanted,
        path=name,
        pattern=pattern,
        replacement=replacement,
        expected_occurrences=None,
        **hashed,
    )


async def by_block(world: World, name: str, model: Modelled) -> None:
    """Replace what stands between two words."""
    draw, text = world.draw, model.text
    words = list(dict.fromkeys(re.findall(r"\bw\d+[A-Za-z]\b", text)))
    words = [word for word in words if text.count(word) == 1]
    if len(words) < 2:
        return
    first = draw.randrange(len(words) - 1)
    begin, finish = words[first], words[draw.randint(first + 1, min(len(words) - 1, first + 3))]
    start, end = text.index(begin), text.index(finish)
    new = draw.choice(("", "\n".join(world.some_lines(model, 3))))
    if draw.random() < 0.3:
        change, mode = Change(start, end + len(finish), new), "inclusive"
    else:
        mode, start = "between", start + len(begin)
        if "\n" in text[start:end]:
            start, end = text.index("\n", start) + 1, text.rindex("\n", start, end) + 1
            new += "\n" if new else ""
        change = Change(start, end, new)
    if model.stray(change.start, change.end):
        return
    hashed, wanted = guarded(world, name, model.edited([change], keep_final=True))
    await world.expect(
        "replace_block",
        wanted,
        path=name,
        start_marker=begin,
        end_marker=finish,
        replacement=new,
        mode=mode,
        **hashed,
    )


def drawn_change(world: World, model: Modelled) -> tuple[dict[str, object], Change] | None:
    """Return a change for edit_content and what it does, None where none can be drawn."""
    draw, text = world.draw, model.text
    words = [word for word in set(re.findall(r"\bw\d+[A-Za-z]\b", text)) if text.count(word) == 1]
    if not words:
        return None
    word = draw.choice(sorted(words))
    at = text.index(word)
    new = draw.choice((world.some(model), "\n".join(world.some_lines(model, 3))))
    if draw.random() < 0.7:
        return {"search": word, "replace": new}, Change(at, at + len(word), new)
    # with the line before it, whose trailing blanks slip: only what differs between the two texts is written
    lines = model.lines
    number = next(number for number, (start, end) in enumerate(lines) if start <= at < end)
    above, line = (text[start:end].rstrip("\n") for start, end in (lines[max(0, number - 1)], lines[number]))
    if not number or not above.strip() or any(odd in above + line for odd in (STRAY, "\r")):
        return None
    search = f"{above}  \n{line}"
    return {"search": search, "replace": search.replace(word, new)}, Change(at, at + len(word), new)


async def by_search(world: World, name: str, model: Modelled) -> None:
    """Search and replace, in one file or two; sometimes only a preview."""
    draw = world.draw
    parts = {name: model}
    other = draw.choice(sorted(world.files))
    if other != name and world.files[other] and draw.random() < 0.3 and (read := await usable(world, other)):
        parts[other] = read
    items, wanted = [], dict[str, bytes | None]()
    for path, read in parts.items():
        drawn = drawn_change(world, read)
        if drawn is None:
            return
        item, change = drawn
        items.append({**item, "path": path})
        wanted[path] = read.edited([change], keep_final=False)
    if draw.random() < 0.2:
        items[0]["search"] = world.fresh()
        await world.expect("edit_content", None, changes=items, preview=False)
    elif draw.random() < 0.2:
        await world.expect("edit_content", {}, changes=items)
    else:
        await world.expect("edit_content", wanted, changes=items, preview=False)


async def whole_text(world: World, name: str, model: Modelled) -> None:
    """Write a whole text, in a call or in a session, keeping the style or naming one."""
    draw = world.draw
    lines = [world.some(model, plain=True) for _ in range(draw.choice((0, 1, 3, 8)))]
    content = "\n".join(lines) + draw.choice(("", "\n")) if lines else ""
    encoding, mark, newline, final = model.encoding, bool(model.mark), "preserve", "preserve"
    style = {"encoding": "preserve", **PRESERVED}
    if draw.random() < 0.4 or len(set(model.ends)) > 1:
        newline = style["newline"] = draw.choice(("lf", "crlf", "cr"))
    if draw.random() < 0.3:
        final = style["final_newline"] = draw.choice(("add", "remove"))
    if draw.random() < 0.3 and STRAY not in model.text:
        encoding = style["encoding"] = draw.choice(("utf-8", "utf-16-le", "utf-16-be"))
        mark = encoding != "utf-8"
        style["bom"] = "add" if mark else "remove"
    new = world.files[name] is None
    if final == "preserve" and model.units:
        final = "add" if model.text.endswith("\n") else "remove"
    if final == "add" and content and not content.endswith("\n"):
        content += "\n"
    asked = content
    if final == "remove":
        content = content.rstrip("\n")
    end = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}.get(newline) or (
        model.ends[0].decode(model.encoding) if model.ends else "\n"
    )
    if new and style["encoding"] == "preserve":
        encoding, mark = "utf-8", False
    made = whole(content, encoding, end, mark=mark)
    world.encodings.setdefault(made, encoding)
    if draw.random() < 0.6:
        await world.expect("write_full_text", {name: made}, path=name, content=asked, **style)
        return
    refused, text = await world.call("begin_write_session", path=name, **style)
    world.demand(not refused, text)
    session = text.rsplit(maxsplit=1)[-1]
    cuts = sorted(draw.choices(range(len(asked) + 1), k=draw.randint(0, 3)))
    for start, stop in zip([0, *cuts], [*cuts, len(asked)], strict=True):
        refused, text = await world.call("append_write_chunk", session_id=session, content=asked[start:stop])
        world.demand(not refused, text)
    if draw.random() < 0.15:
        await world.expect("abort_write_session", {}, session_id=session)
    else:
        await world.expect("commit_write_session", {name: made}, session_id=session)


async def back(world: World, name: str) -> None:
    """Undo the newest step of a file, where what comes of it is certain; what others changed since stays or forbids."""
    pile = world.piles.get(name, [])
    if not pile:
        await world.expect("revert_edit", None, absolute_file_path=name)
        return
    step = world.steps[pile[-1]]
    if any(world.piles[other][-1:] != pile[-1:] for other in step.files):
        return
    current = {other: world.files[other] for other in step.files}
    if all(current[other] == after for other, (_, after) in step.files.items()):
        wanted = {other: before for other, (before, _) in step.files.items()}
        piles = {other: world.piles[other][:-1] for other in step.files}
        if await world.expect("revert_edit", wanted, absolute_file_path=name):
            world.piles.update(piles)
        return
    before, after = step.files[name]
    held = current[name]
    if len(step.files) > 1 or not before or not after or held is None or held.count(after) != 1:
        return
    left, right = held.split(after)
    refused, text = await world.call("revert_edit", absolute_file_path=name)
    if not refused:
        world.hold(name, left + before + right, world.encoding(name))
        found = re.search(r"undo ([0-9a-z]+)\]", text)
        world.demand(found is not None, text)
        assert found
        world.steps[found[1]] = Step({name: (held, world.files[name])}, {name: list(pile)})
        world.left[name] = world.files[name]
        world.piles[name] = pile[:-1]
    world.demand_bytes("revert_edit", name, text)


async def back_to(world: World, name: str) -> None:
    """Bring back what the files of a step were before it; the id of an undo redoes."""
    recent = [one for one in list(world.steps)[-STEPS:] if name in world.steps[one].files]
    if not recent:
        return
    step = world.steps[world.draw.choice(recent)]
    identifier = next(one for one in recent if world.steps[one] is step)
    wanted: dict[str, bytes | None] | None = {other: before for other, (before, _) in step.files.items()}
    if any(
        before is None and world.files[other] not in (None, world.left.get(other))
        for other, (before, _) in step.files.items()
    ):
        wanted = None  # what others wrote is not deleted
    if await world.expect("revert_edit", wanted, absolute_file_path=name, backup_id=identifier):
        world.piles.update({other: list(pile) for other, pile in step.piles.items()})


def others_write(world: World, name: str) -> None:
    """Have another program write a file: anew, at its end, at its start, or remove it."""
    draw, content = world.draw, world.files[name]
    kind = draw.choice(("new", "append", "prepend", "remove")) if content else "new"
    if kind == "new":
        encoding, made = drawn_file(world)
        world.foreign(name, made, encoding)
    elif kind == "remove":
        world.foreign(name, None)
    else:
        model = world.text_of(name)
        line = (world.fresh() + "\n").encode(model.encoding)
        body = (content or b"")[len(model.mark) :]
        world.foreign(name, model.mark + (body + line if kind == "append" else line + body), model.encoding)
    world.counts["writes by others"] += 1


async def one_operation(world: World) -> None:
    """Draw a file and something to do with it."""
    name = world.draw.choice(sorted(world.files))
    kind = world.draw.random()
    if kind < 0.06:
        others_write(world, name)
    elif kind < 0.2:
        await back(world, name)
    elif kind < 0.25:
        await back_to(world, name)
    elif world.files[name] is None:
        await whole_text(world, name, Modelled(b"", "utf-8"))
    elif (model := await usable(world, name)) is None:
        others_write(world, name)
    else:
        tool = world.draw.choice((by_lines, by_spans, by_literal, by_regex, by_block, by_search, whole_text))
        await tool(world, name, model)
