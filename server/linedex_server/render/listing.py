"""Folders, files by name, and symbols by name: one to a line."""

from __future__ import annotations

from collections.abc import Sequence

from linedex.answers import FolderEntry, FolderListing, SymbolAnswer, SymbolHit
from linedex_server.render.outline import headline, span
from linedex_server.render.words import Naming, bracketed, counted, size


def folder_page(
    listing: FolderListing, entries: Sequence[FolderEntry], name: Naming, entry_name: Naming, *, cursor: str = ""
) -> str:
    """Return a folder's entries: `name/<tab>7 entries` for folders, `name<tab>8,112 bytes` for files.

    Args:
        listing: the listing they are from.
        entries: those to show.
        name: how the folder is called.
        entry_name: how an entry is called.
        cursor: passes on to the rest, "" when there is none.
    """
    body = "".join(_entry(entry, entry_name) + "\n" for entry in entries)
    shown = counted(len(entries), "entry", "entries") + " shown" if cursor or listing.cut else ""
    total = f"{counted(listing.total_files, 'file')}, {counted(listing.total_folders, 'folder')}"
    return body + bracketed((f"{name(listing.path)}: {total}", shown, f"next cursor={cursor}" if cursor else ""))


def _entry(entry: FolderEntry, name: Naming) -> str:
    if entry.is_folder:
        inside = "" if entry.children is None else f"\t{counted(entry.children, 'entry', 'entries')}"
        text = f"{name(entry.path)}/{inside}"
    else:
        text = f"{name(entry.path)}\t{entry.special or size(entry.size)}"
    return text + ("\tignored" if entry.ignored else "")


def files_page(paths: Sequence[str], total: int, *, cursor: str = "") -> str:
    """Return files found by name, best first; `paths` are as they are called, `total` counts those not shown too."""
    shown = f"{len(paths):,} of " if len(paths) < total else ""
    footer = (f"{shown}{counted(total, 'file')}", f"next cursor={cursor}" if cursor else "")
    return "".join(path + "\n" for path in paths) + bracketed(footer)


def symbols_page(answer: SymbolAnswer, hits: Sequence[tuple[str, SymbolHit]], *, cursor: str = "") -> str:
    """Return symbols found by name, best first, as `path:43-51 method Cart.add(self, item)`.

    Args:
        answer: how many there are, and what is missing.
        hits: those to show, each with its file as it is called.
        cursor: passes on to the rest, "" when there is none.
    """
    body = "".join(f"{path}:{span(hit.symbol)} {headline(hit.symbol, hit.symbol.path)}\n" for path, hit in hits)
    shown = f"{len(hits):,} of " if len(hits) < answer.total else ""
    state = "complete"
    if answer.pending:
        state = f"partial: {counted(answer.pending, 'file')} whose symbols are not indexed yet were not asked"
    more = f"next cursor={cursor}" if cursor else ""
    return body + bracketed((f"{shown}{counted(answer.total, 'symbol')}", state, answer.note, more))
