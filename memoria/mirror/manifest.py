"""What the mirror holds: the marker file in its folder, by which a sync knows what changed without reading the rest.

Line 1 is a JSON header, then a line for each source, then one for each file. While files are written, lines that begin
with `+` are added first: whoever is killed leaves word of what is his.
"""

import json
import os
import re
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

from memoria.config import MIRROR_MARKER as MARKER
from memoria.mirror.names import bundle_name, folder_of, page_name
from memoria.mirror.page import Labels

FORMAT = 1
_ABOUT = "memoria made this folder from notes and writes it anew when they change; what is edited here is not kept"
_MOST_PAIRED = 16  # tags of one atom that count as pairs


class Entry(NamedTuple):
    """A source in the mirror."""

    fingerprint: str
    names: frozenset[str]  # by which links find it
    asked: frozenset[str]  # names that its own links ask for
    title: str
    date: str | None
    seed: str  # what stands for it in the names of its bundles
    buckets: tuple[str, ...]
    sets: tuple[tuple[int, Labels], ...]  # combinations of tags, and how many atoms have each
    pages: tuple[tuple[str, int], ...] = ()  # of the tags whose bundles have more than one

    @property
    def atoms(self) -> int:
        """How many atoms it has."""
        return sum(count for count, _ in self.sets)

    def placed(self) -> dict[str, int]:
        """Return the tags that it has bundles under, with counts of atoms."""
        found: dict[str, int] = {}
        for count, labels in self.sets:
            for tag in labels.placed:
                found[tag] = found.get(tag, 0) + count
        return found

    def dreamed(self) -> dict[str, int]:
        """Return the dream tags of atoms that stand under people's tags, with counts of atoms."""
        found: dict[str, int] = {}
        for count, labels in self.sets:
            for tag in labels.dream if labels.human else ():
                found[tag] = found.get(tag, 0) + count
        return found

    def bundle(self, bucket: str = "", tag: str = "") -> str:
        """Return the name of a bundle, the main one if none is named; "" where it has none."""
        if not self.sets:
            return ""
        return bundle_name(self.title, self.seed, bucket or self.buckets[0], tag or min(self.placed()))

    def files(self) -> list[str]:
        """Return the paths of its pages."""
        pages = dict(self.pages)
        return [
            f"{folder_of(bucket, tag)}/{page_name(self.bundle(bucket, tag), page)}.md"
            for tag in self.placed()
            for bucket in self.buckets
            for page in range(1, pages.get(tag, 1) + 1)
        ]

    @property
    def shown(self) -> tuple[Any, ...]:
        """What other pages say of it."""
        return self.title, self.date, self.seed, self.buckets, self.sets

    def line(self, number: int) -> str:
        """Return its line."""
        rest = [self.title, self.date, self.seed, self.buckets, self.sets, self.pages]
        names, asked = ("\x1f".join(sorted(some)) for some in (self.names, self.asked))
        return f"{number}\t{self.fingerprint}\t{names}\t{asked}\t{json.dumps(rest, ensure_ascii=False)}"

    @classmethod
    def read(cls, line: str) -> "Entry":
        """Return what a line says."""
        _, fingerprint, names, asked, rest = line.split("\t", 4)
        title, date, seed, buckets, sets, pages = json.loads(rest)
        return cls(
            fingerprint,
            frozenset(names.split("\x1f")),
            frozenset(asked.split("\x1f")) if asked else frozenset(),
            title,
            date,
            seed,
            tuple(buckets),
            tuple((count, Labels(tuple(human), tuple(dream))) for count, (human, dream) in sets),
            tuple((tag, count) for tag, count in pages),
        )


class Totals:
    """How many notes and atoms each bucket and tag has, and which notes."""

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        stored = stored or {}
        self.buckets: dict[str, list[Any]] = stored.get("buckets", {})  # [atoms, sources]
        self.tags: dict[str, list[Any]] = stored.get("tags", {})  # [atoms, sources, sources by dream tag alone]
        self.groups: dict[str, dict[str, list[int]]] = stored.get("groups", {})  # bucket -> tag -> [notes, atoms]
        self.pairs: dict[str, dict[str, int]] = stored.get("pairs", {})  # tag -> tag -> atoms, both ways
        self.notes: int = stored.get("notes", 0)
        self.atoms: int = stored.get("atoms", 0)

    def stored(self) -> dict[str, Any]:
        """Return what is kept."""
        return vars(self)

    def count(self, number: int, entry: Entry, sign: int) -> set[tuple[str, str]]:
        """Add a source, or with -1 take it away; return (kind, name) of the labels that it has."""
        atoms, placed, dreamed = entry.atoms, entry.placed(), entry.dreamed()
        if not atoms:
            return set()
        self.notes += sign
        self.atoms += sign * atoms
        for bucket in entry.buckets:
            _count(self.buckets, bucket, sign, atoms, {1: number}, [0, []])
            group = self.groups.setdefault(bucket, {})
            for tag, some in placed.items():
                cell = group.setdefault(tag, [0, 0])
                cell[0] += sign
                cell[1] += sign * some
                if not cell[0]:
                    del group[tag]
            if not group:
                del self.groups[bucket]
        for tag, some in placed.items():
            _count(self.tags, tag, sign, some, {1: number}, [0, [], []])
        for tag in dreamed:
            _count(self.tags, tag, sign, 0, {2: number}, [0, [], []])
        for some, labels in entry.sets:
            for one, other in combinations(labels.placed[:_MOST_PAIRED], 2):
                self._pair(one, other, sign * some)
                self._pair(other, one, sign * some)
        return {("bucket", name) for name in entry.buckets} | {("tag", name) for name in (*placed, *dreamed)}

    def _pair(self, one: str, other: str, atoms: int) -> None:
        row = self.pairs.setdefault(one, {})
        row[other] = row.get(other, 0) + atoms
        if not row[other]:
            del row[other]
            if not row:
                del self.pairs[one]


