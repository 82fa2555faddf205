"""From what a person or a link writes to what the store knows."""

import os
import posixpath
from collections.abc import Callable, Iterable
from typing import NamedTuple

from memoria.errors import AmbiguousError, NotFoundError
from memoria.model import Source
from memoria.store import Store
from memoria.text import fold, link_name

MIN_PREFIX = 4  # digits of a key that are taken for one
_HEX = frozenset("0123456789abcdef")


class Named(NamedTuple):
    """What a name stands for: an atom, or sources."""

    atom: int | None = None
    sources: tuple[Source, ...] = ()


def find(store: Store, name: str) -> Named:
    """Return the atom or sources that a key, a key's beginning, a path, a file name, a title or an alias names.

    Raises:
        NotFoundError: nothing is called so.
        AmbiguousError: the beginning of several keys.

    """
    prefix = name.lower()
    if MIN_PREFIX <= len(prefix) <= 12 and _HEX.issuperset(prefix):  # noqa: PLR2004
        keys = store.keys_with_prefix(prefix)
        if len(keys) > 1:
            raise AmbiguousError(name, [describe_atom(store, key, atom) for key, atom in keys])
        if keys:
            return Named(atom=keys[0][1])
    sources = find_sources(store, name)
    if sources:
        return Named(sources=tuple(sources))
    raise NotFoundError(f"nothing is called {name!r}", hint=_suggestion(store, name))


def find_sources(store: Store, name: str) -> list[Source]:
    """Return the sources that a path, a folder, a file name, a title or an alias names; the surest reading wins."""
    path = os.path.abspath(name)
    direct = store.source_ids([path, name])
    if direct:
        return list(store.show((), direct.values()).sources.values())
    sources = store.sources()
    relpath = name.removeprefix("./")
    folded = fold(" ".join(name.split()))
    readings = (
        lambda source: source.path.startswith(path + os.sep) or source.relpath.startswith(relpath.rstrip("/") + "/"),
        lambda source: source.relpath == relpath,
        lambda source: os.path.basename(source.path) == name,
        lambda source: folded in (fold(source.title), *map(fold, source.aliases)),
        lambda source: link_name(source.path) == link_name(name),
    )
    for reading in readings:
        found = [source for source in sources if reading(source)]
        if found:
            return found
    return []


def describe_atom(store: Store, key: str, atom: int) -> str:
    """Return an atom on one line."""
    shown = store.show([atom])
    text = " ".join(shown.atoms[atom].text.split())
    source = next(iter(shown.sources.values()))
    return f"{key}  {source.title}: {text[:60]}{'…' if len(text) > 60 else ''}"  # noqa: PLR2004


def _suggestion(store: Store, name: str) -> str:
    near = store.find_names(name, most=3, prefix=True)
    names = ", ".join(dict.fromkeys(f"{found!r}" for _, found, source in near if source))
    return f"did you mean {names}?" if names else "memoria sources lists what is known"


class Resolver:
    """Finds the note that a link means: by path, file name, title or alias; of several, the nearest."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._sources = {source.id: source for source in sources}
        self._by_name: dict[str, set[int]] = {}
        for source in self._sources.values():
            names = {link_name(source.relpath), *(_plain(name) for name in (source.title, *source.aliases))}
            for name in names:
                self._by_name.setdefault(name, set()).add(source.id)

    def resolve(self, target: str, origin: Source) -> Source | None:
        """Return the note that `target`, written in `origin`, means; None if there is none (yet)."""
        path = _path(target)
        candidates = [
            self._sources[number]
            for number in self._by_name.get(link_name(target), set()) | self._by_name.get(_plain(target), set())
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


def _plain(name: str) -> str:
    return " ".join(fold(name).split())


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
