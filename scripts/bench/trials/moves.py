"""What other programs do to a tree that gives files other names: rotation, renaming, moving of folders."""

from __future__ import annotations

import os

from trials.world import DEEPEST, JOURNAL, Node, World, is_common, join, journals


def renew(world: World, path: bytes) -> None:
    """Draw what a file holds from now on."""
    node, fresh = world.files[path], world.fresh(path)
    node.content, node.encoding, node.end, node.began = fresh.content, fresh.encoding, fresh.end, node.began + 1


def rotate_journal(world: World) -> None:
    """Rotate a journal."""
    found = journals(world)
    if found:
        rotate_one(world, world.draw.choice(found))


def copytruncate(world: World) -> None:
    """Copy a log to its next name and cut it to nothing."""
    path = world.some_file()
    if path is None or len(path.rpartition(b"/")[2]) > 240 or world.taken(path + b".1"):
        return
    node = world.files[path]
    world.write(path + b".1", node.content)
    world.files[path + b".1"] = Node(node.content, node.encoding, node.end)
    os.truncate(world.full(path), 0)
    node.content, node.began = b"", node.began + 1
    world.did("copytruncate", path)


def rotate(world: World) -> None:
    """Rename a log to its next name, older ones too, and begin a new one."""
    path = world.some_file()
    if path is not None:
        rotate_one(world, path)


def rotate_one(world: World, path: bytes) -> None:
    """Give a log, and the older ones, their next names, and begin a new one; a third one is gone."""
    if len(path.rpartition(b"/")[2]) > 240:
        return
    for older, newer in ((b".2", b".1"), (b".1", b"")):
        if path + newer not in world.files or path + older in world.folders or path + older in world.others:
            continue
        world.mark_below(path + newer)
        os.rename(world.full(path + newer), world.full(path + older))
        world.files[path + older] = world.files.pop(path + newer)
    if not world.taken(path):
        world.files[path] = node = Node()
        lines = world.draw.choice((0, 1, 4))
        node.content = world.records(3 + lines) if JOURNAL in path else world.lines(node, lines)
        world.write(path, node.content)
    world.did("rotate", path)


def rename_file(world: World) -> None:
    """Give a file another name, in its folder or elsewhere; sometimes one that another file has."""
    path, target = world.some_file(text=False), world.new_path()
    if path is None:
        return
    if world.draw.random() < 0.2:
        target = world.some_file(text=False)
    if target is None or target == path or path.endswith(b".py") != target.endswith(b".py") or JOURNAL in target:
        return
    if world.files.get(target) is world.files[path]:
        return  # two names of one file: rename does nothing
    world.mark_below(path)
    os.rename(world.full(path), world.full(target))
    world.forget(target)
    world.moved(path, target)
    world.did("rename", path, target)


def _depth(world: World, folder: bytes) -> int:
    return max(
        one.count(b"/") for one in (*world.folders, *world.files) if one == folder or one.startswith(folder + b"/")
    )


def rename_folder(world: World) -> None:
    """Move a folder."""
    folders = sorted(world.folders - {b""})
    if not folders:
        return
    path = world.draw.choice(folders)
    target = join(world.draw.choice(sorted(world.folders)), world.name(b""))
    inside = target.startswith(path + b"/") or target == path
    deep = target.count(b"/") + _depth(world, path) - path.count(b"/") > DEEPEST
    if inside or deep or world.taken(target) or len(world.full(target)) > 2500:
        return
    world.mark_below(path)
    os.rename(world.full(path), world.full(target))
    world.moved(path, target)
    world.did("rename folder", path, target)


def move_out_and_in(world: World) -> None:
    """Move a folder out of the tree, change a file in it, and move it back under another name."""
    folders = [one for one in sorted(world.folders - {b""}) if not any(o.startswith(one + b"/") for o in world.folders)]
    if not folders:
        return
    path = world.draw.choice(folders)
    target = join(path.rpartition(b"/")[0], world.name(b""))
    if world.taken(target):
        return
    world.mark_below(path)
    aside = world.outside + b"/moved"
    os.rename(world.full(path), aside)
    world.moved(path, target)
    for one in sorted(world.files):
        if one.startswith(target + b"/") and is_common(one):
            renew(world, one)
            with open(aside + one[len(target) :], "wb") as file:
                file.write(world.files[one].content)
            break
    os.rename(aside, world.full(target))
    world.did("move out and in", path, target)
