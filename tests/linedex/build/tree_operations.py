"""What people and programs do to a folder, drawn at random, and what then stands in it by plain reading.

Used by the tests of freshness and by `scripts/bench/freshness.py`; it knows nothing of linedex but the name `.ignore`.
"""

from __future__ import annotations

import mmap
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

FOLDERS = ("a", "b", "src", "deep", "node", "out")
NAMES = ("one.txt", "two.py", "three.c", "four.log", "five", "six.md")
IGNORABLE = ("out", "four.log", "node", "six.md")


class Tree:
    """A folder `root` and one beside it, `elsewhere`, on the same file system.

    Attributes:
        root: what is indexed; it lies in a folder of its own, so that this one can be renamed.
        elsewhere: where things are moved to and from.
        random: decides.
        token: the word that the last operation wrote, or the last one that any wrote.
    """

    def __init__(self, base: Path, seed: int, files: int = 60) -> None:
        self.above = base / "above"
        self.root = self.above / "root"
        self.elsewhere = base / "elsewhere"
        self.random = random.Random(seed)
        self.written = 0
        self.moved = 0
        self.token = "t0x"
        self.root.mkdir(parents=True)
        self.elsewhere.mkdir()
        for _ in range(files):
            self.create()

    def text(self, lines: int = 0) -> str:
        """Return some lines of which one holds a new token."""
        self.written += 1
        self.token = f"t{self.written}x"
        filler = [f"line {self.random.randrange(1000)} of nothing" for _ in range(lines or self.random.randrange(6))]
        filler.insert(self.random.randrange(len(filler) + 1), f"here {self.token} stands")
        return "\n".join(filler) + "\n"

    def folders(self) -> list[Path]:
        """Return the folders below the root, itself first."""
        return [Path(folder) for folder, _, _ in os.walk(self.root)]

    def files(self) -> list[Path]:
        """Return the files below the root, ignore files left out."""
        return [
            Path(folder) / name
            for folder, _, names in os.walk(self.root)
            for name in names
            if name in NAMES or name.startswith("burst")
        ]

    def _file(self) -> Path:
        files = self.files()
        return self.random.choice(files) if files else self.create()

    def _folder(self) -> Path:
        folders = [folder for folder in self.folders() if len(folder.parts) - len(self.root.parts) < 5]
        return self.random.choice(folders)

    def _inner_folder(self) -> Path:
        folders = self.folders()[1:]
        return self.random.choice(folders) if folders else self.make_folder()

    def _free(self, folder: Path, names: tuple[str, ...]) -> Path:
        wanted = folder / self.random.choice(names)
        if wanted.is_dir() and not wanted.is_symlink():
            shutil.rmtree(wanted)
        elif wanted.exists():
            wanted.unlink()
        return wanted

    # one operation each

    def create(self) -> Path:
        folder = self._folder()
        if self.random.random() < 0.3:
            folder /= self.random.choice(FOLDERS)
            if folder.is_file():
                folder.unlink()
            folder.mkdir(exist_ok=True)
        path = self._free(folder, NAMES)
        path.write_text(self.text())
        return path

    def overwrite(self) -> None:
        self._file().write_text(self.text())

    def append(self) -> None:
        with self._file().open("a") as file:
            file.write(self.text())

    def truncate(self) -> None:
        path = self._file()
        os.truncate(path, path.stat().st_size // 2)

    def delete(self) -> None:
        self._file().unlink()

    def delete_folder(self) -> None:
        shutil.rmtree(self._inner_folder())

    def make_folder(self) -> Path:
        path = self._free(self._folder(), FOLDERS)
        path.mkdir()
        return path

    def rename_file(self) -> None:
        path = self._file()
        target = path.with_name(self.random.choice(NAMES))
        if not target.is_dir():
            path.rename(target)

    def move_file(self) -> None:
        path = self._file()
        target = self._folder() / path.name
        if not target.is_dir():
            path.rename(target)

    def rename_folder(self) -> None:
        path = self._inner_folder()
        target = path.with_name(self.random.choice(FOLDERS))
        if target != path:
            if target.exists():
                shutil.rmtree(target) if target.is_dir() else target.unlink()
            path.rename(target)

    def move_folder(self) -> None:
        path, target = self._inner_folder(), self._folder()
        if path in (target, *target.parents) or (target / path.name).exists():
            return
        path.rename(target / path.name)

    def move_out(self) -> None:
        self.moved += 1
        self._inner_folder().rename(self.elsewhere / f"folder{self.moved}")

    def move_file_out(self) -> None:
        self.moved += 1
        self._file().rename(self.elsewhere / f"file{self.moved}")

    def move_in(self) -> None:
        found = [path for path in self.elsewhere.iterdir() if path.is_dir()]
        if found:
            target = self._free(self._folder(), FOLDERS)
            moved = self.random.choice(found)
            moved.rename(target)
            (target / self.random.choice(NAMES[:3])).write_text(self.text())

    def move_in_file(self) -> None:
        outside = self.elsewhere / "coming"
        outside.write_text(self.text())
        outside.rename(self._free(self._folder(), NAMES))

    def exchange_folders(self) -> None:
        one, other = self._inner_folder(), self._inner_folder()
        if one == other or one in other.parents or other in one.parents:
            return
        aside = self.elsewhere / "aside"
        one.rename(aside)
        other.rename(one)
        aside.rename(other)

    def move_and_write(self) -> None:
        """Move a folder and write into it at once, under its new name."""
        path = self._inner_folder()
        target = path.with_name("here" if path.name == "there" else "there")
        if target.exists():
            shutil.rmtree(target)
        path.rename(target)
        (target / "one.txt").write_text(self.text())

    def out_and_again(self) -> None:
        """Move a folder out, make it again under its name, and write to both."""
        self.moved += 1
        path, outside = self._inner_folder(), self.elsewhere / f"folder{self.moved}"
        path.rename(outside)
        path.mkdir()
        (path / "two.py").write_text(self.text())
        (outside / "ghost.txt").write_text("here t0x stands\n")

    def save_atomically(self) -> None:
        path = self._file()
        aside = path.with_name(".saving")
        aside.write_text(self.text())
        aside.replace(path)

    def change_mode(self) -> None:
        path = self._file()
        path.chmod(0o600 if path.stat().st_mode & 0o040 else 0o644)

    def rewrite_unseen(self) -> None:
        """Write other bytes of the same length, and put the time of the last change back."""
        path = self._file()
        before = path.stat()
        content = path.read_bytes()
        if content:
            at = self.random.randrange(len(content))
            changed = bytes([content[at] ^ 1 or 65])
            path.write_bytes(content[:at] + changed + content[at + 1 :])
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def ignore(self) -> None:
        path = self._folder() / ".ignore"
        names = self.random.sample(IGNORABLE, self.random.randrange(len(IGNORABLE)))
        path.write_text("".join(f"{name}\n" for name in names))

    def stop_ignoring(self) -> None:
        for folder in self.folders():
            (folder / ".ignore").unlink(missing_ok=True)

    def map_and_write(self) -> None:
        path = self._file()
        self.text()
        content = path.read_bytes()
        if len(content) > len(self.token):
            with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
                mapped[: len(self.token)] = self.token.encode()

    def write_through_link(self) -> None:
        """Give a file a second name in another folder, which no rule leaves out, and write to it by that one."""
        path, folder = self._file(), self._folder()
        if set(folder.relative_to(self.root).parts) & set(IGNORABLE):
            return
        link = self._free(folder, NAMES[:3])
        if path.exists():
            os.link(path, link)
            with link.open("a") as file:
                file.write(self.text())

    def write_through_links_of_old(self) -> None:
        """Write to a file that has two names, if there is one."""
        for path in self.files():
            if path.stat().st_nlink > 1:
                with path.open("r+") as file:
                    file.write(self.text(1))
                return

    def rename_above(self) -> None:
        """Rename the folder around the root, write, and rename it back."""
        aside = self.above.with_name("aside-above")
        self.above.rename(aside)
        path = aside / "root" / "one.txt"
        if not path.is_dir():
            path.write_text(self.text())
        aside.rename(self.above)

    def burst(self, files: int = 100) -> None:
        """Make many files in a new folder, and leave the last of them."""
        self.moved += 1
        folder = self._folder() / f"many{self.moved}"
        folder.mkdir()
        for at in range(files):
            (folder / f"burst{at}.txt").write_text(self.text(1))
        for at in range(files - 5):
            (folder / f"burst{at}.txt").unlink()

    @property
    def operations(self) -> dict[str, Callable[[], object]]:
        """Every operation by its name."""
        one_by_one = (
            *(self.create, self.create, self.overwrite, self.append, self.truncate, self.delete, self.delete_folder),
            *(self.make_folder, self.rename_file, self.move_file, self.rename_folder, self.move_folder, self.move_out),
            *(self.move_file_out, self.move_in, self.move_in_file, self.exchange_folders, self.move_and_write),
            *(self.out_and_again, self.save_atomically, self.change_mode, self.rewrite_unseen, self.ignore),
            *(self.stop_ignoring, self.map_and_write, self.write_through_link, self.write_through_links_of_old),
            *(self.rename_above, self.burst),
        )
        return {operation.__name__: operation for operation in one_by_one}


def holding(root: Path, word: str) -> dict[bytes, list[int]]:
    """Return the files that hold `word` and in which lines, by reading all that no `.ignore` names."""
    found: dict[bytes, list[int]] = {}
    needle = word.encode()
    waiting: list[tuple[bytes, frozenset[bytes]]] = [(b"", frozenset())]
    top = os.fsencode(root)
    while waiting:
        folder, ignored = waiting.pop()
        with os.scandir(os.path.join(top, folder) if folder else top) as entries:
            listed = {os.fsencode(entry.name): entry.is_dir(follow_symlinks=False) for entry in entries}
        if listed.get(b".ignore") is False:
            ignored |= frozenset(Path(os.fsdecode(os.path.join(top, folder, b".ignore"))).read_bytes().split())
        for name, is_folder in listed.items():
            path = folder + b"/" + name if folder else name
            if name in ignored:
                continue
            if is_folder:
                waiting.append((path, ignored))
                continue
            content = Path(os.fsdecode(os.path.join(top, path))).read_bytes()
            if needle in content:
                found[path] = [at for at, line in enumerate(content.split(b"\n"), 1) if needle in line]
    return found
