"""From what an exploration found to its answer: how many of what, in which detail, and what is connected with it."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from memoria.errors import UsageError
from memoria.graph.entities import name_of
from memoria.graph.lookup import HOLDING, Known, known_by
from memoria.model import Macro, Source, Storyline, source_node
from memoria.retrieve.explore import Found, Ranked, Relationship, SourceHit
from memoria.store.facts import FactStore

NODES, RELATIONSHIPS, ARTIFACTS = 5, 10, 5
CONNECTED = 5  # of each node
MENTIONED = 8  # of a storyline
PREVIEW_CHARS = 160
_SECTIONS = {"person": "people", "concept": "concepts", "entity": "entities"}


class Detail(NamedTuple):
    """How many of each; those in `full` with all that is known, the others with key and name, or as a preview."""

    name: str
    full: str  # source | storyline | macro
    sources: int
    storylines: int
    macros: int


GRANULARITIES = {
    1: Detail("micro", "source", sources=5, storylines=3, macros=2),
    2: Detail("meso", "storyline", sources=10, storylines=5, macros=2),
    3: Detail("macro", "macro", sources=0, storylines=0, macros=5),
}


def granularity_of(text: str) -> int:
    """Return the granularity that a number or a name means.

    Raises:
        UsageError: neither.

    """
    for number, detail in GRANULARITIES.items():
        if text.lower() in (str(number), detail.name):
            return number
    raise UsageError(f"{text!r} is no granularity", hint="choose micro, meso, macro, 1, 2 or 3")


class Explored(NamedTuple):
    """What an exploration returns, the same shape at each granularity."""

    meta: dict[str, Any]
    semantic: dict[str, list[dict[str, Any]]]
    episodic: dict[str, list[dict[str, Any]]]
    keys: tuple[str, ...]  # of what counts as used


class Teller:
    """Tells what was found, in the detail that a granularity asks for."""

    def __init__(self, view: FactStore, found: Found, granularity: int) -> None:
        self._view = view
        self._found = found
        self._granularity = granularity
        self._detail = GRANULARITIES[granularity]

    def tell(self) -> Explored:
        """Return the answer."""
        detail, ranked = self._detail, self._found.ranked
        macros = ranked["macro"][: detail.macros]
        lines = ranked["storyline"][: detail.storylines]
        nodes = self._nodes(macros)
        chosen = {one.item.entity.node for one in nodes}
        relations = [
            one
            for one in ranked["relationship"]
            if not chosen.isdisjoint((one.item.subject.entity.node, one.item.object.entity.node))
        ][:RELATIONSHIPS]
        semantic: dict[str, list[dict[str, Any]]] = {"people": [], "concepts": [], "entities": []}
        for one, connected in zip(nodes, self._connected(nodes), strict=True):
            section = _SECTIONS.get(one.item.entity.kind, "entities")
            semantic[section].append({**self._node(one), "connected": connected})
        semantic["relationships"] = [_relationship(one) for one in relations]
        sources = self._sources(lines)
        episodic = {
            "sources": sources,
            "storylines": [self._storyline(one, full=detail.full == "storyline") for one in lines],
            "macros": [self._macro(one, full=detail.full == "macro") for one in macros],
            "artifacts": [self._node(one) for one in ranked["artifact"][:ARTIFACTS]],
        }
        meta = {"granularity": self._granularity, "queries_used": [asked.text for asked in self._found.queries]}
        keys = [
            *(one["key"] for one in sources if one.get("key")),
            *(one.item.told.fact.key for one in relations),
        ]
        return Explored(meta, semantic, episodic, tuple(keys))

    def _nodes(self, macros: list[Ranked]) -> list[Ranked]:
        """Return the best nodes; with macros, those that they are anchored in first."""
        nodes = self._found.ranked["node"]
        if self._detail.full == "macro":
            wanted = {number for one in macros for number in one.item.storylines}
            anchors = {name_of(line.anchor) for line in self._found.storylines if line.id in wanted}
            nodes = sorted(nodes, key=lambda one: anchors.isdisjoint(one.item.keys))
        return nodes[:NODES]

    def _node(self, one: Ranked) -> dict[str, Any]:
        known: Known = one.item
        return {
            "key": known.entity.key,
            "name": known.entity.name,
            "kind": known.entity.kind,
            "aliases": list(known.entity.aliases),
            "last": max([day for day in (known.entity.last, *(n.date for n in known.notes)) if day], default=None),
            "path": known.notes[0].path if known.notes else None,
            **_score(one),
        }

    def _connected(self, nodes: list[Ranked]) -> list[list[dict[str, str]]]:
        """Return each node's neighbors, by the facts between them."""
        ends: list[dict[str, None]] = []
        for one in nodes:
            about, leading = self._found.sides[one.item.entity.node]
            names = [told.fact.object for told in about if told.status in HOLDING]
            names += [told.fact.subject for told in leading if told.status in HOLDING]
            ends.append(dict.fromkeys(filter(None, names)))
        known = known_by(self._view, (name for names in ends for name in names))
        found = []
        for end in ends:
            entities = {meant[0].entity.node: meant[0].entity for name in end if (meant := known.get(name))}
            found.append(
                [_minimal(entity.key, entity.name, kind=entity.kind) for entity in entities.values()][:CONNECTED]
            )
        return found

    def _sources(self, lines: list[Ranked]) -> list[dict[str, Any]]:
        if self._detail.full == "source":
            shown: list[Ranked] = self._found.ranked["source"][: self._detail.sources]
            return [self._source(one) for one in shown]
        if self._detail.full == "macro":
            return []
        members = dict.fromkeys(number for one in lines for number in one.item.sources)
        ranked = {one.item.source.id: one for one in self._found.ranked["source"]}
        order = sorted(members, key=lambda number: -ranked[number].parts.score if number in ranked else 0.0)
        return self._previews(order[: self._detail.sources])

    def _source(self, one: Ranked) -> dict[str, Any]:
        hit: SourceHit = one.item
        source = hit.source
        shown, atoms = self._view.store.show_source(source.id)
        labels = shown.labels.get(source_node(source.id), [])
        first = atoms[0] if atoms else None
        outline = shown.outlines.get(source.id, [])
        return {
            "key": hit.hit.key if hit.hit else first.key if first else "",
            "path": source.path,
            "relpath": source.relpath,
            "line": hit.hit.line if hit.hit else outline[0].line if outline else 1,
            "title": source.title,
            "date": source.date,
            "buckets": sorted(label.name for label in labels if label.kind == "bucket"),
            "tags": sorted(label.name for label in labels if label.kind == "tag" and label.origin != "dream"),
            "content": hit.hit.content if hit.hit else first.text if first else "",
            **_score(one),
        }

    def _previews(self, numbers: Iterable[int]) -> list[dict[str, Any]]:
        found = []
        for number in numbers:
            shown, atoms = self._view.store.show_source(number)
            source: Source | None = shown.sources.get(number)
            if source:
                text = " ".join(atoms[0].text.split()) if atoms else ""
                preview = text if len(text) <= PREVIEW_CHARS else text[:PREVIEW_CHARS].rsplit(" ", 1)[0] + " …"
                found.append({"path": source.path, "title": source.title, "date": source.date, "preview": preview})
        return found

    def _storyline(self, one: Ranked, *, full: bool) -> dict[str, Any]:
        line: Storyline = one.item
        if not full:
            return _minimal(line.id, line.name)
        return {
            **_line(line),
            "anchor": line.anchor,
            "notes": len(line.sources),
            "preview_sources": self._previews(line.sources[-3:]),
            "mentioned": self._mentioned(line),
            **_score(one),
        }

    def _mentioned(self, line: Storyline) -> list[dict[str, str]]:
        """Return the nodes that most of a storyline's notes speak of, as dreams know them."""
        edges = self._view.store.edges(self._nodes_of(line))
        counts: dict[int, int] = {}
        for edge in edges:
            if edge.end < 0:
                counts[edge.end] = counts.get(edge.end, 0) + 1
        salient = self._view.saliences(counts)
        best = sorted(counts, key=lambda node: (-salient.get(node, 0.0), -counts[node], node))[:MENTIONED]
        entities = self._view.store.entities(best)
        return [_minimal(entities[n].key, entities[n].name, kind=entities[n].kind) for n in best if n in entities]

    def _nodes_of(self, line: Storyline) -> list[int]:
        outlines = self._view.store.outlines(line.sources)
        return [
            node
            for number in line.sources
            for node in (
                source_node(number),
                *(source_node(number) + here.ordinal for here in outlines.get(number, ())),
            )
        ]

    def _macro(self, one: Ranked, *, full: bool) -> dict[str, Any]:
        macro: Macro = one.item
        if not full:
            return _minimal(macro.id, macro.name)
        children = sorted(
            (line for line in self._found.storylines if line.id in macro.storylines),
            key=lambda line: (line.first, line.id),
        )
        return {
            "key": macro.id,
            "name": macro.name,
            "kind": macro.kind,
            "summary": macro.summary,
            "first": macro.first,
            "last": macro.last,
            "storylines": [_line(line) for line in children],
            **_score(one),
        }


def _minimal(key: str, name: str, **more: str) -> dict[str, str]:
    return {"key": key, "name": name, **more}


def _line(line: Storyline) -> dict[str, Any]:
    return {"key": line.id, "name": line.name, "summary": line.summary, "first": line.first, "last": line.last}


def _relationship(one: Ranked) -> dict[str, Any]:
    relation: Relationship = one.item
    fact = relation.told.fact
    return {
        "key": fact.key,
        "from": relation.subject.entity.name,
        "type": fact.predicate,
        "to": relation.object.entity.name,
        "attitude": fact.attitude,
        "proximity": fact.proximity,
        "notes": fact.notes,
        "confidence": relation.told.confidence,
        "status": relation.told.status,
        "places": [{"path": path, "line": line} for path, line in relation.told.places],
        **_score(one),
    }


def _score(one: Ranked) -> dict[str, Any]:
    parts = one.parts
    return {
        "score": parts.score,
        "why": {
            "similarity": parts.similarity,
            "semantic": parts.semantic,
            "recency": parts.recency,
            "salience": parts.salience,
            "ranks": list(parts.ranks),
        },
    }
