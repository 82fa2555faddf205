"""Which note a link means."""

import posixpath
from collections.abc import Callable, Iterable
from functools import lru_cache

from memoria.model import Source
from memoria.text import fold, link_name


def names_of(source: Source) -> set[str]:
    """Return the names under which a link finds a source: its file, its title, its aliases."""
    return {link_name(source.relpath), *(_plain(name) for name in (source.title, *source.aliases))}


@lru_cache(maxsize=8_192)
def names_asked(target: str) -> frozenset[str]:
    """Return the names that a link asks for: no other source can be what it means."""
    return frozenset((link_name(target), _plain(target)))


class Resolver:
    """Finds the note that a link means: by path, file name, title or alias; of several, the nearest."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {source.id: source for source in sources}
        self._by_name: dict[str, set[int]] = {}
        for source in self._sources.values():
            for name in names_of(source):
                self._by_name.setdefault(name, set()).add(source.id)

    def resolve(self, target: str, origin: Source) -> Source | None:
        """Return the note that `target`, written in `origin`, means; None if there is none (yet)."""
        path = _path(target)
        candidates = [
            self._sources[number]
            for number in {number for name in names_asked(target) for number in self._by_name.get(name, ())}
        ]
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(_path(origin.relpath)), path))
        readings: tuple[Callable[[Source], bool], ...] = (
            lambda source: source.root == origin.root and _path(source.relpath) == beside,
            lambda source: source.root == origin.root and _path(source.relpath) == path,
            lambda source: ("/" + _path(source.relpath)).endswith("/" + path),
            lambda source: _plain(target) == _plain(source.title),
            lambda source: _plain(target) in map(_plain, source.aliases),
        )
        for reading in readings:
            found = [source for source in candidates if reading(source)]
            if found:
                return min(found, key=lambda source: _distance(source, origin))
        return None


@lru_cache(maxsize=8_192)
def _plain(name: str) -> str:
    return " ".join(fold(name).split())


@lru_cache(maxsize=8_192)
def _path(target: str) -> str:
    """Return a link's path, comparable: folded, without ending, without a leading slash."""
    folded = _plain(target).replace("\\", "/").lstrip("/")
    for ending in (".md", ".markdown", ".txt"):
        folded = folded.removesuffix(ending)
    return folded


def _distance(source: Source, origin: Source) -> tuple[bool, int, int, str]:
    theirs, ours = source.relpath.split("/")[:-1], origin.relpath.split("/")[:-1]
    shared = 0
    for one, other in zip(theirs, ours, strict=False):
        if one != other:
            break
        shared += 1
    return source.root != origin.root, len(theirs) + len(ours) - 2 * shared, len(theirs), source.path
