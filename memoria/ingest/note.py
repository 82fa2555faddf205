"""One note into a batch: which atoms stay, which change, which are new, and how each is found."""

from collections.abc import Iterable, Iterator
from datetime import date
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from memoria.errors import NoteError
from memoria.frontmatter import MAX_FIELD_WORDS, is_prose
from memoria.model import MAX_ATOMS, Atom, Field, Label, Note, Outline, Source, StoredAtom, Words, source_node
from memoria.store.batch import Batch
from memoria.store.segment import Entry, TitleTerms
from memoria.text import terms

DEFAULT_BUCKET = "inbox"


class Known(NamedTuple):
    """What the store has of a source."""

    source: Source
    atoms: list[StoredAtom]
    places: list[Outline]
    labels: dict[int, list[Label]]  # node -> its labels


class Surroundings:
    """What every atom of a note is found by, besides its own text."""

    def __init__(
        self,
        title: str,
        day: str | None,
        aliases: Iterable[str],
        labels: Iterable[Label],
        fields: Iterable[Field],
    ) -> None:
        words = terms(title)
        if day:  # written out, those words that the title lacks: people ask for "January 2022"
            when = date.fromisoformat(day)
            written = terms(f"{when.day} {_MONTHS[when.month - 1]} {when.year}")
            words += [term for term in written if term not in words]
        self._title = TitleTerms(words)
        names = [*(label.name for label in labels), *aliases]
        self._around = [term for name in names for term in name_terms(name)]
        self._fields = fields
        self._heading: tuple[str, ...] = ()
        self._extra = self._around

    @property
    def title_length(self) -> int:
        """How many terms the title field has."""
        return self._title.length

    def entry(self, node: int, words: Words, atom: Atom | StoredAtom, tags: Iterable[str], *, first: bool) -> Entry:
        """Return all that an atom is found by; the note's first one is also found by the note's fields."""
        if atom.heading != self._heading:  # neighbours share their headings
            self._heading = atom.heading
            names = (term for name in atom.heading for term in name_terms(name))
            self._extra = list(dict.fromkeys([*self._around, *names]))
        extra = [*self._extra, *(term for name in tags for term in name_terms(name))]
        if first:  # values that are prose have an atom of their own
            short = (field for field in self._fields if not is_prose(field.value))
            extra += (term for field in short for term in terms(f"{field.name} {field.value}")[:MAX_FIELD_WORDS])
        return Entry(node, words, self._title, extra, atom.speaker, atom.phrases)


def put_note(
    batch: Batch, source: Source, note: Note, words: list[Words], labels: list[Label], known: Known | None
) -> None:
    """Bring the store's picture of a source up to date.

    Raises:
        NoteError: it has more atoms than a source can hold.

    """
    if len(note.atoms) + (known.source.next if known else 1) > MAX_ATOMS:
        raise NoteError(f"it has {len(note.atoms):,} passages, more than memoria can keep for one note")
    around = Surroundings(note.title, note.date, note.aliases, labels, note.fields)
    same = known is not None and _same_surroundings(known, note, labels)
    reindex = not same
    kept, keys = _match(note.atoms, known, source.relpath, batch)
    node = source_node(source.id)
    ordinal = known.source.next if known else 1
    places = []
    for position, atom in enumerate(note.atoms):
        old = kept.get(position)
        if old and not reindex and _same_row(old, atom):
            number = old.id - node
        else:
            number = ordinal
            ordinal += 1
            key, is_new = keys[position]
            entry = around.entry(node + number, words[position], atom, atom.tags, first=position == 0)
            batch.put_atom(key, atom, entry, new_key=is_new)
            if old:
                _drop(batch, old, known, keep_key=True)
        places.append(
            Outline(
                number,
                atom.line,
                len(atom.text),
                min(words[position].length, 65_535),
                around.title_length,
                atom.continues,
            )
        )
    if known:
        taken = {old.id for old in kept.values()}
        for old in known.atoms:
            if old.id not in taken:
                _drop(batch, old, known, keep_key=False)
        batch.drop_labels(node, known.labels.get(node, ()))
    source = source._replace(
        title=note.title, aliases=note.aliases, date=note.date, next=ordinal, atoms=len(note.atoms)
    )
    batch.put_source(source)
    batch.put_names(source, known.source if known else None)
    moved = known is None or (known.source.root, known.source.relpath) != (source.root, source.relpath)
    batch.unsettle(source, *((source, *([known.source] if known else [])) if moved or not same else ()))
    batch.put_outline(source.id, places)
    batch.put_labels(node, [*labels, *_accepted(known, node, labels)])
    batch.put_fields(node, note.fields)


def drop_note(batch: Batch, known: Known) -> None:
    """Remove a source and all that hangs on it."""
    for old in known.atoms:
        _drop(batch, old, known, keep_key=False)
    batch.drop_labels(source_node(known.source.id), known.labels.get(source_node(known.source.id), ()))
    batch.drop_source(known.source)


