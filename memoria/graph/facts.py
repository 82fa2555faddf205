"""Facts: what front matter, fields and relation lines say about whom or what a note is about."""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from memoria.frontmatter import is_prose
from memoria.graph.entities import PEOPLE, name_of, people
from memoria.model import Fact, Field, Link, source_node, source_of
from memoria.store.facts import FactStore, Named
from memoria.store.writer import StoreWriter
from memoria.text import fold, link_name

MAX_NAME_CHARS = 120  # a longer subject is no name
MAX_PREDICATE_CHARS = 60
MAX_VALUE_CHARS = 2_000
_PAGE = 2_000  # notes that are read together
_WHOLE = 0.2  # of the notes: from here on, all are read at once

# What is said about the file, its looks or a task, and not about what the note is about.
HOUSEKEEPING = frozenset(
    """
    id uid uuid slug url permalink layout template cssclass cssclasses publish published draft weight order image cover
    banner icon sticker kanban-plugin excalidraw-plugin due scheduled start created completion completed cancelled
    repeat done modified lastmod last_modified up next prev previous parent child sibling
    """.split()
)
# What `type:` says of notes that are about nobody and nothing.
_NO_TYPES = frozenset("note notes daily weekly monthly journal diary log moc index template meeting".split())
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#^]+)[^\[\]]*\]\]")
_ENDING = re.compile(r"(?:\s+(?:#[^\s#]+|\^[\w-]+))+\s*\Z")  # tags and block ids after an observation
_RELATIONSHIP = re.compile(r", (?=to: )")
_PART = re.compile(r"(?:\A|; )(to|type|attitude|proximity|notes): ")
_LEAST_GRADE, _MOST_GRADE = 1, 5


def predicate_of(text: str) -> str:
    """Return a predicate as it is kept: lower case, words joined by _."""
    return "_".join(re.split(r"[\s_-]+", text.strip().lower()))


def fact_key(subject: str, predicate: str, value: str) -> str:
    """Return the key of a statement: the same in every brain, however its value is written."""
    said = "\0".join((subject, predicate, name_of(value)))
    return blake2b(said.encode("utf-8", "replace"), digest_size=6).hexdigest()


def object_of(value: str) -> str:
    """Return a value as entities are looked up by it; "" where it is too long for a name."""
    return name_of(value) if len(value) <= MAX_NAME_CHARS else ""


def settle(store: StoreWriter, pending: Iterable[int], now: int) -> int:
    """Read the facts of changed notes again; return how many came and went."""
    view = FactStore(store)
    ordered = sorted(pending)
    whole = len(ordered) > _WHOLE * store.meta()["sources"]
    changed = 0
    for start in range(0, len(ordered), len(ordered) if whole else _PAGE):
        page = ordered[start:] if whole else ordered[start : start + _PAGE]
        written = _Written(view, None if whole else page)
        changed += _settle_page(view, page, written, now)
    return changed


class _Written:
    """What notes say about themselves: fields and relation lines by note, and the first lines of their atoms."""

    def __init__(self, view: FactStore, sources: list[int] | None) -> None:
        self.fields: dict[int, list[tuple[int, Field]]] = {}
        self.relations: dict[int, list[tuple[int, Link]]] = {}
        self._view = view
        if sources is None:  # all at once: far quicker than asking for every atom
            fields, relations = view.all_fields(), view.all_relations()
        else:
            self._lines = lines = self._read_lines(sources)
            fields = view.store.fields([*map(source_node, sources), *lines])
            relations = view.relations(lines)
        for node, field in fields:
            self.fields.setdefault(source_of(node), []).append((node, field))
        for atom, link in relations:
            self.relations.setdefault(source_of(atom), []).append((atom, link))
        if sources is None:
            inside = {source for source, some in self.fields.items() if some[-1][0] != source_node(source)}
            self._lines = self._read_lines(inside | self.relations.keys())

    def _read_lines(self, sources: Iterable[int]) -> dict[int, int]:
        outlines = self._view.store.outlines(sources)
        return {source_node(source) + here.ordinal: here.line for source, some in outlines.items() for here in some}

    def facts(self, note: Named, now: int) -> Iterator[Fact]:
        """Yield what a note says."""
        yield from derived(note, self.fields.get(note.id, ()), self.relations.get(note.id, ()), self._lines, now)


