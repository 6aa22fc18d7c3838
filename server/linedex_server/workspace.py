"""The folders being served: one index per root, and the one judge that leads a path to its index.

Promise: `at` answers for every spelling of a path, or refuses; nothing outside the allowed roots is reached through it.
Indexes are leased from those that are open in this process, so that sessions with a root in common share its index, and
a session has no way to an index that is not of its roots.
The sidecar of a root lies in the state folder under a name made from the root's real path, so that two spellings of
one folder share an index.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from linedex.errors import BadArgument, NotAFile, NotAFolder
from linedex.files.ignore import IgnoreRules, WalkSettings
from linedex.files.names import display
from linedex.files.places import Place, Roots
from linedex.files.roots import Root
from linedex.files.walk import is_hidden
from linedex.index import Index
from linedex.model import RelPath
from linedex_server.config import Settings
from linedex_server.indexes import Lease, Opening, SharedIndexes
from linedex_server.naming import spelled
from linedex_server.rendezvous.private import make_private, unusable

LOOSE_ROOT = Path("/")
"""Where files outside every root are named from, when the restriction is lifted."""


At: TypeAlias = tuple[Index, RelPath]
"""A place in the workspace: the index that answers for it, and its path below that index's root."""


class Workspace:
    """The indexes of one set of roots.

    Attributes:
        settings: the settings it was opened with.
        unrestricted: whether files outside the roots are answered too.
        roots: the real paths of the roots, in the order they were named.
        base: the folder that relative paths count from, in questions and in answers.
    """

    def __init__(self, settings: Settings, *, base: Path | None = None, indexes: SharedIndexes | None = None) -> None:
        """Take the index of each allowed root; it is opened at the first question or `start`, and not indexed before.

        Args:
            settings: the roots, whether the restriction is lifted, limits, exclusions and the state folder.
            base: the caller's working folder, which relative paths count from when it lies below a root; otherwise
                they count from the first root.
            indexes: the open indexes of this process; this workspace's own when None.

        Raises:
            BadArgument: there is no root, and the restriction is not lifted.
            NotFound, NotAFolder: a root is not an existing folder.
            Unreadable: the state folder cannot be made.
        """
        self.settings = settings
        self.unrestricted = settings.unrestricted
        folders = settings.root_folders
        if not folders and not self.unrestricted:
            raise BadArgument("No folder to serve was named.", "Name one with --root DIR or LINEDEX_ALLOWED_ROOTS.")
        self._judge = Roots(folders, unrestricted=self.unrestricted)
        self.roots = tuple(Path(os.fsdecode(path)) for path in dict.fromkeys(Root(folder).path for folder in folders))
        self._shared = SharedIndexes(spare=0) if indexes is None else indexes
        self._homes = _homes(self.roots, settings.walk)
        openings = [self._opening(root) for root in self.roots if not self._homes[os.fsencode(root)][1]]
        loose = self._opening(LOOSE_ROOT, loose=True) if self.unrestricted else None
        # nothing raises from here on, so that no lease is left without an end
        self._leases = {os.fsencode(one.root): self._shared.lease(one, settings.limits) for one in openings}
        self._loose = None if loose is None else self._shared.lease(loose, settings.limits)
        self.base = self._base(base)

    def start(self) -> None:
        """Begin indexing every root in the background, and what is named outside of them; returns at once."""
        for lease in self._all():
            lease.start()

    def close(self) -> None:
        """Give every index back, once; one that nobody else has is closed, and what is half done goes on later."""
        for lease in self._all():
            lease.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def indexes(self) -> tuple[Index, ...]:
        """The indexes of the roots, in the order they were named; a root inside another is part of that one's."""
        return tuple(lease.index for lease in self._leases.values())

    def at(self, path: str) -> At:
        """Return the index that answers for `path`, and the path below its root.

        Args:
            path: absolute, or relative to `base`; any spelling that leads below a root.

        Raises:
            OutsideRoots: it is not below an allowed root, or leads out of it.
            NotFound: it leads nowhere; the hint names what is near.
            BadArgument: it is empty or cannot be spelled.
            Unreadable: the system does not let us look.
        """
        place = self.place(path)
        if place.root is not None:
            home, below = self._homes[place.root.path]
            return self._leases[home].index, RelPath(os.path.join(below, place.path) if place.path else below)
        assert self._loose is not None  # only an unrestricted judge lets such a place through
        return self._loose.index, place.path

    def place(self, path: str, *, must_exist: bool = True) -> Place:
        """Return where `path` leads, without the index that answers for it.

        Args:
            path: as `at` takes it.
            must_exist: whether a missing file is refused; one that is to be written need not be there.

        Raises:
            LinedexError: as `at` does.
        """
        return self._judge.resolve(path, base=display(os.fsencode(self.base)), must_exist=must_exist)

    def file(self, path: str) -> At:
        """`at`, for a path that must not be a folder.

        Raises:
            NotAFile: it is a folder.
            LinedexError: as `at` does.
        """
        found = self.at(path)
        if self._is_folder(found):
            raise NotAFile(
                f"`{path}` is a folder.",
                "Use list_directory or search_directory for folders, or name a file in it.",
            )
        return found

    def folder(self, path: str) -> At:
        """`at`, for a path that must be a folder.

        Raises:
            NotAFolder: it is something else.
            LinedexError: as `at` does.
        """
        found = self.at(path)
        if not self._is_folder(found):
            raise NotAFolder(f"`{path}` is not a folder.", "Use search_content or read_content for a file.")
        return found

    def naming(self, index: Index) -> Callable[[RelPath], str]:
        """Return how answers spell the files of an index, each as `called` has it."""
        return lambda path: self.called(_joined(index, path))

    def called(self, absolute: bytes) -> str:
        """Return how answers spell a path; `at` and `place` read it back.

        Relative to `base` for what lies below it, else absolute; control characters are escaped.
        """
        below = os.fsencode(self.base).rstrip(b"/") + b"/"
        if absolute + b"/" == below:
            return "."
        return spelled(absolute.removeprefix(below))

    @staticmethod
    def naming_below(folder: RelPath) -> Callable[[RelPath], str]:
        """Return how a file is called by its path below `folder`, which is itself `.`."""
        below = folder + b"/" if folder else b""

        def name(path: RelPath) -> str:
            return "." if path == folder else spelled(path.removeprefix(below))

        return name

    @staticmethod
    def absolute(index: Index, path: RelPath) -> str:
        """Return the absolute path of a place, as answers spell it."""
        return spelled(_joined(index, path))

    @staticmethod
    def _is_folder(at: At) -> bool:
        return os.path.isdir(_joined(*at))

    def _all(self) -> tuple[Lease, ...]:
        return (*self._leases.values(), *(() if self._loose is None else (self._loose,)))

    def _base(self, asked: Path | None) -> Path:
        if asked is not None:
            real = asked.resolve()
            if self.unrestricted or any(real.is_relative_to(root) for root in self.roots):
                return real
        return next(iter(self.roots), LOOSE_ROOT)

    def _opening(self, root: Path, *, loose: bool = False) -> Opening:
        opening = opening_of(self.settings, root, loose=loose)
        make_private_folders(self.settings.state_dir, opening.sidecar)
        return opening


