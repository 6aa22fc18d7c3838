"""What a client is told of a line that is no message: the SDK says nothing, and who asked would wait for ever."""

from __future__ import annotations

import json
from typing import Any

import pydantic_core
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError


def refusal_of(line: str | bytes) -> JSONRPCError:
    """Return the answer to a line that cannot be read as a message, under its number where it has one."""
    code, reason = INVALID_REQUEST, "this is no request, notification or answer of JSON-RPC 2.0"
    try:
        pydantic_core.from_json(line, allow_inf_nan=False)
    except ValueError as error:
        code, reason = PARSE_ERROR, f"this is no JSON that can be taken: {error}"
    try:
        # takes more than is taken of a message
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if message is not None and not _is_text(json.dumps(message, ensure_ascii=False)):
        reason = "a text in it holds half of a surrogate pair, as of an emoji that was cut: send whole characters"
    return JSONRPCError(jsonrpc="2.0", id=_number(message), error=ErrorData(code=code, message=reason))


def _number(message: Any) -> str | int | None:
    number = message.get("id") if isinstance(message, dict) and "method" in message else None
    if isinstance(number, bool) or not isinstance(number, str | int):
        return None
    # one that cannot be given back is none
    return number if isinstance(number, int) or _is_text(number) else None


def _is_text(string: str) -> bool:
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True
