"""Same-length masking of the macros that make C unparsable.

The grammar knows no preprocessor: an attribute macro between type and name, a macro that opens a function, or a macro
call that stands as a statement at file level each start an error that may swallow the functions after it. Here they
become blanks (line ends stay), so that every position in the masked text is one in the file. On the kernel's `mm` this
raises the functions found from 99.3 % to 99.9 %, at 25 MB/s.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from linedex.content.symbols.c_bodies import blank_bodies, is_directive
from linedex.content.symbols.capture import Row
from linedex.model import SymbolKind

_WITH_ATTRIBUTES = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.STRUCT, SymbolKind.VARIABLE})
_PARENTHESES = re.compile(rb"[()]")
_PARENTHESES_REACH = 4_000
"""Bytes in which a macro's arguments must close; counted, since one regular expression took 0.7 s on one header."""

_NOT_LINE_END = re.compile(rb"[^\n]")


@dataclass(frozen=True, slots=True)
class Masked:
    """A text of the same length for the parser.

    Attributes:
        text: the masked text.
        names: first byte of a stand-in name -> range of the real name.
    """

    text: bytes
    names: Mapping[int, tuple[int, int]] = field(default_factory=dict)


_ATTRIBUTES = frozenset(
    b"""
    __init __exit __meminit __memexit __cpuinit __cpuexit __devinit __devexit __initdata __exitdata __initconst
    __ref __refdata __sched __lockfunc __kprobes __always_inline __user __iomem __rcu __percpu __force __bitwise
    __private __kernel __nocast __safe __must_check __maybe_unused __always_unused __unused __cold __hot __visible
    __weak __pure __malloc __packed __read_mostly __ro_after_init __latent_entropy __noreturn __noclone __deprecated
    __init_memblock __init_or_module __init_or_acpilib __net_init __net_exit __used __naked __randomize_layout
    __noinstr __flatten __cpuidle __bpf_kfunc __irq_entry __softirq_entry __no_sanitize_address __no_sanitize_undefined
    __no_kcsan __no_stack_protector __nokprobe __exception_irq_entry __tracepoint_string __lsm_ro_after_init
    notrace asmlinkage noinstr noinline noinline_for_stack nokprobe_inline fastcall noinline_if_stackalloc
    """.split()
)
"""Words that stand for attributes wherever they occur (`____cacheline_*` and the like come by their start)."""

_ATTRIBUTE_CALLS = frozenset(
    b"""
    __acquires __releases __must_hold __printf __scanf __section __aligned __alloc_size __attribute __attribute__
    __no_sanitize __cond_acquires __free __cleanup __counted_by __assume_aligned __realloc_size __diagnose_as __alias
    __declspec
    """.split()
)
"""The same, with arguments."""

_WORD = re.compile(rb"\b(?:__\w+|notrace|asmlinkage|noinstr|noinline\w*|nokprobe_inline|fastcall)\b")
_ARGUMENTS = re.compile(rb"[ \t]*\(")
# any other `__word` between a type and a name at the start of a line is an attribute too, unless it is the type itself
_BETWEEN_TYPE_AND_NAME = re.compile(
    rb"^[A-Za-z_][\w \t*]{0,120}?[\w*][ \t]+\**(__[a-z]\w*)(?=[ \t]+\**[A-Za-z_])", re.MULTILINE
)
_NO_TYPE_YET = frozenset(
    b"static inline extern const struct enum union unsigned typedef volatile return else goto signed long".split()
)
_DEFINING = re.compile(
    rb"^(?:(?:static|inline|notrace|asmlinkage)[ \t]+){0,3}([A-Z][A-Z0-9_]{3,80})[ \t]*\([ \t\n]*([A-Za-z_]\w*)?",
    re.MULTILINE,
)
_BODY_FOLLOWS = re.compile(rb"[^;{}()=]{0,80}?\{")
_STATEMENT = re.compile(
    rb"^(?:[A-Z][A-Z0-9_]{2,80}|\w{1,80}_initcall(?:_sync)?|module_\w{1,80}|__setup\w{0,80}|early_param"
    rb"|\w{0,80}_param_\w{1,80}|__\w{1,80}_setup)"
    rb"[ \t]*\(",
    re.MULTILINE,
)
_STATEMENT_ENDS = re.compile(rb"[ \t]*;?[ \t]*\r?(?:\n|\Z)(?!\s{0,80}\{|[ \t]*=)")
_EXPORTED_CLASS = re.compile(
    rb"\b(?:class|struct|union|enum)[ \t]+"
    rb"([A-Z][A-Z0-9_]{0,80}?(?:EXPORT|EXPORTED|API|ABI|PUBLIC|VISIBLE|DLL|IMPEXP)(?:_\w{1,80})?(?:\([^()\n]{0,80}\))?)"
    rb"[ \t]+(?=[A-Za-z_])(?!final\b)"
)


