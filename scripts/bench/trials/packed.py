"""Compressed files of a tree: made, appended to, replaced and cut; their text is what their own libraries decode."""

from __future__ import annotations

import gzip
import lzma
import os
import sys
import zlib

from trials.world import PACKED, Node, World

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MOST = 8
_LEAST_CUT = 4
"""A file is cut behind this part of it at least, so that its first bytes still tell what it is."""
_GZIP = 31


def create_packed(world: World) -> None:
    """Make a compressed file, of one member or of several."""
    ending = world.draw.choice(PACKED)
    path = world.new_path(b".log" + ending)
    if path is None or len(_packed(world)) >= _MOST:
        return
    world.files[path] = node = Node()
    _fill(world, path, node)
    world.write(path, node.content)
    world.did("create packed", path)


def append_packed(world: World) -> None:
    """Add a member to a compressed file that is whole."""
    found = [path for path in _packed(world) if not world.files[path].cut]
    if not found:
        return
    path = world.draw.choice(found)
    node, more = world.files[path], world.records(world.draw.choice((1, 4)))
    member = _compressed(path, more)
    with open(world.full(path), "ab") as file:
        file.write(member)
    node.content += member
    node.plain = (node.plain or b"") + more
    world.did("append packed", path)


def replace_packed(world: World) -> None:
    """Put another compressed file in the place of one, by renaming or in its place."""
    found = _packed(world)
    if not found:
        return
    path = world.draw.choice(found)
    if world.draw.random() < 0.5:
        world.files[path] = node = Node()
        _fill(world, path, node)
        aside = world.root + b"/../aside"
        with open(aside, "wb") as file:
            file.write(node.content)
        os.replace(aside, world.full(path))
    else:
        node = world.files[path]
        _fill(world, path, node)
        world.write(path, node.content)
    world.did("replace packed", path)


def cut_packed(world: World) -> None:
    """Cut a compressed file somewhere in its second half or before."""
    found = _packed(world)
    if not found:
        return
    path = world.draw.choice(found)
    node = world.files[path]
    size = world.draw.randrange(len(node.content) // _LEAST_CUT, len(node.content))
    if size < 32 or node.cut:
        return
    os.truncate(world.full(path), size)
    node.content, node.began = node.content[:size], node.began + 1
    node.plain, node.cut = _decoded(path, node.content)
    world.did(f"cut packed to {size}", path)


def _packed(world: World) -> list[bytes]:
    return [path for path in sorted(world.files) if path.endswith(PACKED)]


def _fill(world: World, path: bytes, node: Node) -> None:
    parts = [world.records(world.draw.choice((3, 10, 60, 150))) for _ in range(world.draw.choice((1, 1, 3)))]
    node.content = b"".join(_compressed(path, part) for part in parts)
    node.plain, node.cut, node.began = b"".join(parts), False, node.began + 1


def _compressed(path: bytes, text: bytes) -> bytes:
    if path.endswith(b".gz"):
        return gzip.compress(text)
    return zstd.compress(text) if path.endswith(b".zst") else lzma.compress(text)


def _decoded(path: bytes, content: bytes) -> tuple[bytes, bool]:
    """Return what can be decoded of a file that was cut, and whether it ends too early."""
    text, rest = b"", content
    while rest:
        if path.endswith(b".gz"):
            gzipped = zlib.decompressobj(_GZIP)
            text += gzipped.decompress(rest)
            rest, ended = gzipped.unused_data, gzipped.eof
        else:
            decoder = zstd.ZstdDecompressor() if path.endswith(b".zst") else lzma.LZMADecompressor()
            text += decoder.decompress(rest)
            ended = decoder.eof
            rest = decoder.unused_data if ended else b""
        if not ended:
            return text, True
    return text, False
