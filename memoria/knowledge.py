"""What a brain knows about whom and what: entities, facts, and what recalls them."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from memoria.brain import Brain
from memoria.errors import StoreMissingError, UsageError
from memoria.graph import byhand
from memoria.graph.entities import PRECEDENCE
from memoria.graph.facts import predicate_of
from memoria.graph.lookup import HOLDING, STATUSES, Known, Sides, Trust, known_by, told, told_of
from memoria.graph.roster import Listed, Portrait, find_entity, portrait, roster
from memoria.graph.settle import settle
from memoria.model import Answer, Entity, Told
from memoria.retrieve import traverse as traversing
from memoria.retrieve.expansion import expand
from memoria.retrieve.explore import Asked, Explorer, Rules
from memoria.retrieve.filters import Filters
from memoria.retrieve.granularity import Explored, Teller
from memoria.retrieve.nodes import Reached, described, starts_of
from memoria.retrieve.query import Query
from memoria.retrieve.recall import Reach, Recall, recall
from memoria.retrieve.walker import Request
from memoria.store import Seen, Store
from memoria.store.facts import FactStore
from memoria.store.writer import StoreWriter
from memoria.text import fold

_TITLES = 10  # hits of a search whose notes may be anchors
_REMEMBERED = 4_000  # answers, and entities
_WARMED = 50


class Knowledge:
    """Entities and facts of a brain."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain

    def _seen(self, look: Callable[[Store], Seen]) -> Seen:
        """Return what `look` sees in the store, of one state."""
        with self.brain.reading() as store:
            return store.of_one_state(lambda: look(store))

    def recall(self, query: Query, reach: Reach, **options: Any) -> Recall:
        """Recall what is told about what a query means."""
        with self.brain.reading() as store:
            return Memory(self, store).recall(query, reach, **options)

    def explore(
        self, queries: Sequence[Asked], granularity: int, rules: Rules, *, multi_query: bool = False
    ) -> Explored:
        """Explore what queries find; with `multi_query`, each is joined by those that complement it."""
        now = time.time()
        today = datetime.fromtimestamp(now, UTC).astimezone().date()

        def look(store: Store) -> Explored:
            view = FactStore(store)

            def search(query: Query, filters: Filters, limit: int) -> Answer:
                return self.brain.answer(store, Request(query, filters, None, limit))

            asked = list(queries)
            for one in queries if multi_query else ():
                query = Query.parse(one.text, today)
                found = search(query, rules.filters.joined(query.filters), _TITLES)
                asked += expand(view, query, found, rules.trust, one.threshold)
            explored = Explorer(view, search, rules, now).explore(asked, today)
            return Teller(view, explored, granularity).tell()

        return self._seen(look)

    def traverse(
        self,
        names: Sequence[str],
        *,
        mode: str = "walk",
        depth: int = traversing.DEPTH,
        top: int = traversing.TOP,
        damping: float = traversing.DAMPING,
        kinds: Sequence[str] = (),
    ) -> list[Reached]:
        """Return what is around some nodes: atoms, notes or entities.

        Raises:
            NotFoundError: nothing is called so.

        """

        def look(store: Store) -> list[Reached]:
            view = FactStore(store)
            starts = [node for name in names for node in starts_of(view, name)]
            edges = traversing.edges_of(store, kinds)
            if mode == "ppr":
                steps = traversing.ranked(edges, starts, depth, damping)
            else:
                steps = traversing.walk(edges, starts, depth)
            first = [step for step in steps if step.edge is None]
            return described(store, [*first, *[step for step in steps if step.edge is not None][:top]])

        return self._seen(look)

    @property
    def trust(self) -> Trust:
        """What facts are worth."""
        return Trust(
            **{
                name: self.brain.config[f"facts.{name}"]
                for name in ("hand", "field", "relation", "inferred", "confirm_uses")
            },
            single=frozenset(self.brain.config["facts.single"]),
        )

    def facts(
        self, subject: str = "", *, predicate: str | None = None, status: str | None = None, everything: bool = False
    ) -> list[Told]:
        """Return facts: those that hold, those of a status, or all.

        Raises:
            NotFoundError: nobody and nothing is called so.

        """
        if status is not None and status not in STATUSES:
            raise UsageError(f"{status!r} is no status of a fact", hint=f"choose one of {', '.join(STATUSES)}")

        def look(store: Store) -> list[Told]:
            view = FactStore(store)
            if subject:
                known = find_entity(view, subject)
                return told_of(view, [known], self.trust)[known.entity.node].about
            return sorted(told(view, view.all(), self.trust), key=lambda one: (one.fact.subject, one.fact.predicate))

        wanted = (status,) if status else STATUSES if everything else HOLDING
        kept = predicate_of(predicate) if predicate else None
        return [
            one for one in self._seen(look) if one.status in wanted and (kept is None or one.fact.predicate == kept)
        ]

    def entities(self, text: str = "", kind: str | None = None) -> list[Listed]:
        """Return the entities with `text` in a name, the most mentioned first."""
        if kind is not None and kind not in PRECEDENCE:
            raise UsageError(f"{kind!r} is no kind of entity", hint=f"choose one of {', '.join(PRECEDENCE)}")
        wanted = fold(text)
        return [
            one
            for one in self._seen(lambda store: roster(FactStore(store)))
            if kind in (None, one.known.entity.kind)
            and any(wanted in fold(name) for name in (one.known.entity.name, *one.known.entity.aliases))
        ]

    def entity(self, name: str) -> Portrait:
        """Return an entity with all that is told about it.

        Raises:
            NotFoundError: nobody and nothing is called so.

        """
        return self._seen(lambda store: portrait(FactStore(store), name, self.trust))

    @contextmanager
    def _stating(self, wait: float | None) -> Iterator[StoreWriter]:
        """Open the store to write facts or entities: all notes are read for theirs first."""
        with self.brain.writing(wait) as store:
            settle(store, int(time.time()))
            yield store

    def add_fact(self, said: Sequence[str], confidence: float | None, wait: float | None = None) -> list[Told]:
        """State a fact by hand."""
        with self._stating(wait) as store:
            return self._told(store, byhand.add_fact(store, said, confidence, int(time.time())).key)

    def decide(self, said: Sequence[str], status: str, wait: float | None = None) -> list[Told]:
        """Confirm a fact, or retract it for good.

        Raises:
            NotFoundError: there is no such fact.

        """
        if not self.brain.exists:
            raise StoreMissingError(self.brain.folder)
        with self._stating(wait) as store:
            fact = byhand.find_fact(FactStore(store), said)
            byhand.decide(store, [fact], status, int(time.time()))
            return self._told(store, fact.key)

    def _told(self, store: Store, key: str) -> list[Told]:

        view = FactStore(store)
        about = view.about(view.with_prefix(key).values())
        return [one for one in told(view, about, self.trust) if one.fact.key == key]

    def contradicting(self, one: Told) -> list[Told]:
        """Return what else holds of the same subject, where only one thing can."""
        if one.fact.predicate not in self.trust.single:
            return []

        def look(store: Store) -> list[Told]:
            view = FactStore(store)
            return told(view, view.about([one.fact.subject]), self.trust)

        return [
            other
            for other in self._seen(look)
            if other.fact.key != one.fact.key and other.fact.predicate == one.fact.predicate and other.status in HOLDING
        ]

    def add_entity(self, name: str, kind: str, aliases: Iterable[str], wait: float | None = None) -> Entity:
        """Make an entity."""
        with self._stating(wait) as store:
            return byhand.add_entity(store, name, kind, aliases)

    def rename_entity(self, name: str, new: str, wait: float | None = None) -> Entity:
        """Show an entity under another name."""
        with self._stating(wait) as store:
            return byhand.rename_entity(store, name, new)

    def alias_entity(self, name: str, aliases: Iterable[str], wait: float | None = None) -> Entity:
        """Give an entity other names."""
        with self._stating(wait) as store:
            return byhand.alias_entity(store, name, aliases)

    def merge_entities(self, name: str, into: str, wait: float | None = None) -> Entity:
        """Make one of two entities."""
        with self._stating(wait) as store:
            return byhand.merge_entities(store, name, into)