def mask_c(text: bytes) -> Masked:
    """Return C with attributes, defining macros, macro statements and the bodies of functions masked."""
    out = bytearray(text)
    parentheses = Parentheses(len(text))
    for start, end in _attributes(text, parentheses):
        _blank(out, start, end)
    for match in _BETWEEN_TYPE_AND_NAME.finditer(bytes(out)):
        before = bytes(out[match.start() : match.start(1)]).replace(b"*", b" ").split()
        if before[-1] not in _NO_TYPE_YET:
            _blank(out, *match.span(1))
    names = dict(_define_functions(out, parentheses))
    settled = bytes(out)
    for match in _STATEMENT.finditer(settled):
        end = parentheses.closing(settled, match.end() - 1)
        if end > 0 and (stop := _STATEMENT_ENDS.match(settled, end)):
            _blank(out, match.start(), stop.end())
    return Masked(blank_bodies(bytes(out)), names)


def mask_cpp(text: bytes) -> Masked:
    """Return C++ without the export macro of `class API_EXPORT Name`, which parses as a function otherwise."""
    out: bytearray | None = None
    for match in _EXPORTED_CLASS.finditer(text):
        out = out or bytearray(text)
        _blank(out, *match.span(1))
    return Masked(text if out is None else bytes(out))


def unmask_starts(text: bytes, masked: bytes, line_starts: list[int], rows: Iterable[Row]) -> None:
    """Let a definition begin at its masked attributes again, when they are all that stands before it on its line."""
    for row in rows:
        line = line_starts[bisect_right(line_starts, row.start) - 1]
        if line < row.start and row.kind in _WITH_ATTRIBUTES and masked[line : row.start].isspace():
            head = text[line : row.start]
            row.start -= len(head.lstrip())


class Parentheses:
    """Finds where parentheses close, in a time linear in the text.

    Args:
        text_bytes: length of the text; once a quarter as many parentheses have been looked at, none closes any more.
            Thousands of heads that each open and never close would be quadratic otherwise; real C stays far below.
    """

    __slots__ = ("_left",)

    def __init__(self, text_bytes: int) -> None:
        self._left = max(10_000, text_bytes // 4)

    def closing(self, text: bytes | bytearray, opening: int) -> int:
        """Return the end of the parentheses that open at `opening`, or -1 when they don't close within reach."""
        if self._left <= 0:
            return -1
        depth = seen = 0
        for parenthesis in _PARENTHESES.finditer(text, opening, opening + _PARENTHESES_REACH):
            seen += 1
            depth += 1 if parenthesis.group() == b"(" else -1
            if depth == 0:
                self._left -= seen
                return parenthesis.end()
        self._left -= seen
        return -1


def _attributes(text: bytes, parentheses: Parentheses) -> Iterator[tuple[int, int]]:
    for match in _WORD.finditer(text):
        word = match.group()
        if is_directive(text, match.start()):
            continue  # `#define __init`: without its name the macro would take the next word for it
        if word in _ATTRIBUTES or word.startswith((b"____cacheline_", b"__cacheline_", b"__no_sanitize_")):
            yield match.span()
        elif word in _ATTRIBUTE_CALLS and (arguments := _ARGUMENTS.match(text, match.end())):
            end = parentheses.closing(text, arguments.end() - 1)
            if end > 0:
                yield match.start(), end


def _define_functions(out: bytearray, parentheses: Parentheses) -> Iterator[tuple[int, tuple[int, int]]]:
    """Turn `SYSCALL_DEFINE3(brk, ...) {` into `int SYSCALL_DEFINE3() {`; yield where the stand-in and `brk` stand."""
    for match in _DEFINING.finditer(bytes(out)):
        close = parentheses.closing(out, out.index(b"(", match.end(1)))
        brace = _BODY_FOLLOWS.match(out, close) if close > 0 else None
        if brace is None:
            continue
        head = bytes(out[match.start() : brace.end() - 1])
        room = len(head.split(b"\n", 1)[0])
        if room < 10:  # no place for `int X() `
            continue
        stand_in = b"int " + match.group(1)[: room - 6] + b"()"
        out[match.start() : brace.end() - 1] = stand_in + _NOT_LINE_END.sub(b" ", head)[len(stand_in) :]
        yield match.start() + 4, match.span(2) if match.group(2) else match.span(1)


def _blank(out: bytearray, start: int, end: int) -> None:
    out[start:end] = _NOT_LINE_END.sub(b" ", bytes(out[start:end]))