def _settle_page(view: FactStore, page: list[int], written: _Written, now: int) -> int:
    speaking = view.named(source for source in page if source in written.fields or source in written.relations)
    wanted = {
        (fact.subject, fact.key, fact.source, fact.line): fact
        for note in speaking.values()
        for fact in written.facts(note, now)
    }
    stored = view.of_notes(page)
    have = {(fact.subject, fact.key, fact.source, fact.line): fact for fact in stored}
    made = {(fact.key, fact.source): fact.made for fact in stored}
    wanted = {place: fact._replace(made=made.get((fact.key, fact.source), now)) for place, fact in wanted.items()}
    gone = [fact for place, fact in have.items() if place not in wanted]
    new = [fact for place, fact in wanted.items() if have.get(place) != fact]
    notes = {fact.source: fact.subject for fact in wanted.values()}
    had = {fact.source: fact.subject for fact in stored}
    if gone or new:
        view.put(gone, new, gone_notes=had.keys() - notes.keys(), notes=notes)
    return len(gone) + len(new)


def derived(
    note: Named,
    fields: Iterable[tuple[int, Field]],
    relations: Iterable[tuple[int, Link]],
    lines: dict[int, int],
    now: int,
) -> Iterator[Fact]:
    """Yield what a note says about what it is about. `lines` are the first lines of its atoms."""
    subject = name_of(note.title)
    if not subject or len(note.title) > MAX_NAME_CHARS:
        return
    front: list[tuple[int, Field]] = []
    inside: list[tuple[int, Field]] = []
    for node, field in fields:
        (front if node == source_node(note.id) else inside).append((lines.get(node, 0) + field.line, field))
    linked = [(lines[atom] + link.line, link) for atom, link in relations]

    def fact(line: int, predicate: str, value: str, basis: str = "field") -> Fact:
        value = value.strip()[:MAX_VALUE_CHARS]
        kept = predicate_of(predicate)
        key = fact_key(subject, kept, value)
        return Fact(
            subject, key, note.id, line, note.title, kept, object_of(value), value, basis, None, note.origin, now
        )

    about = bool(note.aliases or linked) or any(_is_about(field) for _, field in front)
    for line, field in (*front, *inside) if about else inside:
        if field.name != "relationships" and field.name not in PEOPLE:
            for value in values(field):
                yield fact(line, field.name, value)
    for line, field in (*front, *inside):
        if field.name in PEOPLE:
            yield from (fact(line, field.name, name, "people") for name in people(field.value))
    for line, field in front:
        if field.name == "relationships":
            for said in relationships(field.value):
                found = fact(line, said.get("type") or "related to", said["to"], "relationship")
                yield found._replace(
                    attitude=_grade(said.get("attitude")),
                    proximity=_grade(said.get("proximity")),
                    notes=said.get("notes", "")[:MAX_VALUE_CHARS],
                )
    for line, link in linked:
        name = link.target.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
        if link_name(name) and len(link.text) <= MAX_PREDICATE_CHARS:
            yield fact(line, link.text, re.sub(r"\.(md|markdown|txt)\Z", "", name, flags=re.IGNORECASE), "relation")


def _is_about(field: Field) -> bool:
    if field.name == "type":
        return fold(field.value).strip() not in _NO_TYPES
    return field.name == "relationships"


def values(field: Field) -> list[str]:
    """Return what a field says, one value each: a list of names is several, a sentence is one."""
    name = predicate_of(field.name)
    if name in HOUSEKEEPING or field.name in HOUSEKEEPING or len(name) > MAX_PREDICATE_CHARS:
        return []
    text = _ENDING.sub("", _WIKILINK.sub(lambda match: match[1].strip(), field.value))
    text = " ".join(text.split())  # code is blanked out
    parts = [text] if is_prose(text) else text.split(",")
    return [part.strip() for part in parts if part.strip()]


def relationships(value: str) -> Iterator[dict[str, str]]:
    """Yield the parts of each relationship that front matter lists (`memoria.frontmatter` flattens them)."""
    for text in _RELATIONSHIP.split(_WIKILINK.sub(lambda match: match[1].strip(), value)):
        parts = _PART.split(text)
        found = dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
        if found.get("to") and len(found["to"]) <= MAX_NAME_CHARS:
            yield found


def _grade(text: str | None) -> int | None:
    """Return an attitude or a proximity, 1 to 5; None for anything else."""
    grade = int(text) if text and text.isascii() and text.isdigit() and len(text) == 1 else 0
    return grade if _LEAST_GRADE <= grade <= _MOST_GRADE else None
