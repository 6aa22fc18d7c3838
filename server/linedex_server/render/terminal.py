"""What may be written to a terminal.

Text of files can hold escape sequences that move the cursor, rename the window or rewrite what stands above. A model
reads content verbatim; a terminal gets the control characters as pictures.
"""

from __future__ import annotations


def _pictures() -> dict[int, str]:
    shown = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
    shown[0x7F] = "\u2421"
    # C1 controls are escape sequences of one character, and the bidirectional ones reorder what is around them
    shown.update({code: f"<{code:02X}>" for code in range(0x80, 0xA0)})
    shown.update({code: f"<{code:04X}>" for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))})
    shown.update({code: f"<{code:04X}>" for code in (0x200E, 0x200F, 0x061C, 0x2028, 0x2029)})
    shown.update(dict.fromkeys(range(0xD800, 0xE000), "\ufffd"))
    return shown


_PICTURES = _pictures()


def safe_for_terminal(text: str) -> str:
    """Return `text` with every character that could command a terminal replaced by one that shows it.

    Tabs and line feeds stay; other C0 controls become Unicode control pictures, C1 and bidirectional controls their
    number in `<>`; lone surrogates, which no encoding can write, become U+FFFD.
    """
    return text if text.isprintable() else text.translate(_PICTURES)
