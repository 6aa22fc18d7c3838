"""Which ignore rules govern a folder: `.linedexignore`, `.ignore`, git's own files, and the settings.

Promise: one rule set decides for the crawl, for a single path and for one folder listed again. A name is judged by, in
this order, the globs of the settings, the `.linedexignore` files from its folder upwards, the `.ignore` files, and
inside a git repository the `.gitignore` files up to the repository's top, its `info/exclude`, and the user's own
excludes; the first that speaks of it decides. Nothing below an ignored folder is brought back.

git's files count inside a repository only, as with git and ripgrep (`require_git`): the `.gitignore` of an unpacked
source archive may speak about another tree (Debian's Linux source begins with `/*`, which ignores all of it).
When the root lies inside a repository, the `.gitignore` files above it count as well, unless they ignore the root.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from linedex.errors import LinedexError
from linedex.files import gitignore
from linedex.files.roots import Root
from linedex.model import RelPath

OWN_FILE = b".linedexignore"
PLAIN_FILE = b".ignore"
GIT_FILE = b".gitignore"
IGNORE_FILES = frozenset({OWN_FILE, PLAIN_FILE, GIT_FILE})
"""Names of the files that hold rules about the folder they stand in; a change in one judges that folder anew."""

REPOSITORY = b".git"
"""A folder, or in worktrees and submodules a file. Never walked."""

_RULE_FILE_BYTES = 4 << 20
"""Rules past this size of an ignore file are left out (the largest in use are near 100 KB)."""
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_EXCLUDES_FILE = re.compile(rb'^[ \t]*excludesfile[ \t]*=[ \t]*"?([^"\n]*?)"?[ \t\r]*$', re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class WalkSettings:
    """What a walk takes in.

    Attributes:
        include_hidden: also names that start with a dot; they are marked.
        include_ignored: also what ignore rules leave out; it is marked.
        git_rules: whether git's ignore files count.
        require_git: whether they count inside a repository only.
        globs: rules of the settings, in gitignore syntax, relative to the root; they come before all others.
        ignore_case: whether rules match ASCII letters in either case, as git does on macOS and Windows.
    """

    include_hidden: bool = True
    include_ignored: bool = False
    git_rules: bool = True
    require_git: bool = True
    globs: tuple[str, ...] = ()
    ignore_case: bool = sys.platform in {"darwin", "win32"}


@dataclass(frozen=True, slots=True)
class _Placed:
    """The rules of one file, and where that file stands.

    Attributes:
        rules: its rules.
        base: its folder below the root, b"" or ending in b"/".
        above: for a file above the root, the path from its folder to the root, ending in b"/".
    """

    rules: gitignore.Rules
    base: bytes = b""
    above: bytes = b""

    def relative(self, folder: bytes) -> bytes:
        """Return a folder of the root as seen from the folder of the rules."""
        return self.above + folder[len(self.base) :]


@dataclass(frozen=True, slots=True)
class FolderRules:
    """The rules that govern the entries of one folder.

    Attributes:
        folder: the folder below the root, b"" or ending in b"/".
        repository: whether git's files count here.
        chain: all rules, in the order in which they are asked.
    """

    folder: bytes
    repository: bool
    settings: tuple[_Placed, ...] = ()
    own: tuple[_Placed, ...] = ()
    plain: tuple[_Placed, ...] = ()
    git: tuple[_Placed, ...] = ()
    excludes: tuple[_Placed, ...] = ()

    @property
    def chain(self) -> tuple[_Placed, ...]:
        """All rules, in the order in which they are asked."""
        return (*self.settings, *self.own, *self.plain, *self.git, *self.excludes)

    def ignored(self, files: Sequence[bytes], folders: Sequence[bytes]) -> set[bytes]:
        """Return those of the folder's entries that are ignored; `files` is all that is no folder."""
        chain = self.chain
        if not chain:
            return set()
        listed = [*files, *folders]
        suspects: set[bytes] = set()
        for placed in chain:
            suspects |= placed.rules.suspects(placed.relative(self.folder), listed)
        if not suspects:
            return suspects
        below = suspects.intersection(folders)
        return {name for name in suspects if self.ignores(name, is_folder=name in below)}

    def ignores(self, name: bytes, *, is_folder: bool) -> bool:
        """Say whether one entry of the folder is ignored."""
        for placed in self.chain:
            verdict = placed.rules.verdict(placed.relative(self.folder), name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


class IgnoreRules:
    """The ignore rules of one root as they stand when first asked for; make a new one for each pass.

    Args:
        root: the root.
        settings: which rules count.

    Attributes:
        unlisted: rule files that no listing of the root shows, there or not: those above the root, each repository's
            `info/exclude`, the user's excludes. Who keeps a catalogue stats them to notice a change.
    """

    def __init__(self, root: Root, settings: WalkSettings) -> None:
        self._root = root
        self._settings = settings
        self._user = _user_rules() if settings.git_rules else _UserRules(b"", ())
        self.unlisted: set[bytes] = set(self._user.files)
        self._above = self._rules_above()
        self._known: dict[bytes, FolderRules] = {}

    def governing(self, folder: RelPath) -> FolderRules:
        """Return the rules for the entries of a folder, reading the ignore files from the root down to it."""
        if folder in self._known:
            return self._known[folder]
        above = self.above(folder)
        try:
            descriptor = self._root.open_folder(folder)
        except LinedexError:
            return replace(above, folder=folder + b"/" if folder else b"")
        try:
            listed = {name for name in (*IGNORE_FILES, REPOSITORY) if _exists(name, descriptor)}
            self._known[folder] = here = self.enter(above, folder, descriptor, listed)
            return here
        finally:
            os.close(descriptor)

    def above(self, folder: RelPath) -> FolderRules:
        """Return the rules that a folder takes over from the one it stands in."""
        return self.governing(RelPath(folder.rpartition(b"/")[0])) if folder else self._above

    def enter(self, above: FolderRules, folder: RelPath, descriptor: int, listed: Iterable[bytes]) -> FolderRules:
        """Return the rules for the entries of a folder, given those of the folder above.

        Args:
            above: what `enter` returned for the folder above.
            folder: the folder.
            descriptor: the folder, open.
            listed: names in it, of which the ignore files and `.git` matter.
        """
        prefix = folder + b"/" if folder else b""
        here = replace(above, folder=prefix)
        present = (IGNORE_FILES | {REPOSITORY}).intersection(listed)
        if present:
            if REPOSITORY in present and self._settings.git_rules:
                here = replace(here, repository=True, git=(), excludes=self._repository_rules(prefix))
            for name in present & IGNORE_FILES:
                if name == GIT_FILE and not here.repository:
                    continue
                rules = self._compiled(_contents(name, descriptor))
                if not rules:
                    continue
                placed = _Placed(rules, prefix)
                if name == OWN_FILE:
                    here = replace(here, own=(placed, *here.own))
                elif name == PLAIN_FILE:
                    here = replace(here, plain=(placed, *here.plain))
                else:
                    here = replace(here, git=(placed, *here.git))
        return here

    def is_ignored(self, path: RelPath, *, is_folder: bool) -> bool:
        """Say whether a file or folder is ignored, by itself or because a folder around it is. It need not exist."""
        components = path.split(b"/") if path else []
        if REPOSITORY in components:
            return True
        folder = b""
        for depth, name in enumerate(components):
            rules = self.governing(RelPath(folder))
            if rules.ignores(name, is_folder=is_folder or depth < len(components) - 1):
                return True
            folder = rules.folder + name
        return False

    def _compiled(self, content: bytes) -> gitignore.Rules:
        return gitignore.compiled(content, ignore_case=self._settings.ignore_case)

    def _placed(self, contents: Iterable[bytes], base: bytes = b"", above: bytes = b"") -> tuple[_Placed, ...]:
        return tuple(_Placed(rules, base, above) for rules in map(self._compiled, contents) if rules)

    def _repository_rules(self, prefix: bytes) -> tuple[_Placed, ...]:
        """Return `info/exclude` of the repository whose top is at `prefix`, and the user's excludes."""
        exclude = _exclude_path(self._root, prefix)
        content = b""
        if exclude is not None:
            self.unlisted.add(self._root.absolute(exclude))
            content = _confined(self._root, exclude)
        return self._placed((content, self._user.content), prefix)

    def _rules_above(self) -> FolderRules:
        """Return the rules that the root takes over from outside: the settings, and the repository it lies in."""
        lines = "\n".join(self._settings.globs).encode("utf-8", "surrogateescape")
        alone = FolderRules(b"", repository=not self._settings.require_git, settings=self._placed((lines,)))
        if not self._settings.git_rules:
            return replace(alone, repository=False)
        top = _top_above(self._root.path)
        if top is None:
            return replace(alone, excludes=self._placed((self._user.content,)) if alone.repository else ())
        steps = os.path.relpath(self._root.path, top).split(b"/")
        excludes = os.path.join(top, REPOSITORY, b"info", b"exclude")
        self.unlisted.add(excludes)
        inside = replace(alone, repository=True)
        around = replace(
            inside,
            excludes=self._placed((_contents(excludes), self._user.content), above=b"/".join(steps) + b"/"),
        )
        folder = top
        for depth, name in enumerate(steps):
            path = os.path.join(folder, GIT_FILE)
            self.unlisted.add(path)
            below = b"/".join(steps[depth:]) + b"/"
            around = replace(around, git=(*self._placed((_contents(path),), above=below), *around.git))
            if _ignores_step(around, steps[:depth], name, steps):
                return inside
            folder = os.path.join(folder, name)
        return around


@dataclass(frozen=True, slots=True)
class _UserRules:
    content: bytes
    files: tuple[bytes, ...]


def _ignores_step(rules: FolderRules, above: Sequence[bytes], name: bytes, steps: Sequence[bytes]) -> bool:
    """Say whether rules from above the root ignore one of the folders that lead from the repository's top to it."""
    for placed in (*rules.git, *rules.excludes):
        own_depth = len(steps) - placed.above.count(b"/")
        folder = b"".join(step + b"/" for step in above[own_depth:])
        verdict = placed.rules.verdict(folder, name, is_folder=True)
        if verdict is not None:
            return verdict
    return False


def _top_above(folder: bytes) -> bytes | None:
    """Return the top of the repository around a folder that is not a top itself."""
    if os.path.lexists(os.path.join(folder, REPOSITORY)):
        return None
    while folder != (parent := os.path.dirname(folder)):
        folder = parent
        if os.path.lexists(os.path.join(folder, REPOSITORY)):
            return folder
    return None


def _exclude_path(root: Root, prefix: bytes) -> RelPath | None:
    """Return where the repository at `prefix` keeps its `info/exclude`, None when that is not below the root."""
    pointer = RelPath(prefix + REPOSITORY)
    if os.path.isdir(root.absolute(pointer)):
        return RelPath(pointer + b"/info/exclude")
    content = _confined(root, pointer)
    if not content.startswith(b"gitdir:"):
        return None
    folder = os.path.dirname(root.absolute(pointer))
    git_folder = os.path.join(folder, content.removeprefix(b"gitdir:").strip())
    below = root.below(os.path.realpath(git_folder))
    if below is None:
        return None
    common = _confined(root, RelPath(below + b"/commondir")).strip()
    below = root.below(os.path.realpath(os.path.join(root.absolute(below), common)))
    return None if below is None else RelPath(below + b"/info/exclude")


def _user_rules() -> _UserRules:
    """Return the user's excludes: core.excludesFile of the user's git settings, or else `git/ignore` beside them."""
    home = os.path.expanduser(b"~")
    settings = os.environb.get(b"XDG_CONFIG_HOME") or os.path.join(home, b".config")
    configs = (os.path.join(settings, b"git", b"config"), os.path.join(home, b".gitconfig"))
    excludes = os.path.join(settings, b"git", b"ignore")
    for config in configs:
        named = _EXCLUDES_FILE.findall(_contents(config, follow=True))
        if named:
            excludes = os.path.expanduser(named[-1])
    content = _contents(excludes, follow=True) if excludes else b""
    return _UserRules(content, (*configs, excludes))


def _exists(name: bytes, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


def _confined(root: Root, path: RelPath) -> bytes:
    try:
        with root.opened(path) as descriptor:
            return os.read(descriptor, _RULE_FILE_BYTES)
    except LinedexError:
        return b""


def _contents(path: bytes, folder: int | None = None, *, follow: bool = False) -> bytes:
    """Return the bytes of a rule file; b"" when there is none, or it is no regular file, or it cannot be read.

    A link is followed only in the user's own settings; git too takes no rules through a link inside a tree.
    """
    try:
        if not stat.S_ISREG(os.stat(path, dir_fd=folder, follow_symlinks=follow).st_mode):
            return b""
        descriptor = os.open(path, _READ & ~os.O_NOFOLLOW if follow else _READ, dir_fd=folder)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _RULE_FILE_BYTES)
    finally:
        os.close(descriptor)
