"""What other programs do to a tree, drawn at random: to its files behind the index's back, and to its ignore files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from trials.moves import (
    copytruncate,
    move_out_and_in,
    rename_file,
    rename_folder,
    renew,
    rotate,
    rotate_journal,
    rotate_one,
)
from trials.packed import append_packed, create_packed, cut_packed, replace_packed
from trials.rules import RULE_FILES
from trials.world import (
    DEEPEST,
    INERT_RULES,
    LARGEST,
    MARKS,
    SMALL,
    Node,
    World,
    is_rule_file,
    join,
    journals,
)


def create(world: World) -> None:
    """Make a file."""
    path = world.new_path()
    if path is None or len(world.files) > 50:
        return
    world.files[path] = node = world.fresh(path)
    world.write(path, node.content)
    world.did("create", path)


def append(world: World) -> None:
    """Add to the end of a file, by whole lines or not."""
    path = world.some_file()
    if path is None:
        return
    node = world.files[path]
    small = len(node.content) < SMALL
    more = world.lines(node, world.draw.choice((1, 1, 3, 20)), valid=not small)
    if small and world.draw.random() < 0.2:
        more += world.line(node.encoding)
    if len(node.content) + len(more) > (
        LARGEST if node.encoding == "utf-8" and node.end == "\n" and not small else SMALL
    ):
        overwrite(world)
        return
    world.mark(node, "grown")
    with open(world.full(path), "ab") as file:
        file.write(more)
    node.content += more
    world.did(f"append {len(more)} bytes", path)


def append_code(world: World) -> None:
    """Add functions to a file of code."""
    found = [path for path in sorted(world.files) if path.endswith(b".py")]
    if found:
        path = world.draw.choice(found)
        more = world.code(1)
        with open(world.full(path), "ab") as file:
            file.write(more)
        world.files[path].content += more
        world.did("append code", path)


def append_records(world: World) -> None:
    """Add records to a journal, or begin it anew when it is long."""
    found = journals(world)
    if not found:
        return
    path = world.draw.choice(found)
    if len(world.files[path].content) > 60_000:
        rotate_one(world, path)
        return
    more = world.records(world.draw.choice((1, 1, 2, 9)))
    with open(world.full(path), "ab") as file:
        file.write(more)
    world.files[path].content += more
    world.did("append records", path)


def overwrite(world: World) -> None:
    """Write a file anew."""
    path = world.some_file(text=False)
    if path is None:
        return
    renew(world, path)
    world.write(path, world.files[path].content)
    world.did("overwrite", path)


def _line_spans(node: Node) -> list[tuple[int, int]]:
    """Return the lines of a file, their ends included, as its own bytes have them."""
    width = 2 if node.encoding.startswith("utf-16") else 1
    unit = node.end[-1].encode(node.encoding.removesuffix("-sig"))
    start = len(MARKS.get(node.encoding, b"")) if node.content.startswith(MARKS.get(node.encoding, b"\0\0")) else 0
    spans, at = [], start
    while at < len(node.content):
        found = node.content.find(unit, at)
        while found >= 0 and (found - start) % width:
            found = node.content.find(unit, found + 1)
        end = found + width if found >= 0 else len(node.content)
        spans.append((at, end))
        at = end
    return spans


def overwrite_in_place(world: World) -> None:
    """Write other bytes over a stretch of a file, sometimes of the same length and the time of writing put back."""
    path = world.some_file()
    if path is None or not (spans := _line_spans(world.files[path])):
        return
    node = world.files[path]
    start, end = world.draw.choice(spans)
    world.mark(node, "inside")
    before = os.stat(world.full(path))
    old = node.content[start:end]
    if node.encoding.startswith("utf-8") and node.end == "\n" and world.draw.random() < 0.6:
        token = world.token().encode()
        body = old.rstrip(b"\n")
        if len(body) < len(token) + 1:
            return
        new = token + b" " * (len(body) - len(token)) + old[len(body) :]
        tail = node.content[end:]
        with open(world.full(path), "r+b") as file:
            file.seek(start)
            file.write(new)
        if world.draw.random() < 0.5:
            os.utime(world.full(path), ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        new = world.lines(node, 1)
        tail = node.content[end:]
        if len(node.content) + len(new) > LARGEST:
            return
        with open(world.full(path), "r+b") as file:
            file.seek(start)
            file.write(new + tail)
            file.truncate()
    node.content = node.content[:start] + new + tail
    node.began += 1
    world.did(f"overwrite in place at {start}", path)


def replace_by_rename(world: World) -> None:
    """Write a new file and give it the name of another."""
    path = world.some_file(text=False)
    if path is None:
        return
    aside = world.root + b"/../aside"
    fresh = world.fresh(path)
    with open(aside, "wb") as file:
        file.write(fresh.content)
    os.replace(aside, world.full(path))
    world.files[path] = fresh
    world.did("replace by rename", path)


def truncate(world: World) -> None:
    """Cut a file at a line, or to nothing; one of UTF-8 that is small anywhere."""
    path = world.some_file()
    if path is None:
        return
    node = world.files[path]
    spans = _line_spans(node)
    size = world.draw.choice((0, *(end for _, end in world.draw.choices(spans, k=3)))) if spans else 0
    if node.encoding == "utf-8" and len(node.content) < SMALL and world.draw.random() < 0.3:
        size = world.draw.randint(0, len(node.content))
    os.truncate(world.full(path), size)
    node.content, node.began = node.content[:size], node.began + 1
    world.did(f"truncate to {size}", path)


def delete(world: World) -> None:
    """Remove a file, or what is neither file nor folder."""
    found = [*sorted(world.files), *sorted(world.others)]
    if found:
        path = world.draw.choice(found)
        os.unlink(world.full(path))
        world.forget(path)
        world.did("delete", path)


def make_folder(world: World) -> None:
    """Make a folder, with a file in it."""
    above = world.draw.choice(sorted(world.folders))
    path = join(above, world.name(b""))
    if path.count(b"/") > DEEPEST or len(world.folders) > 25 or world.taken(path) or len(world.full(path)) > 2500:
        return
    os.mkdir(world.full(path))
    world.folders.add(path)
    world.did("make folder", path)
    if world.draw.random() < 0.7:
        inside = join(path, world.name(b".txt"))
        world.files[inside] = node = world.fresh(inside)
        world.write(inside, node.content)
        world.did("create", inside)


def remove_folder(world: World) -> None:
    """Remove a folder with what is in it."""
    folders = sorted(world.folders - {b""})
    if len(folders) > 4:
        path = world.draw.choice(folders)
        shutil.rmtree(world.full(path))
        world.forget(path)
        world.did("remove folder", path)


def touch(world: World) -> None:
    """Change times or mode, and nothing else."""
    path = world.some_file(text=False)
    if path is None:
        return
    kind = world.draw.choice(("now", "back", "mode"))
    if kind == "mode":
        os.chmod(world.full(path), world.draw.choice((0o600, 0o644, 0o755)))
    else:
        times = None if kind == "now" else (1_000_000_000, 1_000_000_000 + world.draw.randint(0, 9))
        os.utime(world.full(path), times)
    world.did(f"touch {kind}", path)


def link(world: World) -> None:
    """Make a symbolic link, to inside, outside, itself or nowhere, or a FIFO."""
    path = world.new_path()
    if path is None or len(world.others) > 12:
        return
    target = world.draw.choice(
        (
            *(os.path.basename(path), b"nowhere", b"..", b"/", world.outside, world.root),
            world.full(world.draw.choice(sorted(world.folders))),
            world.full(world.some_file(text=False) or b""),
        )
    )
    if world.draw.random() < 0.2:
        os.mkfifo(world.full(path))
    else:
        os.symlink(target, world.full(path))
    world.others.add(path)
    world.did("link", path, target)


def hard_link(world: World) -> None:
    """Give a file a second name.

    Where rules leave that name out no event tells of it, as with one outside of the tree; that is a known limit.
    """
    path, target = world.some_file(), world.new_path(b".txt")
    if path is None or target is None or world.ignored(target):
        return
    if os.stat(world.full(path)).st_nlink < 3:
        os.link(world.full(path), world.full(target))
        world.files[target] = world.files[path]
        world.did("hard link", path, target)


def write_rules(world: World) -> None:
    """Write an ignore file, or remove one."""
    there = [path for path in sorted(world.files) if is_rule_file(path)]
    if there and (world.draw.random() < 0.5 or len(there) > 5):
        path = world.draw.choice(there)
        os.unlink(world.full(path))
        world.forget(path)
        world.did("remove rules", path)
        return
    path = join(world.draw.choice(sorted(world.folders)), world.draw.choice((*RULE_FILES, INERT_RULES)))
    if path in world.folders or path in world.others:
        return
    base = path.rpartition(b"/")[0]
    inside = [
        one[len(base) + 1 if base else 0 :] for one in sorted({*world.files, *world.folders}) if one.startswith(base)
    ]
    plain = [one for one in inside if one and one.replace(b"/", b"").replace(b".", b"").isalnum() and one.isascii()]
    named = world.draw.choice(plain) if plain else b"one.txt"
    pool = (
        b"*.tmp",
        b"*.dat",
        b"one*",
        b"# no rule",
        b"",
        b"!*.dat",
        b"!one.txt",
        b"two.log",
        b"/" + named,
        named + b"/",
    )
    fitting = [one for one in pool if b"/" not in one.strip(b"/") or one.startswith(b"/")]
    content = b"".join(rule + b"\n" for rule in world.draw.sample(fitting, world.draw.randint(0, 4)))
    world.files[path] = Node(content)
    if os.path.lexists(world.full(path)):
        os.unlink(world.full(path))
    world.write(path, content)
    world.did(f"rules {content!r}", path)


CHANGES: dict[Callable[[World], None], int] = {
    create: 10,
    append: 14,
    append_code: 2,
    append_records: 5,
    rotate_journal: 1,
    overwrite: 5,
    overwrite_in_place: 7,
    replace_by_rename: 4,
    truncate: 3,
    copytruncate: 2,
    rotate: 3,
    delete: 5,
    rename_file: 4,
    rename_folder: 2,
    move_out_and_in: 1,
    make_folder: 3,
    remove_folder: 1,
    touch: 4,
    link: 2,
    hard_link: 2,
    write_rules: 2,
    create_packed: 2,
    append_packed: 1,
    replace_packed: 1,
    cut_packed: 1,
}
"""Each change with how often it is drawn."""


def change(world: World) -> str:
    """Make a random change; return its name."""
    chosen = world.draw.choices(list(CHANGES), list(CHANGES.values()))[0]
    chosen(world)
    return chosen.__name__
