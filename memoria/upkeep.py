"""Checking a brain, and mending what can be derived again from the atoms."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from memoria.errors import StoreDamagedError, StoreError
from memoria.graph.settle import settle
from memoria.ingest.note import Surroundings, indexed
from memoria.ingest.prepare import words_of
from memoria.links import Resolver
from memoria.model import Field, Source, source_node, source_of
from memoria.store import Store
from memoria.store.packing import unpack_ids
from memoria.store.segment import Entry, SegmentWriter
from memoria.store.writer import StoreWriter
from memoria.text import fold

Progress = Callable[[int, int, str], None]
_MASK = (1 << 64) - 1
_PAGE = 200  # sources that are looked at together


class Finding(NamedTuple):
    """Something that a check found."""

    severity: str  # damage | advice
    text: str


def check_file(path: str) -> list[Finding]:
    """Let SQLite check its own file."""
    import sqlite3

    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            rows = connection.execute("pragma quick_check(5)").fetchall()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:  # no permission, no room: says nothing about the file
        raise StoreError(f"{path} can't be checked ({error})", hint="check its permissions, and the disk") from error
    except sqlite3.DatabaseError as error:
        raise StoreDamagedError(path, str(error)) from error
    return [Finding("damage", f"the store's file: {row[0]}") for row in rows if row[0] != "ok"]


def check_store(store: Store, progress: Progress | None = None) -> Iterator[Finding]:
    """Compare everything that is kept twice, and the text index with the atoms."""
    yield from (Finding("damage", f"{count:,} {what}") for what, count in store.disagreements() if count)
    meta = store.meta()
    sources = store.sources()
    expected, atoms = _digest_of_atoms(store, sources, progress)
    placed = sum(source.atoms for source in sources)
    if placed != atoms:
        yield Finding("damage", f"the notes should have {placed:,} atoms, and {atoms:,} are there")
    if atoms != meta["atoms"]:
        yield Finding("damage", f"the store counts {meta['atoms']:,} atoms and holds {atoms:,}")
    if expected != _digest_of_index(store):
        yield Finding("damage", "the text index does not agree with the atoms")


def advise(store: Store) -> Iterator[Finding]:
    """Point out what is not damage, but worth knowing."""
    sources = store.sources()
    for title, count in Counter(fold(source.title) for source in sources).most_common(5):
        if count > 1:
            yield Finding("advice", f"{count} notes are called {title!r}; links to it mean the nearest one")
    missing = [source for source in sources if source.kind == "file" and not os.path.exists(source.path)]
    if missing:
        yield Finding("advice", f"{len(missing):,} files are gone, {missing[0].path} first; memoria ingest notices")
    for root in store.roots():
        if not os.path.isdir(root.path):
            yield Finding("advice", f"the folder {root.path} is missing; memoria forget {root.path} if that is meant")
    unresolved = count_unresolved(store, sources)
    if unresolved:
        yield Finding("advice", f"{unresolved:,} links lead to notes that are not there (yet)")


def count_unresolved(store: Store, sources: list[Source]) -> int:
    """Count the links between notes that lead nowhere."""
    resolver = Resolver(sources)
    by_number = {source.id: source for source in sources}
    return sum(
        link.kind != "person"
        and "." not in os.path.basename(link.target).removesuffix(".md")
        and (origin := by_number.get(source_of(atom))) is not None
        and resolver.resolve(link.target, origin) is None
        for atom, link in store.all_links()
    )


def rebuild(store: StoreWriter, progress: Progress | None = None) -> int:
    """Derive the text index, the totals and all that is kept twice from the atoms again; return how many atoms."""
    store.mend_copies()
    sources = store.sources()
    atoms = 0

    def segments() -> Iterator[SegmentWriter]:
        nonlocal atoms
        writer = SegmentWriter()
        for entry in _indexed(store, sources, progress):
            writer.add(entry)
            atoms += 1
            if writer.atoms >= 4_000:  # noqa: PLR2004 - about as many as one batch of an ingest
                yield writer
                writer = SegmentWriter()
        if writer.atoms:
            yield writer

    store.replace_index(segments(), lambda: atoms)
    settle(store, int(time.time()))
    return atoms


def _indexed(store: Store, sources: list[Source], progress: Progress | None) -> Iterator[Entry]:
    """Yield every atom with what it is found by, in the order of the store."""
    for start in range(0, len(sources), _PAGE):
        page = sources[start : start + _PAGE]
        outlines = store.show((), [source.id for source in page]).outlines
        ids = [source_node(number) + place.ordinal for number, places in outlines.items() for place in places]
        shown = store.show(ids, [source.id for source in page])
        fields: dict[int, list[Field]] = {}
        for node, field in store.fields([source_node(source.id) for source in page]):
            fields.setdefault(node, []).append(field)
        for source in page:
            node = source_node(source.id)
            around = Surroundings(
                source.title, source.date, source.aliases, indexed(shown.labels.get(node, [])), fields.get(node, [])
            )
            for position, place in enumerate(shown.outlines.get(source.id, ())):
                atom = shown.atoms.get(node + place.ordinal)
                if atom:
                    tags = [label.name for label in indexed(shown.labels.get(atom.id, ()))]
                    yield around.entry(atom.id, words_of(atom.text), atom, tags, first=position == 0)
        if progress:
            progress(min(start + _PAGE, len(sources)), len(sources), "")


def _digest_of_atoms(store: Store, sources: list[Source], progress: Progress | None) -> tuple[int, int]:
    """Return a sum over all postings that the atoms should have, and how many atoms there are."""
    total = atoms = 0
    writer = SegmentWriter()

    def add_up() -> int:
        postings = sum(_posting_digest(term, data) for _, term, data in writer.rows(0))
        return postings + sum(hash(pair) & _MASK for pairs in writer.mentions.values() for pair in pairs)

    for entry in _indexed(store, sources, progress):
        writer.add(entry)
        atoms += 1
        if writer.atoms >= 4_000:  # noqa: PLR2004
            total += add_up()
            writer = SegmentWriter()
    return (total + add_up()) & _MASK, atoms


def _digest_of_index(store: Store) -> int:
    """Return the same sum over the postings that the index has."""
    dead = set(unpack_ids(store.meta()["dead"]))
    postings = sum(_posting_digest(term, data, dead) for term, data in store.all_postings())
    mentions = sum(hash(pair) & _MASK for pair in store.all_mentions() if pair[1] not in dead)
    return (postings + mentions) & _MASK


def _posting_digest(term: str, data: bytes, dead: set[int] | None = None) -> int:
    from memoria.store.packing import unpack_postings

    ids, shapes = unpack_postings(data)
    return sum(
        hash((term, atom, shape)) & _MASK
        for atom, shape in zip(ids, shapes, strict=True)
        if not dead or atom not in dead
    )
