"""Tasks that the worker tests run in child processes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from typing import Any


def double(item: int) -> int:
    return item * 2


def act(item: Any) -> Any:
    if item == "hang":
        while True:
            time.sleep(60)
    if item == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if item == "stuck":  # stuck in native code with the interpreter's lock held: no Python thread can run
        ctypes.PyDLL(None).pause()
    if isinstance(item, tuple) and item[0] == "stuck":
        with open(item[1], "wb"):  # tells whoever waits on this FIFO that the item is in hand
            pass
        ctypes.PyDLL(None).pause()
    if item == "abort":
        os.abort()
    if item == "segfault":
        ctypes.string_at(0)
    if item == "leave":
        os._exit(3)
    if item == "bomb":
        return len(bytearray(1 << 40))
    if item == "native bomb":  # touches memory until the system refuses, then dies as a native library would
        blocks = []
        try:
            while True:
                blocks.append(b"x" * (16 << 20))
        except MemoryError:
            os.abort()
    if item == "error":
        raise ValueError("no such thing")
    if item == "unpicklable":
        return lambda: None
    if item == "noise":
        sys.stdout.write("noise\n")
        sys.stdout.flush()
        os.write(1, b"noise\n")
        return sys.stdin.read()
    if item == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if item == "pid":
        return os.getpid()
    if item == "nice":
        return os.nice(0)
    if isinstance(item, tuple) and item[0] == "grow":
        return len(b"x" * item[1])
    if isinstance(item, tuple) and item[0] == "keep":
        _kept.append(b"x" * item[1])
        return os.getpid()
    return item


_kept: list[bytes] = []


def refuse() -> None:
    raise RuntimeError("the parser is broken")


def announce() -> None:
    with open(os.environ["ANNOUNCED"], "ab", buffering=0) as fifo:
        fifo.write(b"!")


def die() -> None:
    os.abort()


def large(item: int) -> bytes:
    return bytes([item % 251]) * 300_000
