"""Whatever is done to a log, an index of it says what a plain reading of the file says, and cursors miss nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from linedex.answers import SearchRequest
from linedex.index import Index
from linedex.limits import Limits
from linedex.model import RelPath

LIMITS = Limits(
    large_file=256,
    block_bytes=64,
    block_slack=16,
    batch_bytes=300,
    commit_bytes=800,
    window_bytes=512,
    window_overlap=64,
    checkpoint_bytes=700,
    recheck_seconds=0.0,
    workers=0,
)
NAME = RelPath(b"app.log")
WORDS = ("alpha", "beta", "delta-7f3a", "10.48.187.29", "y" * 90)


class LogLife(RuleBasedStateMachine):
    """A log that is appended to, cut, copied, renamed, replaced and overwritten, and an index that is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.root = Path(self._folder.name) / "root"
        self.root.mkdir()
        self.log = self.root / "app.log"
        self.number = 0
        self.kept = 0
        self.model = b""
        self.index = Index(self.root, Path(self._folder.name) / "index.db", LIMITS)
        self.cursor = ""
        self.awaited: list[str] = []
        self.log.write_bytes(b"")
        self.append("alpha", 12)
        self.index.build()

    def teardown(self) -> None:
        self.index.close()
        self._folder.cleanup()

    def lines(self, word: str, count: int) -> bytes:
        first, self.number = self.number, self.number + count
        return b"".join(b"#%05d %s line\n" % (at, word.encode()) for at in range(first, first + count))

    def write(self, text: bytes) -> None:
        """Append to the log; what was half a line is told once it is whole."""
        before = self.model
        self.model += text
        with self.log.open("ab") as log:
            log.write(text)
        begun = before.rfind(b"\n") + 1
        self.awaited += self.model[begun:].decode().split("\n")[:-1]

    @rule(word=st.sampled_from(WORDS), count=st.integers(1, 15))
    def append(self, word: str, count: int) -> None:
        self.write(self.lines(word, count))

    @rule(word=st.sampled_from(WORDS))
    def append_half_a_line(self, word: str) -> None:
        self.write(self.lines(word, 1)[:-3])

    @rule(word=st.sampled_from(WORDS), count=st.integers(1, 40))
    def copy_and_truncate(self, word: str, count: int) -> None:
        self.finish_line()
        self.kept += 1
        shutil.copy(self.log, self.log.with_name(f"app.log.{self.kept}"))
        os.truncate(self.log, 0)
        self.model = b""
        self.write(self.lines(word, count))

    @rule(word=st.sampled_from(WORDS), count=st.integers(1, 40))
    def rename_and_begin_anew(self, word: str, count: int) -> None:
        self.finish_line()
        self.kept += 1
        self.log.rename(self.log.with_name(f"app.log.{self.kept}"))
        self.model = b""
        self.write(self.lines(word, count))

    def finish_line(self) -> None:
        if not self.model.endswith(b"\n"):
            self.write(b"end\n")

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        self.model = self.model[: int(len(self.model) * share)]
        os.truncate(self.log, len(self.model))
        self.cursor = ""

    @rule(word=st.sampled_from(WORDS), count=st.integers(1, 40))
    def replace(self, word: str, count: int) -> None:
        other = self.root / "other"
        self.model = self.lines(word, count)
        other.write_bytes(self.model)
        other.replace(self.log)
        self.cursor = ""

    @rule(share=st.floats(0, 1), word=st.sampled_from(("OMEGA", "\n\n\n")))
    def overwrite(self, share: float, word: str) -> None:
        at = int(max(0, len(self.model) - len(word)) * share)
        text = word.encode()[: len(self.model) - at]
        self.model = self.model[:at] + text + self.model[at + len(text) :]
        with self.log.open("r+b") as log:
            log.seek(at)
            log.write(text)
        self.cursor = ""

    @rule()
    def build(self) -> None:
        self.index.build()
        assert self.index.check() == ()

    @rule()
    def remember_the_end(self) -> None:
        self.cursor = self.index.tail(NAME, 1).later
        self.awaited = []

    @precondition(lambda self: bool(self.cursor))
    @rule(count=st.integers(1, 30))
    def read_what_is_new(self, count: int) -> None:
        told: list[str] = []
        for _ in range(200):
            answer = self.index.read_on(NAME, self.cursor, count)
            self.cursor = answer.later
            told += answer.lines
            if not answer.lines:
                break
        half = self.model.rsplit(b"\n", 1)[-1].decode()
        assert self.awaited == [line for line in told if line != half or line in self.awaited]
        self.awaited = []

    @invariant()
    def the_index_says_what_is_there(self) -> None:
        lines = self.model.decode().split("\n")
        if not lines[-1]:
            lines.pop()
        for word in ("alpha", "OMEGA", "7f3a", "line"):
            answer = self.index.search(
                SearchRequest(word, regex=False, scope=NAME, max_hits=10_000, case_sensitive=True)
            )
            hits = [hit.line for file in answer.files for hit in file.hits]
            assert hits == [at for at, line in enumerate(lines, start=1) if word in line]
        if lines:
            tail = self.index.tail(NAME, 1)
            assert tail.total_lines == len(lines)
            middle = len(lines) // 2 + 1
            assert self.index.read(NAME, middle, 1).lines == (lines[middle - 1],)


TestLogLife = LogLife.TestCase
TestLogLife.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
