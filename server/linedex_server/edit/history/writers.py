"""Which process made a record, and whether it is still there.

Promise: a process that has taken over the number of an earlier one, or one of an earlier boot, is not mistaken for it
where the system tells when a process began (Linux); elsewhere a number in use counts as the same process.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from linedex_server.edit.history.steps import Writer


def this_process() -> Writer:
    """Return who is asking."""
    return _this(os.getpid())


@functools.lru_cache(maxsize=1)
def _this(process: int) -> Writer:
    return Writer(process, _started(process) or "")


def running(writer: Writer) -> bool:
    """Return whether the process that made a record still runs."""
    if not writer.started:
        return _exists(writer.process)
    return _started(writer.process) == writer.started


def _started(process: int) -> str | None:
    """Return boot and clock tick at which a process began, None where it is not told or there is none."""
    try:
        status = Path(f"/proc/{process}/stat").read_bytes()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    # the name, in brackets, may hold blanks and brackets; the tick is the 20th field after it
    fields = status.rpartition(b")")[2].split()
    if fields[0] in {b"Z", b"X"}:
        return None  # dead, and only not yet waited for
    return f"{boot} {fields[19].decode()}"


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
