"""The zone of stamps that name none: by a name, else the one this machine's clock is set to.

Promise: the same name gives the same zone in every process, so that a worker and a query read a stamp alike.
"""

from __future__ import annotations

import os
from datetime import UTC, tzinfo
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from linedex.errors import BadArgument
from linedex.limits import Limits

_LOCAL_TIME = Path("/etc/localtime")


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Return a zone by its name in the time zone database.

    Raises:
        BadArgument: there is no such zone.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadArgument(
            f"`{name}` is no time zone of this machine's database.", "Give a name like Europe/Paris, or UTC."
        ) from None


def local_zone_name() -> str:
    """Return the name of the zone that this machine's clock is set to, `UTC` where that cannot be told."""
    for name in (os.environ.get("TZ", "").removeprefix(":"), _linked()):
        if name:
            try:
                zone_named(name)
            except BadArgument:
                continue
            return name
    return "UTC"


def zone_of(limits: Limits) -> str:
    """Return the name of the zone that stamps without one are read in."""
    return limits.log_zone or local_zone_name()


def _linked() -> str:
    """Return the zone that the system's local time is a link to, "" when it is none."""
    _, found, name = os.path.realpath(_LOCAL_TIME).rpartition("zoneinfo/")
    return name.removeprefix("posix/").removeprefix("right/") if found else ""
