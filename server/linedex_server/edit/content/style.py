"""The style of what is written: encoding, BOM, line ends, final newline; kept, unless a caller asks for another.

Promise: with everything preserved, the bytes outside of the changes stay as they are, and inside of them only code
points that differ are written. What is asked for by name is done to the whole file, or refused.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from linedex.errors import BadArgument
from linedex.model import Newline
from linedex_server.edit.content import conversion, final_newline, line_ends
from linedex_server.edit.content.document import Document
from linedex_server.edit.content.text import Text, encoded
from linedex_server.edit.splice import Splice, TextChange, ordered

PRESERVE: Final = "preserve"
ADD: Final = "add"
REMOVE: Final = "remove"
_AS_EDITED: Final = "as edited"
_CHOICES: Final = {
    PRESERVE: PRESERVE,
    **dict.fromkeys((ADD, "always", "true", "yes", "with"), ADD),
    **dict.fromkeys((REMOVE, "never", "none", "false", "no", "without"), REMOVE),
}
_NEWLINES: Final = {
    PRESERVE: PRESERVE,
    **{name: name for name in conversion.LINE_ENDS},
    **{end: name for name, end in conversion.LINE_ENDS.items()},
}
_KINDS: Final = {"lf": Newline.LF, "crlf": Newline.CRLF, "cr": Newline.CR}
# names that stand for an encoding with its mark
_MARKED: Final = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
# text codecs that do not spell a file's text: they know no line ends, or escape them
_NOT_OF_FILES: Final = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})


@dataclass(frozen=True, slots=True)
class Style:
    """What a caller wants of the style; `parse` makes it from parameters.

    Attributes:
        encoding: a codec that writes no BOM, or "preserve".
        bom: "preserve", "add" or "remove".
        newline: "preserve", "lf", "crlf" or "cr".
        final_newline: "preserve", "add" or "remove"; in `AS_EDITED`, whatever the edit itself makes of it.
    """

    encoding: str = PRESERVE
    bom: str = PRESERVE
    newline: str = PRESERVE
    final_newline: str = PRESERVE

    @classmethod
    def parse(
        cls, encoding: str = PRESERVE, bom: str = PRESERVE, newline: str = PRESERVE, final_newline: str = PRESERVE
    ) -> Style:
        """Read the style parameters of a tool.

        Raises:
            BadArgument: one of them has a value that it cannot take; the message lists those it can.
        """
        codec = _codec(encoding)
        mark = _choice("bom", bom, _CHOICES)
        if codec in _MARKED:
            if mark == REMOVE:
                raise BadArgument(
                    f"`encoding` {encoding!r} has a byte order mark, and `bom` says {bom!r}.",
                    f"Name {_MARKED[codec]!r} instead.",
                )
            codec, mark = _MARKED[codec], ADD
        if mark == ADD and codec != PRESERVE:
            conversion.demand_mark(codec)
        return cls(
            codec,
            mark,
            _choice("newline", newline, _NEWLINES),
            _choice("final_newline", final_newline, _CHOICES),
        )


AS_EDITED: Final = Style(final_newline=_AS_EDITED)
"""All preserved but the final newline, which is what the edit makes of it (edit_content)."""


def splices(document: Document, edits: Iterable[tuple[Text, Sequence[TextChange]]], style: Style) -> tuple[Splice, ...]:
    """Return the splices that make changes of text in a style; none when the file already says all that.

    Args:
        document: the file.
        edits: lines of it, each with changes; no two changes overlap.
        style: what the caller wants.

    Raises:
        Unencodable: a character is not in the encoding, or bytes that do not decode are to be encoded anew.
        TooLarge: the whole of a large file would have to be converted.
        BadArgument: a BOM is asked for in an encoding that has none.
    """
    settled = _settled(document, final_newline.in_order(document, edits), style)
    made = (line_ends.spelt(document, text, change) for text, changes in settled for change in changes)
    found = ordered(splice for splice in made if splice)
    wanted = _wanted(style)
    return found if wanted is None else conversion.converted(document, found, wanted)


def conversions(document: Document, style: Style) -> tuple[str, ...]:
    """Return what a style converts in a file, as parts of a sentence: "converted line ends to LF"."""
    wanted = _wanted(style)
    return () if wanted is None else conversion.told(document, wanted)


def encoded_new(content: str, style: Style) -> bytes:
    r"""Return the bytes of a file that does not exist yet: UTF-8, no BOM and LF where the style says nothing.

    Args:
        content: its text, lines ended by `\n`.
        style: what the caller wants.

    Raises:
        Unencodable: a character is not in the encoding.
        BadArgument: a BOM is asked for in an encoding that has none.
    """
    encoding = "utf-8" if style.encoding == PRESERVE else style.encoding
    end = conversion.LINE_ENDS.get(style.newline, "\n")
    if style.final_newline == ADD and content and not content.endswith("\n"):
        content += "\n"
    elif style.final_newline == REMOVE:
        content = content.rstrip("\n")
    mark = conversion.demand_mark(encoding) if style.bom == ADD else b""
    return mark + encoded(content.replace("\n", end), encoding)


def _settled(document: Document, edits: final_newline.Edits, style: Style) -> final_newline.Edits:
    """Return edits that leave the final newline as the style has it."""
    wanted = style.final_newline
    if wanted == PRESERVE and final_newline.reaches_end(document, edits) and document.size > document.format.bom:
        wanted = ADD if document.format.final_newline else REMOVE
    if wanted == ADD:
        return final_newline.ended(document, edits)
    return final_newline.unended(document, edits) if wanted == REMOVE else edits


def _wanted(style: Style) -> conversion.Wanted | None:
    if style.encoding == style.bom == style.newline == PRESERVE:
        return None
    return conversion.Wanted(
        encoding=None if style.encoding == PRESERVE else style.encoding,
        mark=None if style.bom == PRESERVE else style.bom == ADD,
        newline=None if style.newline == PRESERVE else _KINDS[style.newline],
    )


def _choice(name: str, value: str, known: dict[str, str]) -> str:
    found = known.get(value) or known.get(value.lower())
    if found is None:
        values = ", ".join(dict.fromkeys(known.values()))
        raise BadArgument(f"`{name}` cannot be {value!r}.", f"It can be {values}.")
    return found


def _codec(name: str) -> str:
    if name.lower() == PRESERVE:
        return PRESERVE
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        info = None
    # `rot13` and `base64` are codecs too, from text to text and from bytes to bytes
    if info is None or not info._is_text_encoding or info.name.replace("_", "-") in _NOT_OF_FILES:
        raise BadArgument(
            f"`encoding` {name!r} is not an encoding of text files that is known here.",
            "It can be preserve or a codec such as utf-8, utf-16-le, gb18030, shift_jis, cp1252.",
        )
    return info.name
