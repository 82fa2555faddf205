"""From what a person or a link writes to what the store knows."""

import os
from typing import NamedTuple

from memoria.errors import AmbiguousError, NotFoundError
from memoria.model import Source
from memoria.store import Store
from memoria.text import fold, link_name

MIN_PREFIX = 4  # digits of a key that are taken for one
_ALIKE = 0.85
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
    names = [found for _, found, source in near if source] or _alike(store, name)
    told = ", ".join(dict.fromkeys(f"{found!r}" for found in names))
    return f"did you mean {told}?" if told else "memoria sources lists what is known"


def _alike(store: Store, name: str) -> list[str]:
    """Return up to three titles, aliases and entities that are written much like a name."""
    from rapidfuzz import process
    from rapidfuzz.distance import JaroWinkler

    from memoria.store.dreams import DreamStore

    known = dict.fromkeys([title for _, title, _ in store.titles()])
    known |= dict.fromkeys(entity.name for entity, _ in DreamStore(store).entities())
    near = process.extract(
        fold(name), known, scorer=JaroWinkler.similarity, processor=fold, score_cutoff=_ALIKE, limit=3
    )
    return [found for found, _, _ in near]