def _homes(roots: Iterable[Path], walk: WalkSettings) -> dict[bytes, tuple[bytes, RelPath]]:
    """Return for each root the root whose index holds it, and where below that one it lies, b"" for its own.

    A root inside another belongs to that one's index, so that no file is indexed or found twice; but not where the
    rules of the outer one leave it out, as they do with `node_modules`, or where it is hidden in that one.
    """
    homes: dict[bytes, tuple[bytes, RelPath]] = {}
    for root in sorted(map(os.fsencode, roots), key=len):
        homes[root] = root, RelPath(b"")
        for outer in [home for home, (_, below) in homes.items() if not below and home != root]:
            below = Root(os.fsdecode(outer)).below(root)
            if below is None or is_hidden(below):
                continue
            if not IgnoreRules(Root(os.fsdecode(outer)), walk).is_ignored(below, is_folder=True):
                homes[root] = outer, below
                break
    return homes


def _joined(index: Index, path: RelPath) -> bytes:
    root = os.fsencode(index.root)
    return os.path.join(root, path) if path else root


def opening_of(settings: Settings, root: Path, *, loose: bool = False) -> Opening:
    """Return what decides the index of a root under these settings; nothing is made.

    Args:
        settings: the state folder, and what of the root belongs to the index.
        root: the root's real path.
        loose: whether it is the index of files outside every root.
    """
    state = settings.state_dir
    sidecar = sidecar_path(state, root, loose=loose)
    return Opening(root, sidecar, settings.walk, loose, languages_folder(state), state)


def indexed_around(settings: Settings, real: Path, *, is_folder: bool) -> Path | None:
    """Return the innermost indexed folder that answers for a path that a person named, None when there is none.

    A folder that the rules around it leave out is not in their index; who names it means it nonetheless. A file is
    answered by any index around it.

    Args:
        settings: the state folder, and what of a folder belongs to its index.
        real: the real path.
        is_folder: whether it is a folder.
    """
    for candidate in (real, *real.parents) if is_folder else real.parents:
        if not sidecar_path(settings.state_dir, candidate).exists():
            continue
        rules = IgnoreRules(Root(candidate), settings.walk)
        if not (is_folder and rules.is_ignored(below(candidate, real), is_folder=True)):
            return candidate
    return None


def below(root: Path, real: Path) -> RelPath:
    """Return where the path `real` lies below `root`, b"" for the root itself."""
    return RelPath(b"" if real == root else os.fsencode(real.relative_to(root)))


def sidecar_path(state_dir: Path, root: Path, *, loose: bool = False) -> Path:
    """Return where the sidecar of a root lies; nothing is made.

    Args:
        state_dir: the state folder.
        root: the root's real path.
        loose: whether it is the sidecar of files outside every root.
    """
    name = "loose" if loose else hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    return state_dir / "indexes" / name / "index.db"


def languages_folder(state_dir: Path) -> Path:
    """Return where languages that a person added are kept; nothing is made."""
    return state_dir / "languages"


def make_private_folders(state_dir: Path, sidecar: Path) -> None:
    """Make the folders down to a sidecar; what lies in them is readable by their owner only.

    Raises:
        Unreadable: they cannot be made, or others can write in the state folder.
    """
    try:
        make_private(state_dir)
        for folder in (sidecar.parent.parent, sidecar.parent):
            folder.mkdir(exist_ok=True)
            # also for a folder that an earlier hand made: the sidecar holds names and signatures of private files
            folder.chmod(0o700)
    except OSError as error:
        raise unusable(state_dir, error) from None