def _count(
    table: dict[str, list[Any]], name: str, sign: int, atoms: int, members: dict[int, int], empty: list[Any]
) -> None:
    row = table.setdefault(name, empty)
    row[0] += sign * atoms
    for place, number in members.items():
        if sign > 0:
            insort(row[place], number)
        else:
            del row[place][bisect_left(row[place], number)]
    if not any(row[1:]):
        del table[name]


class Manifest:
    """The marker file, read."""

    def __init__(self) -> None:
        self.settings = ""
        self.generation = -1
        self.totals = Totals()
        self.newest: list[int] = []
        self.extra: dict[str, str] = {}  # path -> hash of the pages that others wrote
        self.lines: dict[int, str] = {}
        self.files: dict[str, str] = {}  # path -> "size mtime hash"
        self.begun: dict[str, set[str]] = {}  # path -> hashes that a sync that did not end may have given it

    @classmethod
    def read(cls, folder: str) -> "Manifest":
        """Read the marker; one that can't be understood says that nothing is known."""
        found = cls()
        try:
            with open(os.path.join(folder, MARKER), encoding="utf-8", newline="\n") as file:
                lines = file.read().split("\n")
            header = json.loads(lines[0])
            if header["format"] != FORMAT:
                return found
            sources, files = header["sources"], header["files"]
            found.lines = {int(line[: line.index("\t")]): line for line in lines[1 : 1 + sources]}
            found.files = dict(line.split("\t", 1) for line in lines[1 + sources : 1 + sources + files])
            for line in lines[1 + sources + files :]:
                if line.startswith("+") and "\t" in line:
                    path, mark = line[1:].rsplit("\t", 1)
                    found.begun.setdefault(path, set()).add(mark)
            found.totals = Totals(header["totals"])
            found.newest, found.extra = header["newest"], header["extra"]
            found.settings, found.generation = header["settings"], header["generation"]
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return cls()
        return found

    def text(self) -> Iterator[str]:
        """Yield the marker's contents, a line at a time."""
        header = {
            "about": _ABOUT,
            "format": FORMAT,
            "generation": self.generation,
            "settings": self.settings,
            "sources": len(self.lines),
            "files": len(self.files),
            "newest": self.newest,
            "extra": self.extra,
            "totals": self.totals.stored(),
        }
        yield json.dumps(header, ensure_ascii=False, separators=(",", ":")) + "\n"
        yield from (f"{line}\n" for line in self.lines.values())
        yield from (f"{path}\t{mark}\n" for path, mark in self.files.items())

    def entry(self, number: int) -> Entry:
        """Return a source."""
        return Entry.read(self.lines[number])

    def linking(self, names: set[str]) -> set[int]:
        """Return the sources with a link that asks for one of these names."""
        found = set()
        for number, line in self.lines.items():
            asked = line.split("\t", 4)[3]
            if asked and not names.isdisjoint(asked.split("\x1f")):
                found.add(number)
        return found

    def owners(self, paths: set[str]) -> dict[str, int]:
        """Return the sources that these files belong to."""
        found: dict[str, int] = {}
        for number in self.lines:
            found.update((path, number) for path in self.entry(number).files() if path in paths)
        return found

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """The sources by the names that links find them by."""
        found: dict[str, list[int]] = {}
        for number, line in self.lines.items():
            for name in line.split("\t", 3)[2].split("\x1f"):
                found.setdefault(name, []).append(number)
        return found


def generation_in(folder: str) -> int | None:
    """Return the store's generation at the last sync, without reading the rest."""
    try:
        with open(os.path.join(folder, MARKER), "rb") as file:
            found = re.search(rb'"generation":(\d+)', file.read(1_000))
    except OSError:
        return None
    return int(found[1]) if found else None


def marks(lines: Iterable[tuple[str, str]]) -> str:
    """Return (path, hash) of files that are about to be written, as the marker keeps them."""
    return "".join(f"+{path}\t{mark}\n" for path, mark in lines)
