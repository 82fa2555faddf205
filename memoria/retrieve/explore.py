"""Explore: what several queries find among people, concepts, relationships, notes and stories, in one ranking."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from memoria.graph.entities import name_of
from memoria.graph.lookup import HOLDING, Known, Sides, Trust, known_by, told_of
from memoria.model import Answer, Hit, Macro, Source, Storyline, Told, source_node, source_of
from memoria.retrieve.filters import Filters, allowed
from memoria.retrieve.matching import Matcher, similarities
from memoria.retrieve.query import Query
from memoria.scoring import (
    ARCHIVED_BELOW,
    DAY_SECONDS,
    USE_AT_BIRTH,
    Weights,
    decayed,
    final_score,
    recency,
    rrf,
    salience,
)
from memoria.store.dreams import DreamStore
from memoria.store.facts import FactStore
from memoria.text import link_key

CANDIDATES = 100  # of each kind, before anything is scored
RELATION_BASES = ("relationship", "relation", "hand")
OF_ITS_NOTE = 0.8  # of a note's similarity counts for what the note is about: to be named is surer
TOP_OF_LINE = 3  # notes of a storyline that tell how much it has to do with a query


class Asked(NamedTuple):
    """One of several queries."""

    text: str
    threshold: float = 0.0
    scope: str = ""  # episodic | people | concepts; everything where it is ""


class Bounds(NamedTuple):
    """Which relationships count: a hard filter, before anything is scored."""

    min_attitude: int | None = None
    max_attitude: int | None = None
    min_proximity: int | None = None
    max_proximity: int | None = None
    types: tuple[str, ...] = ()
    not_types: tuple[str, ...] = ()

    def admits(self, one: Told) -> bool:
        """Tell whether a relationship is within the bounds; one of unknown attitude is outside bounds of attitude."""
        fact = one.fact
        return (
            _within(fact.attitude, self.min_attitude, self.max_attitude)
            and _within(fact.proximity, self.min_proximity, self.max_proximity)
            and (not self.types or fact.predicate in self.types)
            and fact.predicate not in self.not_types
        )


def _within(value: int | None, least: int | None, most: int | None) -> bool:
    if least is None and most is None:
        return True
    return value is not None and (least is None or value >= least) and (most is None or value <= most)


class Relationship(NamedTuple):
    """A fact between two entities."""

    told: Told
    subject: Known
    object: Known


class Parts(NamedTuple):
    """How something came to its score."""

    score: float
    similarity: float  # the best of all queries
    semantic: float  # that counts: the similarity, or with several queries their fused ranks
    recency: float
    salience: float
    ranks: tuple[int | None, ...]  # in each query's results


class Ranked(NamedTuple):
    """Something that was found."""

    item: Any  # Known | SourceHit | Storyline | Macro | Relationship
    parts: Parts


class SourceHit(NamedTuple):
    """A note, and its best passage where its words were found."""

    source: Source
    hit: Hit | None


class Found(NamedTuple):
    """Everything that was gathered and scored."""

    ranked: dict[str, list[Ranked]]  # node | relationship | source | storyline | macro | artifact -> the best first
    queries: tuple[Asked, ...]
    sides: Mapping[int, Sides]  # of the nodes
    storylines: list[Storyline]


class Rules(NamedTuple):
    """What holds for all queries of an exploration."""

    trust: Trust
    weights: Weights = Weights()
    filters: Filters = Filters()
    bounds: Bounds = Bounds()
    archived: bool = False
    candidates: int = CANDIDATES


Search = Callable[[Query, Filters, int], Answer]
Id = tuple[str, Any]


class Explorer:
    """Gathers and scores, from one state of the store."""

    def __init__(self, view: FactStore, search: Search, rules: Rules, now: float) -> None:
        self._view = view
        self._store = view.store
        self._search = search
        self._rules = rules
        self._now = now
        self._items: dict[Id, Any] = {}
        self._sides: dict[int, Sides] = {}
        stories = DreamStore(view.store)
        self._lines = stories.storylines()
        self._macros = stories.macros()
        self._passes = allowed(view.store, rules.filters)
        self.notes: dict[int, Source] = {}

    def explore(self, queries: Iterable[Asked], today: date) -> Found:
        """Gather what each query finds, fuse, and score."""
        asked = tuple(queries)
        found = [self._gather(one, today) for one in asked]
        best: dict[Id, float] = {}
        ranks: dict[Id, list[int | None]] = {}
        for place, similar in enumerate(found):
            by_kind: dict[str, int] = {}
            for one in sorted(similar, key=lambda one: (-similar[one], str(one))):
                by_kind[one[0]] = by_kind.get(one[0], 0) + 1
                ranks.setdefault(one, [None] * len(asked))[place] = by_kind[one[0]]
                best[one] = max(best.get(one, 0.0), similar[one])
        scored = self._score(best, ranks, asked)
        kinds: dict[str, list[Ranked]] = {}
        for (kind, _), ranked in scored:
            kinds.setdefault(kind, []).append(ranked)
        names = ("node", "relationship", "source", "storyline", "macro", "artifact")
        return Found({kind: kinds.get(kind, []) for kind in names}, asked, self._sides, self._lines)

    # Gathering

    def _gather(self, asked: Asked, today: date) -> dict[Id, float]:
        query = Query.parse(asked.text, today)
        matcher = Matcher(query)
        filters = self._rules.filters.joined(query.filters)
        found: dict[Id, float] = {}
        answer = self._search(query, filters, self._rules.candidates)
        sources = self._sources(answer, query, matcher)
        if asked.scope != "episodic":
            found |= self._nodes(matcher, sources, asked.scope)
        if asked.scope in ("", "episodic"):
            found |= {("source", number): similar for number, similar in sources.items()}
            found |= self._stories(matcher, sources)
        found = {one: similar for one, similar in found.items() if similar >= asked.threshold}
        counts: dict[str, int] = {}
        kept = {}
        for one in sorted(found, key=lambda one: (-found[one], str(one))):
            counts[one[0]] = counts.get(one[0], 0) + 1
            if counts[one[0]] <= self._rules.candidates:
                kept[one] = found[one]
        return kept

    def _sources(self, answer: Answer, query: Query, matcher: Matcher) -> dict[int, float]:
        """Return the notes that a search finds, and those that carry a tag which the query names."""
        similar = similarities(answer, query.terms)
        by_path = self._store.source_ids({hit.path for hit in answer.hits})
        found: dict[int, float] = {}
        for hit in answer.hits:
            number = by_path[hit.path]
            if similar[hit.key] > found.get(number, -1.0):
                found[number] = similar[hit.key]
                self._items["source", number] = SourceHit(self._note(number), hit)
        for kind, name in self._store.find_labels(query.terms, most=20):
            if kind == "tag" and self._names_label(matcher, name):
                tagged = sorted({source_of(node) for node in self._store.nodes_with("tag", name) if self._admits(node)})
                for number in tagged[: self._rules.candidates]:
                    self._items.setdefault(("source", number), SourceHit(self._note(number), None))
                    found[number] = 1.0
        return found

    def _names_label(self, matcher: Matcher, name: str) -> bool:
        return any(name_of(part.replace("-", " ")) in matcher.spans for part in (name, name.rsplit("/", 1)[-1]))

    def _admits(self, node: int) -> bool:
        return self._passes is None or self._passes(node)

    def _note(self, number: int) -> Source:
        if number not in self.notes:
            self._read_notes({number})
        return self.notes[number]

    def _read_notes(self, numbers: set[int]) -> None:
        missing = numbers - self.notes.keys()
        if missing:
            self.notes.update(self._store.show((), missing).sources)

    def _nodes(self, matcher: Matcher, sources: Mapping[int, float], scope: str) -> dict[Id, float]:
        names = dict.fromkeys(matcher.spans)
        names |= dict.fromkeys(self._holding(matcher))
        by_title = {name_of(self._note(number).title): similar for number, similar in sources.items()}
        known = known_by(self._view, [*names, *by_title])
        similar: dict[int, float] = {}
        every: dict[int, Known] = {}
        for name, meant in known.items():
            for one in meant:
                value = max(matcher.name(name) if name in names else 0.0, OF_ITS_NOTE * by_title.get(name, 0.0))
                if value > similar.get(one.entity.node, 0.0):
                    similar[one.entity.node] = value
                    every[one.entity.node] = one
        every |= self._related(matcher, every, similar)
        self._read_sides(every.values())
        found: dict[Id, float] = {}
        for node, one in every.items():
            kind = "artifact" if one.entity.kind == "artifact" else "node"
            if scope == "concepts" and one.entity.kind == "person":
                continue
            if self._counts(one):
                self._items[kind, node] = one
                found[kind, node] = similar.get(node, 0.0)
        if scope != "concepts":
            found |= self._relationships(matcher, every, similar)
        return found

    def _holding(self, matcher: Matcher) -> Iterable[str]:
        asked = sorted(matcher.telling)
        most = self._rules.candidates
        names = [name for name, _ in self._view.entities_with_words(asked, most=most)]
        names += (name_of(name) for _, name, _ in self._store.find_names(" ".join(asked), most=most))
        return [name for name in names if matcher.name(name) > 0]

    def _counts(self, known: Known) -> bool:
        """Tell whether a name is somebody or something: a note that nothing is told of, or leads to, is just a note."""
        if known.notes and self._passes is not None and not any(self._passes(source_node(n.id)) for n in known.notes):
            return False
        if known.entity.origin != "note" or known.entity.kind != "concept":
            return True
        sides = self._sides[known.entity.node]
        return bool(sides.about or sides.leading or self._store.linking({link_key(key) for key in known.keys}))

    def _read_sides(self, knowns: Iterable[Known]) -> None:
        missing = [known for known in knowns if known.entity.node not in self._sides]
        if missing:
            self._sides |= told_of(self._view, missing, self._rules.trust)

    def _related(self, matcher: Matcher, every: Mapping[int, Known], similar: dict[int, float]) -> dict[int, Known]:
        """Return the ends of relationships of a type that the query names, or that lie within given bounds."""
        bounds = self._rules.bounds
        bounded = any(value is not None for value in bounds[:4]) or bool(bounds.types)
        predicates = [*(span.replace(" ", "_") for span in matcher.spans), *bounds.types]
        facts = self._view.relationships(predicates, bounds[:4], everything=bounded, most=self._rules.candidates)
        knowns = known_by(self._view, {name for fact in facts for name in (fact.subject, fact.object) if name})
        found: dict[int, Known] = {}
        for fact in facts:
            value = matcher.name(fact.predicate.replace("_", " "))
            for name in (fact.subject, fact.object):
                for one in knowns.get(name, ()):
                    if one.entity.node not in every:
                        found[one.entity.node] = one
                        similar[one.entity.node] = max(similar.get(one.entity.node, 0.0), value)
        return found

    def _relationships(
        self, matcher: Matcher, every: Mapping[int, Known], similar: Mapping[int, float]
    ) -> dict[Id, float]:
        wanted: dict[str, Told] = {}
        for node in every:
            for one in (*self._sides[node].about, *self._sides[node].leading):
                if (
                    one.fact.basis in RELATION_BASES
                    and one.status in HOLDING
                    and self._rules.bounds.admits(one)
                    and (one.fact.source == 0 or self._admits(source_node(one.fact.source)))
                ):
                    wanted[one.fact.key] = one
        ends = known_by(self._view, {name for one in wanted.values() for name in (one.fact.subject, one.fact.object)})
        found: dict[Id, float] = {}
        for key, one in wanted.items():
            subjects, objects = ends.get(one.fact.subject), ends.get(one.fact.object)
            if subjects and objects:
                here = Relationship(one, subjects[0], objects[0])
                self._items["relationship", key] = here
                named = sum(similar.get(known.entity.node, 0.0) for known in (here.subject, here.object)) / 2
                told = max(matcher.name(one.fact.predicate.replace("_", " ")), matcher.text(one.fact.notes))
                found["relationship", key] = max(named, told)
        return found

    def _stories(self, matcher: Matcher, sources: Mapping[int, float]) -> dict[Id, float]:
        found: dict[Id, float] = {}
        lines: dict[str, float] = {}
        for line in self._lines:
            members = [number for number in line.sources if self._admits(source_node(number))]
            if not members:
                continue
            named = max(matcher.name(name_of(name)) for name in (line.anchor, *line.aliases))
            told = matcher.text(f"{line.name} {line.summary}")
            shared = sum(sorted((sources.get(number, 0.0) for number in members), reverse=True)[:TOP_OF_LINE])
            value = max(named, told, shared / TOP_OF_LINE)
            if value > 0:
                lines[line.id] = value
                self._items["storyline", line.id] = line
                found["storyline", line.id] = value
        for macro in self._macros:
            value = max((matcher.text(macro.name), *(lines.get(number, 0.0) for number in macro.storylines)))
            if value > 0:
                self._items["macro", macro.id] = macro
                found["macro", macro.id] = value
        return found

    # Scoring

    def _score(
        self, best: Mapping[Id, float], ranks: Mapping[Id, list[int | None]], queries: Sequence[Asked]
    ) -> list[tuple[Id, Ranked]]:
        central = self._view.saliences(self._all_nodes(best))
        uses = self._view.uses(self._keys(best))
        scored = []
        for one, similar in best.items():
            item = self._items[one]
            placed = tuple(ranks[one])
            semantic = similar if len(queries) == 1 else _fused(one[0], placed, queries)
            recent = recency(max(0.0, self._now - self._last(item, uses)) / DAY_SECONDS)
            salient = self._salience(item, central, uses)
            if salient < ARCHIVED_BELOW and not self._rules.archived:
                continue
            score = final_score(self._rules.weights, semantic, recent, salient)
            scored.append((one, Ranked(item, Parts(score, similar, semantic, recent, salient, placed))))
        return sorted(scored, key=lambda pair: (-pair[1].parts.score, -pair[1].parts.similarity, str(pair[0])))

    def _all_nodes(self, best: Iterable[Id]) -> set[int]:
        nodes: set[int] = set()
        for one in best:
            item = self._items[one]
            if isinstance(item, Known):
                nodes |= {item.entity.node, *(source_node(note.id) for note in item.notes)}
            elif isinstance(item, Relationship):
                nodes |= {item.subject.entity.node, item.object.entity.node}
                nodes |= {source_node(note.id) for known in item[1:] for note in known.notes}
            elif isinstance(item, SourceHit):
                nodes.add(source_node(item.source.id))
            else:
                nodes |= {source_node(number) for number in self._members(item)}
        return nodes

    def _keys(self, best: Iterable[Id]) -> set[str]:
        keys: set[str] = set()
        for one in best:
            item = self._items[one]
            if isinstance(item, SourceHit) and item.hit:
                keys |= set(item.hit.keys)
            elif isinstance(item, Known):
                keys.add(item.entity.key)
        return keys

    def _last(self, item: Any, uses: Mapping[str, tuple[float, int, int]]) -> float:
        """Return when something was changed or used for the last time."""
        if isinstance(item, SourceHit):
            used = [uses[key][1] for key in (item.hit.keys if item.hit else ()) if key in uses]
            return max([_changed(item.source), *used])
        if isinstance(item, Relationship):
            return item.told.at
        if isinstance(item, Known):
            days = [item.entity.last, *(note.date for note in item.notes)]
            stamps = [_seconds(day) for day in days if day] or [note.ingested for note in item.notes]
            used = [uses[item.entity.key][1]] if item.entity.key in uses else []
            facts = [one.fact.made for one in self._sides[item.entity.node].about]
            return max([*stamps, *used], default=max(facts, default=self._now))
        return _seconds(item.last)

    def _salience(self, item: Any, central: Mapping[int, float], uses: Mapping[str, tuple[float, int, int]]) -> float:
        if isinstance(item, SourceHit):
            keys = item.hit.keys if item.hit else ()
            use = max((self._faded(uses[key]) for key in keys if key in uses), default=self._born(item.source.ingested))
            return salience(central.get(source_node(item.source.id), 0.0), use)
        if isinstance(item, Known):
            return self._entity_salience(item, central, uses)
        if isinstance(item, Relationship):
            return max(self._entity_salience(known, central, uses) for known in (item.subject, item.object))
        told = [central.get(source_node(number), 0.0) for number in self._members(item)]
        return salience(max(told, default=0.0), self._born(_seconds(item.last)))

    def _members(self, item: Storyline | Macro) -> list[int]:
        """Return the notes of a storyline, or of all storylines of a macro."""
        if isinstance(item, Storyline):
            return list(item.sources)
        return [number for line in self._lines if line.id in item.storylines for number in line.sources]

    def _entity_salience(
        self, known: Known, central: Mapping[int, float], uses: Mapping[str, tuple[float, int, int]]
    ) -> float:
        own = central.get(known.entity.node, 0.0)
        notes = [salience(central.get(source_node(n.id), 0.0), self._born(n.ingested)) for n in known.notes]
        used = [self._faded(uses[known.entity.key])] if known.entity.key in uses else []
        return max([own, *notes, *used]) if own or notes or used else USE_AT_BIRTH

    def _faded(self, use: tuple[float, int, int]) -> float:
        return decayed(use[0], (self._now - use[1]) / DAY_SECONDS)

    def _born(self, at: float) -> float:
        return decayed(USE_AT_BIRTH, (self._now - at) / DAY_SECONDS)


def _fused(kind: str, ranks: Iterable[int | None], queries: Iterable[Asked]) -> float:
    """Return the fused ranks as a share of what they would be at the top of every query that looks for such things."""
    scopes = ("", "episodic") if kind in ("source", "storyline", "macro") else ("", "people", "concepts")
    looking = [1 for asked in queries if asked.scope in scopes]
    return rrf([rank for rank in ranks if rank is not None]) / rrf(looking)


def _changed(source: Source) -> float:
    """Return when a note was changed: its own date, else its file's."""
    return _seconds(source.date) if source.date else source.mtime / 1e9


def _seconds(day: str) -> float:
    return datetime.fromisoformat(day).astimezone().timestamp()
