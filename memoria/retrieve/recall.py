"""Recall: entities that a query names, what is told about them and about what that leads to, as a narrative."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from memoria.graph.entities import name_of
from memoria.graph.lookup import HOLDING, USER, Known, Sides, known_by
from memoria.model import Told
from memoria.retrieve.query import Query
from memoria.scoring import FactScore, fact_score
from memoria.store.facts import FactStore
from memoria.text import MAX_NAME_WORDS, STOP_WORDS, plain_words

LIMIT = 3  # anchors
MAX_HOPS = 2
PER_ENTITY = 10
MAX_FACTS = 30
LEAST_SHARE = 0.5  # of a name's words that a query has to hold, for it to be meant
_CANDIDATES = 60
_ME = frozenset("i me my mine myself user".split())


class Reach(NamedTuple):
    """How far a recall goes."""

    anchors: int = LIMIT
    hops: int = MAX_HOPS
    per_entity: int = PER_ENTITY
    facts: int = MAX_FACTS
    statuses: tuple[str, ...] = HOLDING
    outgoing: bool = False  # leave out the facts that lead to an entity


class Anchor(NamedTuple):
    """An entity that a query means."""

    known: Known
    score: float
    why: str  # name | user | search


class Recalled(NamedTuple):
    """A fact that was reached, with its score."""

    told: Told
    score: FactScore
    hop: int
    way: str  # out | in
    entity: int  # the node of the entity under which it is told
    name: str  # of that entity
    subject: str
    object: str  # the name of what it leads to, or the value


class Recall(NamedTuple):
    """What a recall returns: facts by section, the best first."""

    anchors: tuple[Anchor, ...]
    facts: tuple[Recalled, ...]  # in the order of the narrative
    reached: int  # facts, told or not
    used: int  # characters of the narrative
    budget: int | None


Facts = Callable[[Iterable[Known]], Mapping[int, Sides]]  # what is told of some entities


def find_anchors(view: FactStore, query: Query, limit: int, best_titles: Callable[[], Iterable[str]]) -> list[Anchor]:
    """Return the entities that a query means: by name first, then those of the notes that a search finds.

    A name that the query holds as a whole is surest; of others, the share of its words counts.
    """
    words = plain_words(query.text)
    spans = {
        " ".join(words[start:end])
        for start in range(len(words))
        for end in range(start + 1, min(len(words), start + MAX_NAME_WORDS) + 1)
    }
    spans = {span for span in spans if not STOP_WORDS.issuperset(span.split())}
    spans.update(name_of(raw) for raw in query.raw if "+" in raw or "#" in raw)
    telling = {word for word in words if word not in STOP_WORDS}
    scores = dict.fromkeys(spans, 1.0)
    for name in _holding(view, telling):
        share = sum(word in telling for word in name.split()) / len(name.split())
        if share >= LEAST_SHARE:
            scores.setdefault(name, share)
    found: dict[int, Anchor] = {}
    if _ME.intersection(words) or any(raw in ("I", "user") for raw in query.raw):
        for known in known_by(view, [USER]).get(USER, ()):
            found[known.entity.node] = Anchor(known, 1.0, "user")
    for name, knowns in known_by(view, scores).items():
        for known in knowns:
            before = found.get(known.entity.node)
            score = scores[name] * (1 + len(name) / 1_000)  # of names in one another, the longer one
            if before is None or score > before.score:
                found[known.entity.node] = Anchor(known, score, before.why if before else "name")
    speaking = [anchor for anchor in found.values() if _speaks(view, anchor.known)]
    ranked = sorted(
        speaking, key=lambda one: (one.why != "user", -one.score, one.known.entity.name, one.known.entity.node)
    )
    ranked = [anchor._replace(score=min(1.0, anchor.score)) for anchor in ranked[:limit]]
    if len(ranked) < limit:
        ranked += _searched(view, best_titles(), {anchor.known.entity.node for anchor in ranked})
    return ranked[:limit]


def _holding(view: FactStore, words: Iterable[str]) -> list[str]:
    """Return the names, of entities and notes, that hold one of these words."""
    asked = sorted(words)
    names = [name for name, _ in view.entities_with_words(asked, most=_CANDIDATES)]
    names += (name_of(name) for _, name, _ in view.store.find_names(" ".join(asked), most=_CANDIDATES))
    return list(dict.fromkeys(filter(None, names)))


def _speaks(view: FactStore, known: Known) -> bool:
    return bool(view.about(known.keys) or view.leading_to(known.keys, most=1))


def _searched(view: FactStore, titles: Iterable[str], but: set[int]) -> list[Anchor]:
    """Return the entities of the notes that a search found."""
    names = list(dict.fromkeys(map(name_of, titles)))
    known = known_by(view, names)
    found = {one.entity.node: one for name in names for one in known.get(name, ())}
    return [Anchor(one, 0.0, "search") for node, one in found.items() if node not in but and _speaks(view, one)]


def spread(view: FactStore, anchors: Iterable[Known], reach: Reach, facts: Facts, now: float) -> list[Recalled]:
    """Return the facts around the anchors, breadth first: what is told about each, then what leads to it."""
    visited: set[int] = set()
    taken: set[str] = set()
    found: list[Recalled] = []
    frontier = list(anchors)
    for hop in range(reach.hops):
        if len(found) >= reach.facts:
            break
        here: list[tuple[Known, str, Told]] = []
        fresh = {known.entity.node: known for known in frontier if known.entity.node not in visited}
        visited.update(fresh)
        sides = facts(fresh.values())
        for node, known in fresh.items():
            about, leading = sides[node]
            both = [("out", one) for one in about] + ([] if reach.outgoing else [("in", one) for one in leading])
            fitting = [(way, one) for way, one in both if one.status in reach.statuses]
            for way, one in fitting[: reach.per_entity]:
                if one.fact.key not in taken:
                    taken.add(one.fact.key)
                    here.append((known, way, one))
        ends = known_by(view, (_end(way, one) for _, way, one in here))
        frontier = []
        for known, way, one in here:
            others = ends.get(_end(way, one), [])
            frontier += others
            name = others[0].entity.name if others else ""
            score = fact_score(one.confidence, one.fact.origin, one.status, one.uses, max(0.0, now - one.at))
            entity = known.entity
            subject, target = (
                (entity.name, name or one.fact.value) if way == "out" else (name or one.fact.name, entity.name)
            )
            found.append(Recalled(one, score, hop, way, entity.node, entity.name, subject, target))
    return found[: reach.facts]


def _end(way: str, one: Told) -> str:
    return one.fact.object if way == "out" else one.fact.subject


def told_within(found: Iterable[Recalled], budget: int | None, *, plain: bool) -> tuple[list[Recalled], int]:
    """Return the facts that fit into a narrative of so many characters, in its order, and how many it has.

    The best come first: facts in their section, and sections by their best fact.
    """
    reached = list(found)
    place = {one.told.fact.key: number for number, one in enumerate(reached)}
    taken: list[Recalled] = []
    open_sections: set[int] = set()
    used = 0
    for one in sorted(reached, key=lambda one: (-one.score.score, place[one.told.fact.key])):
        size = len(line_of(one, plain=plain)) + 1
        if one.entity not in open_sections:
            size += len(header(one.name, plain=plain)) + (2 if open_sections else 0)
        if budget is not None and used + size > budget:
            continue
        open_sections.add(one.entity)
        used += size
        taken.append(one)
    best: dict[int, tuple[float, int]] = {}
    for one in taken:
        rank = (-one.score.score, place[one.told.fact.key])
        best[one.entity] = min(best.get(one.entity, rank), rank)
    taken.sort(key=lambda one: (best[one.entity], one.way == "in", -one.score.score, place[one.told.fact.key]))
    return taken, used


def header(name: str, *, plain: bool) -> str:
    """Return the headline of a section."""
    if name_of(name) == USER:
        return "### USER CONTEXT" if plain else "### 👤 USER CONTEXT"
    return f"### CONTEXT: {_line(name)}" if plain else f"### 💡 CONTEXT: {_line(name)}"


def line_of(one: Recalled, *, plain: bool) -> str:
    """Return a fact as the narrative tells it; one that leads to the section's entity is marked as such."""
    if one.way == "in":
        return f"- {'<-' if plain else '←'} {one.told.fact.predicate}: {_line(one.subject)}"
    return f"- {one.told.fact.predicate}: {_line(one.object)}"


def _line(text: str) -> str:
    return " ".join(text.split())


def narrative(found: Iterable[Recalled], *, plain: bool = False) -> str:
    """Return facts as sections of text, in their order."""
    sections: dict[int, list[str]] = {}
    for one in found:
        sections.setdefault(one.entity, [header(one.name, plain=plain)]).append(line_of(one, plain=plain))
    return "\n\n".join("\n".join(lines) for lines in sections.values())


def recall(
    view: FactStore,
    query: Query,
    reach: Reach,
    *,
    facts: Facts,
    best_titles: Callable[[], Iterable[str]],
    budget: int | None,
    now: float,
    plain: bool = False,
) -> Recall:
    """Recall what is told about what a query means; without anchors where it means nobody and nothing."""
    anchors = find_anchors(view, query, reach.anchors, best_titles)
    reached = spread(view, [anchor.known for anchor in anchors], reach, facts, now)
    taken, used = told_within(reached, budget, plain=plain)
    return Recall(tuple(anchors), tuple(taken), len(reached), used, budget)
