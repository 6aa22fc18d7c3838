"""The command line: `linedex COMMAND`, for people at a terminal and for scripts.

Promise: results go to stdout and everything else to stderr; the exit status is 0 when the answer is yes, 1 when it is
no (nothing found, a check that failed), 2 for an error, 130 after Ctrl-C; a closed pipe is no error. A command loads
only what it needs, so that `linedex --help` and `linedex search` start fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""numpy's linear algebra, which nothing here uses, would start a thread for each core when numpy is imported: 79 ms of
processor time for that import instead of 103 to 133 on two cores."""


def main() -> int:
    """Run the command that the arguments name and return its exit status."""
    os.environ.setdefault(*_ONE_THREAD)
    try:
        if sys.argv[1:2] == ["mcp"] and (refused := _plain_bridge(sys.argv[2:])):
            return refused
        # Here and not above, so that Ctrl-C is quiet while modules load too.
        from linedex_server.cli.app import run  # noqa: PLC0415

        status = run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        # What was not written yet would be at the end, which waits for a reader that may be waiting for us.
        _write_no_more()
        return 130
    except BrokenPipeError:
        # The reader has enough (`| head`).
        _write_no_more()
        return 0
    except OSError as error:
        # Commands turn what fails on files into words of their own; what comes here is stdout, on a full disk say.
        _write_no_more()
        sys.stderr.write(f"linedex: cannot write the answer: {error.strerror}\n")
        return 2
    return status


def _plain_bridge(arguments: Sequence[str]) -> int:
    """Be `linedex mcp` to the end, without what reads other commands; return 2 if refused, 0 if it takes that."""
    from linedex.errors import LinedexError  # noqa: PLC0415
    from linedex_server.cli.plain import bridge_settings  # noqa: PLC0415

    given = bridge_settings(arguments)
    if given is None:
        return 0
    from linedex_server.bridge import serve  # noqa: PLC0415
    from linedex_server.config import Settings  # noqa: PLC0415

    try:
        serve(Settings.load(given).state_dir, given)
    except LinedexError as error:
        from linedex_server.cli.terminal import complain  # noqa: PLC0415

        complain(error)
        return 2


def _write_no_more() -> None:
    """Send what is still to come nowhere: the interpreter flushes stdout once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
