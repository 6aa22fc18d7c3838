r"""How answers spell a path, so that no name passes for another line of an answer or for a fact in its last one.

Promise: what is returned leads to the same file when it is given back as a path. A name that begins as a line of an
answer does (`[2 hits]`, `41:`, `--`) gets `./` before it, and a semicolon before a blank, which parts the facts of a
last line, becomes `\x3b`.
"""

from __future__ import annotations

import re

from linedex.files.names import display

# `~` would be taken for the home folder; `@` and numbers begin lines of searches, `+` and `-` those of diffs; a date,
# as in `2026-01-31.log`, is let stand
_READS_OTHERWISE = re.compile(r"[~\[@+-]|[0-9]+(?:[:~ \t]|-(?![0-9]))|PREVIEW")
_PARTS_FACTS = re.compile(r";(?=\s)")


def spelled(path: bytes) -> str:
    """Return a path as answers spell it."""
    text = _PARTS_FACTS.sub(r"\\x3b", display(path))
    return f"./{text}" if _READS_OTHERWISE.match(text) else text
