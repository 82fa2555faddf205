"""The mirror's files: always whole, never over something that a person wrote."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b

from memoria.config import MIRROR_MARKER as MARKER
from memoria.errors import MirrorError
from memoria.mirror.manifest import Manifest, marks
from memoria.mirror.place import OWN_FILES

_DRAFT = MARKER + ".new"
_BLOCK_BYTES = 4_000_000  # that are announced, and then written, together

Page = tuple[str, bytes]


def hash_of(data: bytes) -> str:
    """Return the hash by which a file is known."""
    return blake2b(data, digest_size=8).hexdigest()


class Disk:
    """The folder of a mirror, as the manifest knows it."""

    def __init__(self, folder: str, manifest: Manifest) -> None:
        self._folder = folder
        self._files = manifest.files
        self._made: set[str] = set()
        self.edited: set[str] = set()
        self.lost: set[str] = set()
        self.saved: list[str] = []
        self.written = 0
        self.removed = 0
        self.kept = 0
        self.changed = False  # anything that the manifest has to keep
        self._marker = -1
        self._orphans = set(manifest.begun) - manifest.files.keys()
        for place in {path.rpartition("/")[0] for path in manifest.begun}:
            with suppress(OSError):
                os.remove(self._draft(place))
        for path, hashes in manifest.begun.items():
            known = self._files.get(path)
            self._files[path] = " ".join(["-", "-", *([known.split(" ", 2)[2]] if known else []), *sorted(hashes)])

    def _full(self, path: str) -> str:
        return f"{self._folder}/{path}"

    def _draft(self, place: str) -> str:
        """Return where a file is written before it is whole: in its own folder, near which its blocks then lie."""
        return f"{self._folder}/{place}/{_DRAFT}" if place else f"{self._folder}/{_DRAFT}"

    def look(self) -> None:
        """Find out which files are lost, and which a person edited."""
        stat, prefix = os.lstat, self._folder + "/"  # this runs for every file of the mirror, on every sync
        for path, mark in list(self._files.items()):
            try:
                status = stat(prefix + path)
            except OSError:
                self.lost.add(path)
                continue
            if not mark.startswith(f"{status.st_size} {status.st_mtime_ns} "):
                self._compare(path, mark, status)

    def _compare(self, path: str, mark: str, status: os.stat_result) -> None:
        """Look into a file that is not as it was left."""
        self.changed = True
        try:
            with open(self._full(path), "rb") as file:
                data = file.read()
        except OSError:  # a folder, say
            self.edited.add(path)
            return
        digest = hash_of(data)
        if not data:
            self.lost.add(path)  # the machine went down before its contents were on the disk
        elif digest in mark.split(" ")[2:]:
            self._files[path] = f"{status.st_size} {status.st_mtime_ns} {digest}"
        else:
            self.edited.add(path)

    def put(self, pages: Iterable[Page]) -> list[str]:
        """Write what is not there yet; return all the pages' paths."""
        paths: list[str] = []
        block: list[tuple[str, bytes, str]] = []
        size = 0
        for path, data in pages:
            paths.append(path)
            self._orphans.discard(path)
            digest = hash_of(data)
            mark = self._files.get(path, "")
            if mark.endswith(digest) and mark.count(" ") == 2 and path not in self.lost and path not in self.edited:  # noqa: PLR2004
                self.kept += 1
                continue
            block.append((path, data, digest))
            size += len(data)
            if size > _BLOCK_BYTES:
                self._write(block)
                block, size = [], 0
        self._write(block)
        return paths

    def _write(self, block: list[tuple[str, bytes, str]]) -> None:
        if not block:
            return
        self.changed = True
        self._announce(marks((path, digest) for path, _, digest in block))
        for path, data, digest in block:
            full = self._full(path)
            place = path.rpartition("/")[0]
            self._make_folder(place)
            if path in self.edited or (path not in self._files and not self._holds(full, digest)):
                self._set_aside(path)
            draft = self._draft(place)
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            try:
                written = os.write(fd, data)
                while written < len(data):
                    written += os.write(fd, data[written:])
                modified = os.fstat(fd).st_mtime_ns
            finally:
                os.close(fd)
            os.replace(draft, full)
            self._files[path] = f"{len(data)} {modified} {digest}"
            self.lost.discard(path)
            self.edited.discard(path)
            self.written += 1

    def _announce(self, text: str) -> None:
        """Add to the marker what is about to be written."""
        if self._marker < 0:
            self._marker = os.open(os.path.join(self._folder, MARKER), os.O_WRONLY | os.O_APPEND)
        data = text.encode()
        while data:
            data = data[os.write(self._marker, data) :]

    def close(self) -> None:
        """Let go of the marker."""
        if self._marker >= 0:
            os.close(self._marker)
            self._marker = -1

    @staticmethod
    def _holds(full: str, digest: str) -> bool:
        """Tell whether nothing is lost where a file is written over: there is none, or it is the same."""
        try:
            with open(full, "rb") as file:
                return hash_of(file.read()) == digest
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def _make_folder(self, folder: str) -> None:
        if not folder or folder in self._made:
            return
        self._make_folder(folder.rpartition("/")[0])
        full = self._full(folder)
        try:
            os.mkdir(full)
        except FileExistsError:
            if os.path.islink(full):
                raise MirrorError(
                    f"{full} is a symbolic link, and leads out of the mirror", hint="remove it, then run memoria mirror"
                ) from None
            if not os.path.isdir(full):
                self._set_aside(folder)
                os.mkdir(full)
        self._made.add(folder)

    def _set_aside(self, path: str) -> None:
        """Keep what a person made: beside its place, under a name that is free."""
        full = self._full(path)
        target, number = f"{full}.bak", 1
        while os.path.lexists(target):
            number += 1
            target = f"{full}.{number}.bak"
        with suppress(FileNotFoundError):
            os.rename(full, target)
            self.saved.append(target)

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files, and the folders that are empty then."""
        folders: set[str] = set()
        for path in paths:
            if path not in self._files:
                continue
            self.changed = True
            if path in self.edited:
                self._set_aside(path)
            else:
                with suppress(FileNotFoundError):
                    os.remove(self._full(path))
            del self._files[path]
            self.lost.discard(path)
            self.edited.discard(path)
            self.removed += 1
            folders.add(path.rpartition("/")[0])
        for folder in sorted(folders, reverse=True):
            self._remove_empty(folder)

    def _remove_empty(self, folder: str) -> None:
        """Remove a folder and those above it, as far as they are empty."""
        while folder:
            try:
                os.rmdir(self._full(folder))
            except OSError:
                return
            self._made.discard(folder)
            folder = folder.rpartition("/")[0]

    def remove_orphans(self) -> None:
        """Remove what a sync that did not end wrote, and nobody has claimed since."""
        self.remove(sorted(self._orphans))

    def foreign(self) -> list[str]:
        """Return the files that memoria did not put here. Hidden ones are their owner's business."""
        return sorted(path for path in self._walk("") if path not in self._files)

    def clean(self, paths: Iterable[str]) -> None:
        """Remove files that memoria did not put here."""
        for path in paths:
            os.remove(self._full(path))
            self._files[path] = ""
            self.remove([path])
            self.removed -= 1

    def _walk(self, folder: str) -> Iterator[str]:
        with os.scandir(self._full(folder)) as listing:
            for found in listing:
                path = f"{folder}/{found.name}" if folder else found.name
                if found.name.startswith(".") or path in OWN_FILES:
                    continue
                if found.is_dir(follow_symlinks=False):
                    yield from self._walk(path)
                else:
                    yield path

    def wipe(self) -> None:
        """Remove everything that is ours."""
        self.remove(list(self._files))

    def save(self, manifest: Manifest) -> None:
        """Write the marker."""
        self.close()
        draft = self._draft("")
        with open(draft, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(manifest.text())
        os.replace(draft, os.path.join(self._folder, MARKER))
