"""Nodes of the graph in words: from what a person writes to a node, and from a node to what it is."""

from collections.abc import Iterable
from typing import NamedTuple

from memoria.errors import NotFoundError
from memoria.graph.entities import name_of
from memoria.graph.lookup import known_by
from memoria.graph.roster import suggestion
from memoria.model import source_node, source_of
from memoria.retrieve.resolve import find
from memoria.retrieve.traverse import Step
from memoria.store import Store
from memoria.store.facts import FactStore

SNIPPET_CHARS = 80


class Reached(NamedTuple):
    """A step of a traversal, in words."""

    step: Step
    kind: str  # atom | note | person | concept | entity | artifact
    key: str  # of an atom or entity; "" for a note
    name: str  # the title, or the entity's name
    path: str  # "" for an entity
    line: int | None  # of an atom
    snippet: str
    came_from: str  # the name of the node that led here; "" for a start


def starts_of(view: FactStore, name: str) -> list[int]:
    """Return the nodes that a key, path, title, alias or entity's name means.

    Raises:
        NotFoundError: nothing is called so.

    """
    found: list[int] = []
    try:
        named = find(view.store, name)
        found = [named.atom] if named.atom is not None else [source_node(source.id) for source in named.sources]
    except NotFoundError:
        pass
    for known in known_by(view, [name_of(name)]).get(name_of(name), ()):
        if known.entity.node in view.store.entities([known.entity.node]):
            found.append(known.entity.node)
        found += (source_node(note.id) for note in known.notes)
    if not found:
        raise NotFoundError(f"nothing is called {name!r}", hint=suggestion(view, name))
    return list(dict.fromkeys(found))


def described(store: Store, steps: Iterable[Step]) -> list[Reached]:
    """Return steps in words."""
    every = list(steps)
    nodes = {step.node for step in every} | {step.edge.start for step in every if step.edge}
    atoms = [node for node in nodes if node > 0 and node != source_node(source_of(node))]
    shown = store.show(atoms, {source_of(node) for node in nodes if node > 0})
    entities = store.entities([node for node in nodes if node < 0])
    lines = {
        source_node(number) + here.ordinal: here.line for number, outline in shown.outlines.items() for here in outline
    }

    def name_of_node(node: int) -> str:
        if node < 0:
            return entities[node].name if node in entities else ""
        title = shown.sources[source_of(node)].title
        return f"{title}:{lines[node]}" if node in lines else title

    found = []
    for step in every:
        node = step.node
        came_from = name_of_node(step.edge.start) if step.edge else ""
        if node < 0:
            entity = entities.get(node)
            if entity:
                found.append(Reached(step, entity.kind, entity.key, entity.name, "", None, "", came_from))
            continue
        source = shown.sources[source_of(node)]
        atom = shown.atoms.get(node)
        text = " ".join(atom.text.split()) if atom else ""
        snippet = text if len(text) <= SNIPPET_CHARS else text[:SNIPPET_CHARS].rsplit(" ", 1)[0] + " …"
        found.append(
            Reached(step, "atom" if atom else "note", atom.key if atom else "", source.title, source.path,
                    lines.get(node), snippet, came_from)
        )  # fmt: skip
    return found
