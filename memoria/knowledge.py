"""What a brain knows about whom and what: entities, facts, and what recalls them."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from memoria.brain import Brain
from memoria.errors import StoreMissingError, UsageError
from memoria.graph import byhand
from memoria.graph.entities import PRECEDENCE
from memoria.graph.facts import predicate_of
from memoria.graph.lookup import HOLDING, STATUSES, Trust, told, told_of
from memoria.graph.roster import Listed, Portrait, find_entity, portrait, roster
from memoria.graph.settle import settle
from memoria.model import Entity, Told
from memoria.store import Seen, Store
from memoria.store.facts import FactStore
from memoria.store.writer import StoreWriter
from memoria.text import fold


class Knowledge:
    """Entities and facts of a brain."""

    def __init__(self, brain: Brain) -> None:
        self.brain = brain

    def _seen(self, look: Callable[[Store], Seen]) -> Seen:
        """Return what `look` sees in the store, of one state."""
        with self.brain.reading() as store:
            return store.of_one_state(lambda: look(store))

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
                return told_of(view, find_entity(view, subject), self.trust)
            return sorted(told(view, view.all(), self.trust), key=lambda one: (one.fact.subject, one.fact.predicate))

        wanted = (status,) if status else STATUSES if everything else HOLDING
        kept = predicate_of(predicate) if predicate else None
        return [
            one
            for one in self._seen(look)
            if one.status in wanted and (kept is None or one.fact.predicate == kept)
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
