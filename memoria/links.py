"""From a link, as it is written, to the note that it means."""

import posixpath
from collections.abc import Iterable
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from memoria.text import fold, link_name


class Placed(Protocol):
    """A source, as far as links are compared with it."""

    @property
    def id(self) -> int: ...  # noqa: D102
    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def root(self) -> str: ...  # noqa: D102
    @property
    def relpath(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def aliases(self) -> tuple[str, ...]: ...  # noqa: D102


S = TypeVar("S", bound=Placed)


def names_of(source: Placed) -> set[str]:
    """Return the names under which a link finds a source: its file, its title, its aliases."""
    return {link_name(source.relpath), *(_plain(name) for name in (source.title, *source.aliases))}


@lru_cache(maxsize=8_192)
def names_asked(target: str) -> frozenset[str]:
    """Return the names that a link asks for: no other source can be what it means."""
    return frozenset((link_name(target), _plain(target)))


class Resolver(Generic[S]):
    """Finds the note that a link means: by path, file name, title or alias; of several, the nearest.

    What a link means depends on its target and on the folder it is written in: each such pair is looked for once.
    """

    def __init__(self, sources: Iterable[S]) -> None:
        self._at: dict[tuple[str, str], _Namesakes[S]] = {}
        self._files: dict[str, list[tuple[str, S]]] = {}
        self._titles: dict[str, _Namesakes[S]] = {}
        self._aliases: dict[str, _Namesakes[S]] = {}
        self._endings: dict[str, _Namesakes[S]] = {}
        self._found: dict[tuple[str, str, str], S | None] = {}
        for source in sources:
            path = _path(source.relpath)
            self._at.setdefault((source.root, path), _Namesakes()).add(source)
            self._files.setdefault(path.rsplit("/", 1)[-1], []).append((path, source))
            self._titles.setdefault(_plain(source.title), _Namesakes()).add(source)
            for alias in source.aliases:
                self._aliases.setdefault(_plain(alias), _Namesakes()).add(source)

    def resolve(self, target: str, origin: Placed) -> S | None:
        """Return the note that `target`, written in `origin`, means; None if there is none (yet)."""
        asked = (target, origin.root, posixpath.dirname(origin.relpath))
        if asked not in self._found:
            self._found[asked] = self._look(target, origin)
        return self._found[asked]

    def _look(self, target: str, origin: Placed) -> S | None:
        path = _path(target)
        if path.rsplit("/", 1)[-1] in ("", ".", ".."):  # a folder
            return None
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(_path(origin.relpath)), path))
        for namesakes in (
            self._at.get((origin.root, beside)),
            self._at.get((origin.root, path)),
            self._ending(path),
            self._titles.get(_plain(target)),
            self._aliases.get(_plain(target)),
        ):
            if namesakes:
                return namesakes.nearest(origin)
        return None

    def _ending(self, path: str) -> "_Namesakes[S] | None":
        """Return the sources whose path ends so."""
        if path not in self._endings:
            found = _Namesakes[S]()
            for whole, source in self._files.get(path.rsplit("/", 1)[-1], ()) if path else ():
                if ("/" + whole).endswith("/" + path):
                    found.add(source)
            self._endings[path] = found
        return self._endings[path]


class _Namesakes(Generic[S]):
    """Sources of one name. For every folder above one of them it knows the one that is the least deep in it."""

    __slots__ = ("_best", "_sources")

    def __init__(self) -> None:
        self._sources: list[S] = []
        self._best: dict[tuple[str | None, tuple[str, ...]], tuple[int, str, S]] = {}

    def __bool__(self) -> bool:
        return bool(self._sources)

    def add(self, source: S) -> None:
        """Note one more."""
        self._sources.append(source)

    def nearest(self, origin: Placed) -> S:
        """Return the one with the fewest folders between it and `origin`, in the same root if there is one."""
        if len(self._sources) == 1:
            return self._sources[0]
        if not self._best:
            for source in self._sources:
                folders = tuple(source.relpath.split("/")[:-1])
                entry = (len(folders), source.path, source)
                for of_root in (source.root, None):
                    for depth in range(len(folders) + 1):
                        place = (of_root, folders[:depth])
                        known = self._best.get(place)
                        if known is None or entry[:2] < known[:2]:
                            self._best[place] = entry
        ours = tuple(origin.relpath.split("/")[:-1])
        root = origin.root if (origin.root, ()) in self._best else None
        found = (
            (near[0] - 2 * depth, *near)
            for depth in range(len(ours) + 1)
            if (near := self._best.get((root, ours[:depth])))
        )
        return min(found, key=lambda near: near[:3])[3]


def _plain(name: str) -> str:
    return " ".join(fold(name).split())


def _path(target: str) -> str:
    """Return a link's path, comparable: folded, without ending, without a leading slash."""
    folded = _plain(target).replace("\\", "/").lstrip("/")
    for ending in (".md", ".markdown", ".txt"):
        if folded.endswith(ending):
            return folded[: -len(ending)]
    return folded
