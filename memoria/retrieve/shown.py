"""What `show` shows: an atom among its neighbours, or whole notes."""

from memoria.links import Resolver
from memoria.model import Label, Link, ShownAtom, ShownNote, source_node, source_of
from memoria.retrieve.resolve import find
from memoria.store import Store


def show(store: Store, name: str, context: int) -> list[ShownNote]:
    """Return an atom with `context` neighbours on each side, or the notes that are called so."""
    named = find(store, name)
    if named.atom is not None:
        return [_note(store, source_of(named.atom), named.atom, context)]
    return [_note(store, source.id, None, 0) for source in named.sources]


def _note(store: Store, number: int, asked: int | None, context: int) -> ShownNote:
    shown, atoms = store.show_source(number)
    source = shown.sources[number]
    lines = {source_node(number) + place.ordinal: place.line for place in shown.outlines.get(number, ())}
    if asked is not None:
        place = next(i for i, atom in enumerate(atoms) if atom.id == asked)
        atoms = atoms[max(0, place - context) : place + context + 1]
    links: dict[int, list[Link]] = {}
    for atom, link in store.links([atom.id for atom in atoms]):
        links.setdefault(atom, []).append(link)
    resolver = Resolver(store.sources()) if links else Resolver(())
    labels = shown.labels.get(source_node(number), [])
    return ShownNote(
        source=source,
        buckets=_names(labels, "bucket"),
        tags=_names([label for label in labels if label.origin != "dream"], "tag"),
        dream_tags=_names([label for label in labels if label.origin == "dream"], "tag"),
        atoms=tuple(
            ShownAtom(
                key=atom.key,
                line=lines[atom.id],
                heading=atom.heading,
                kind=atom.kind,
                tags=_names(shown.labels.get(atom.id, []), "tag"),
                links=tuple(
                    (link, found.path if (found := resolver.resolve(link.target, source)) else None)
                    for link in links.get(atom.id, ())
                ),
                content=atom.text,
                asked=asked is None or atom.id == asked,
            )
            for atom in atoms
        ),
        whole=asked is None,
    )


def _names(labels: list[Label], kind: str) -> tuple[str, ...]:
    return tuple(sorted({label.name for label in labels if label.kind == kind}))