def _accepted(known: Known | None, node: int, labels: Iterable[Label]) -> list[Label]:
    """Return the tags that a person took over from a dream: they stay, whatever the note says."""
    had = {(label.kind, label.name) for label in labels}
    found = known.labels.get(node, ()) if known else ()
    return [label for label in found if label.origin == "accepted" and (label.kind, label.name) not in had]


def indexed(labels: Iterable[Label]) -> list[Label]:
    """Return the labels whose words a note is found by: those that came with the note."""
    return [label for label in labels if label.origin in ("note", "ingest")]


def note_labels(note: Note, relpath: str, bucket: str, tags: tuple[str, ...]) -> list[Label]:
    """Return the labels of a whole note: its tags, those given, and its buckets."""
    found = {("tag", tag): "ingest" for tag in tags}
    found.update({("tag", tag): "note" for tag in note.tags})
    if bucket:
        found["bucket", bucket] = "ingest"
    elif note.buckets:
        found.update({("bucket", name): "note" for name in note.buckets})
    else:
        folder = relpath.split("/", 1)[0] if "/" in relpath else ""
        found["bucket", "-".join(folder.lower().split()) or DEFAULT_BUCKET] = "ingest"
    return [Label(kind, name, origin) for (kind, name), origin in found.items()]


_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def atom_key(relpath: str, text: str, occurrence: int, salt: int = 0) -> str:
    """Return the key of a new atom: the same for the same passage of the same note in every brain."""
    seed = f"{relpath}\0{text}\0{occurrence}" + (f"\0{salt}" if salt else "")
    return blake2b(seed.encode(), digest_size=6).hexdigest()


@lru_cache(maxsize=4096)
def name_terms(name: str) -> tuple[str, ...]:
    """Return the terms of a heading or label: each stands over many atoms."""
    return tuple(terms(name))


def _same_surroundings(known: Known, note: Note, labels: list[Label]) -> bool:
    """Tell whether what every atom of the note is found by (title, date, labels, aliases) is as it was."""
    old = known.source
    return (old.title, old.date, old.aliases) == (note.title, note.date, note.aliases) and set(labels) == set(
        indexed(known.labels.get(source_node(old.id), ()))
    )


def _same_row(old: StoredAtom, atom: Atom) -> bool:
    return (old.text, old.heading, old.kind, old.speaker) == (atom.text, atom.heading, atom.kind, atom.speaker)


def _drop(batch: Batch, old: StoredAtom, known: Known | None, *, keep_key: bool) -> None:
    batch.drop_atom(old, keep_key=keep_key)
    if known:
        batch.unused_labels(known.labels.get(old.id, ()))


def _match(
    atoms: tuple[Atom, ...], known: Known | None, relpath: str, batch: Batch
) -> tuple[dict[int, StoredAtom], dict[int, tuple[str, bool]]]:
    """Pair the note's atoms with those the store has: by text first, then by place.

    Returns the old atom for each position that has one, and (key, is new) for each position.
    """
    paired: dict[int, StoredAtom] = {}
    if known:
        paired = _pair_by_text(atoms, known.atoms)
        paired.update(_pair_by_place(atoms, known.atoms, paired))
    keys: dict[int, tuple[str, bool]] = {position: (old.key, False) for position, old in paired.items()}
    used = {key for key, _ in keys.values()} | ({old.key for old in known.atoms} if known else set())
    occurrences: dict[str, int] = {}
    for position, atom in enumerate(atoms):
        occurrence = occurrences[atom.text] = occurrences.get(atom.text, -1) + 1
        if position in keys:
            continue
        salt = 0
        key = atom_key(relpath, atom.text, occurrence)
        while key in used or key in batch.new_keys:
            salt += 1
            key = atom_key(relpath, atom.text, occurrence, salt)
        used.add(key)
        keys[position] = (key, True)
    return paired, keys


def _pair_by_text(atoms: tuple[Atom, ...], old: list[StoredAtom]) -> dict[int, StoredAtom]:
    by_text: dict[str, list[StoredAtom]] = {}
    for stored in reversed(old):
        by_text.setdefault(stored.text, []).append(stored)
    return {position: by_text[atom.text].pop() for position, atom in enumerate(atoms) if by_text.get(atom.text)}


def _pair_by_place(
    atoms: tuple[Atom, ...], old: list[StoredAtom], paired: dict[int, StoredAtom]
) -> Iterator[tuple[int, StoredAtom]]:
    """Pair what is left over between two paired neighbours, in order."""
    place = {stored.id: index for index, stored in enumerate(old)}
    taken = {stored.id for stored in paired.values()}
    after = 0
    for position in range(len(atoms)):
        if position in paired:
            after = place[paired[position].id] + 1
        elif after < len(old) and old[after].id not in taken:
            taken.add(old[after].id)
            yield position, old[after]
            after += 1
