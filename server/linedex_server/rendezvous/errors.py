"""What can go wrong between a client and the daemon."""

from __future__ import annotations

from linedex.errors import LinedexError


class NoDaemon(LinedexError):
    """No daemon can be reached or started."""

    code = "no_daemon"