class Memory:
    """An open store in a process that lives on: it remembers answers for a while, and what is told of entities.

    Both are dropped when the store has changed.
    """

    def __init__(self, knowledge: Knowledge, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self._knowledge = knowledge
        self._store = store
        self._view = FactStore(store)
        self._clock = clock
        self._generation = -1
        self._answers: dict[tuple[Any, ...], tuple[float, Recall]] = {}
        self._sides: dict[int, Sides] = {}
        self.hits = 0  # answers that were remembered

    def recall(
        self, query: Query, reach: Reach, *, budget: int | None = None, plain: bool = False, limit: int = _TITLES
    ) -> Recall:
        """Recall what is told about what a query means."""
        config = self._knowledge.brain.config
        if budget is None:
            budget = config["search.budget"]
        self._forget_if_changed()
        now = self._clock()
        asked = (query.text, query.phrases, query.excluded, query.excluded_phrases, query.filters, reach, budget, plain)
        known = self._answers.get(asked)
        if known and now - known[0] < config["recall.cache_seconds"]:
            self.hits += 1
            return known[1]

        def best_titles() -> list[str]:
            request = Request(query, query.filters, None, limit)
            return [hit.title for hit in self._knowledge.brain.answer(self._store, request).hits]

        found = self._store.of_one_state(
            lambda: recall(
                self._view, query, reach,
                facts=self._facts, best_titles=best_titles, budget=budget, now=now, plain=plain,
            )
        )  # fmt: skip
        if len(self._answers) >= _REMEMBERED:
            self._answers.clear()
        self._answers[asked] = (now, found)
        return found

    def warm(self, most: int = _WARMED) -> int:
        """Read what is told of the entities that most facts lead to, ahead of the first question."""
        self._forget_if_changed()
        found = known_by(self._view, self._view.most_named(most))
        knowns = [known for some in found.values() for known in some]
        self._sides.update(self._facts(knowns))
        return len(knowns)

    def _forget_if_changed(self) -> None:
        generation = self._store.generation()
        if generation != self._generation:
            self._generation = generation
            self._answers.clear()
            self._sides.clear()

    def _facts(self, knowns: Iterable[Known]) -> dict[int, Sides]:
        wanted = list(knowns)
        self._forget_if_changed()
        missing = [known for known in wanted if known.entity.node not in self._sides]
        if missing:
            if len(self._sides) > _REMEMBERED:
                self._sides.clear()
                missing = wanted
            self._sides.update(told_of(self._view, missing, self._knowledge.trust))
        return {known.entity.node: self._sides[known.entity.node] for known in wanted}
