"""From names to whom or what they mean, and from there to what is told about it.

Dreams and people make entities that are stored; a note stands for what it is called, with or without one, and so does
the subject of a fact. So facts have their entities from the first ingest on.
"""

from collections.abc import Iterable
from typing import NamedTuple

from memoria.graph.entities import TYPES, entity_node, name_of
from memoria.model import Entity, Fact, Told, source_node, source_of
from memoria.store.facts import FactStore, Named
from memoria.text import fold, link_key

STATUSES = ("staged", "confirmed", "superseded", "retracted")
HOLDING = STATUSES[:2]
USER = "user"  # whom "I" and "me" mean
SURE = 0.9  # over this, a fact supersedes what contradicts it
MOST_INCOMING = 200  # facts that lead to one thing: beyond, it is a common value
_KINDS = ("title", "alias", "file")


class Trust(NamedTuple):
    """What facts are worth, as the settings have it."""

    hand: float = 0.9
    field: float = 0.8
    relation: float = 0.7
    inferred: float = 0.5
    single: frozenset[str] = frozenset()  # predicates of which one holds at a time
    confirm_uses: int = 3

    def confidence(self, fact: Fact) -> float:
        """Return how sure a fact is."""
        if fact.confidence is not None:
            return fact.confidence
        return float(getattr(self, "field" if fact.basis in ("people", "relationship") else fact.basis))


class Known(NamedTuple):
    """An entity, the names under which facts speak of it, and the notes that are called so."""

    entity: Entity
    keys: tuple[str, ...]
    notes: tuple[Named, ...]


def known_by(view: FactStore, names: Iterable[str]) -> dict[str, list[Known]]:
    """Return whom or what each of these names means (as `name_of` has them); names that mean nothing are left out."""
    wanted = list(dict.fromkeys(filter(None, names)))
    if not wanted:
        return {}
    nodes = view.entities_called(wanted)
    stored = view.store.entities({node for found in nodes.values() for node in found})
    meant: dict[str, dict[int, Entity]] = {
        name: {node: stored[node] for node in nodes.get(name, ()) if node in stored} for name in wanted
    }
    called = view.store.called([name for name in wanted if not meant[name]])
    notes = view.named({source for found in called.values() for _, source in found})
    kinds = _kinds(view, notes)
    for name, found in called.items():
        first = min((kind for kind, _ in found), key=_KINDS.index)
        for kind, source in found:
            if kind == first:
                note = notes[source]
                node = entity_node(note.title)
                meant[name].setdefault(node, Entity(node, kinds[source], note.title, note.aliases, note.date, "note"))
    nameless = [name for name in wanted if not meant[name]]
    for fact in view.about(nameless) if nameless else ():
        kind = "person" if fact.subject == USER else "entity"
        entity = Entity(entity_node(fact.name), kind, fact.name, (), None, "note")
        meant[fact.subject].setdefault(entity.node, entity)
    nameless = [name for name in nameless if not meant[name]]
    named = view.named_objects(nameless) if nameless else {}
    for fact in view.keyed({key for _, key in named.values()}):
        kind = "concept" if fact.basis == "relation" else "person"
        entity = Entity(entity_node(fact.value), kind, fact.value, (), None, "note")
        meant[fact.object].setdefault(entity.node, entity)
    known = _with_names(view, {entity.node: entity for found in meant.values() for entity in found.values()})
    return {name: [known[node] for node in sorted(found)] for name, found in meant.items() if found}


def _kinds(view: FactStore, notes: Iterable[int]) -> dict[int, str]:
    """Return what the notes' `type:` says that they are about."""
    kinds = dict.fromkeys(notes, "concept")
    for node, field in view.store.fields(map(source_node, kinds)) if kinds else ():
        if field.name == "type":
            kinds[source_of(node)] = TYPES.get(fold(field.value).strip(), "entity")
    return kinds


def _with_names(view: FactStore, entities: dict[int, Entity]) -> dict[int, Known]:
    names = {
        node: list(dict.fromkeys(filter(None, map(name_of, (entity.name, *entity.aliases)))))
        for node, entity in entities.items()
    }
    called = view.store.called({name for found in names.values() for name in found}) if names else {}
    notes = view.named({source for found in called.values() for _, source in found})
    known = {}
    for node, entity in entities.items():
        own = names[node][0] if names[node] else ""
        keys: list[str] = [own]
        mine: dict[int, Named] = {}
        for key in names[node]:
            here = called.get(key, ())
            titled = [source for kind, source in here if kind == "title"]
            if (
                key != own
                and titled
                and entity.origin != "hand"
                and all(name_of(notes[s].title) != own for s in titled)
            ):
                continue  # an alias that is another note's title means that one
            keys.append(key)
            if key == own or entity.origin == "hand":
                mine.update((source, notes[source]) for kind, source in here if kind == "title")
        keys += (link_key(note.relpath) for note in mine.values())
        known[node] = Known(entity, tuple(dict.fromkeys(filter(None, keys))), tuple(mine[s] for s in sorted(mine)))
    return known


def told(view: FactStore, facts: Iterable[Fact], trust: Trust) -> list[Told]:
    """Return facts with their status and use; the same statement of several places once, the surest first.

    Of predicates in `trust.single`, all facts of their subjects have to be given.
    """
    every = list(facts)
    keys = {fact.key for fact in every}
    states, uses = (view.states(keys), view.uses(keys)) if keys else ({}, {})
    notes = view.named({fact.source for fact in every if fact.source})
    places: dict[str, list[Fact]] = {}
    for fact in every:
        places.setdefault(fact.key, []).append(fact)
    found = []
    for key, same in places.items():
        best = min(same, key=lambda fact: (-trust.confidence(fact), fact.source, fact.line))
        _, at, count = uses.get(key, (0.0, 0, 0))
        status = states.get(key) or ("confirmed" if count >= trust.confirm_uses else "staged")
        made = min(fact.made for fact in same)
        where = sorted((notes[fact.source].path, fact.line) for fact in same if fact.source in notes)
        best = best._replace(made=made)
        found.append(Told(best, trust.confidence(best), status, None, count, max(at, made), tuple(where)))
    found = _superseded(found, trust)
    return sorted(found, key=lambda one: (-one.confidence, one.fact.source != 0, one.places[:1], one.fact.line))


def _superseded(found: list[Told], trust: Trust) -> list[Told]:
    """Mark what a later and surer fact of the same subject contradicts; it held until then."""
    winners: dict[tuple[str, str], Told] = {}
    for one in found:
        fact = one.fact
        if fact.predicate in trust.single and one.status != "retracted" and one.confidence > SURE:
            place = (fact.subject, fact.predicate)
            if place not in winners or _age(winners[place]) < _age(one):
                winners[place] = one
    marked = []
    for one in found:
        winner = winners.get((one.fact.subject, one.fact.predicate))
        if winner and one.status != "retracted" and _age(one) < _age(winner):
            marked.append(one._replace(status="superseded", until=winner.fact.made))
        else:
            marked.append(one)
    return marked


def _age(one: Told) -> tuple[int, bool, int]:
    return one.fact.made, one.fact.source == 0, one.fact.line


class Sides(NamedTuple):
    """What is told about an entity, and about others that leads to it; in whatever status, the surest first."""

    about: list[Told]
    leading: list[Told]


def told_of(view: FactStore, knowns: Iterable[Known], trust: Trust) -> dict[int, Sides]:
    """Return what is told about these entities, and what leads to them."""
    entities = {known.entity.node: known for known in knowns}
    keys = {key for known in entities.values() for key in known.keys}
    if not keys:
        return {}
    facts = {(fact.key, fact.source, fact.line): fact for fact in view.about(keys)}
    led = view.leading_to(keys, most=MOST_INCOMING * len(entities))
    more = view.at({(subject, key) for _, subject, key in led if subject not in keys}) if led else []
    contested = {fact.subject for fact in more if fact.predicate in trust.single}
    more += view.about(contested) if contested else []
    facts.update(((fact.key, fact.source, fact.line), fact) for fact in more)
    every = told(view, facts.values(), trust)
    by_subject: dict[str, list[Told]] = {}
    by_object: dict[str, list[Told]] = {}
    for one in every:
        by_subject.setdefault(one.fact.subject, []).append(one)
        by_object.setdefault(one.fact.object, []).append(one)
    place = {one.fact.key: number for number, one in enumerate(every)}

    def ordered(found: Iterable[Told]) -> list[Told]:
        return sorted(found, key=lambda one: place[one.fact.key])

    return {
        node: Sides(
            _once(ordered(one for key in known.keys for one in by_subject.get(key, ()))),
            ordered(one for key in known.keys for one in by_object.get(key, ()) if one.fact.subject not in known.keys),
        )
        for node, known in entities.items()
    }


def _once(found: Iterable[Told]) -> list[Told]:
    """Return facts without those that say the same under another of the entity's names."""
    kept: dict[tuple[str, str], Told] = {}
    for one in found:
        kept.setdefault((one.fact.predicate, one.fact.object or one.fact.value), one)
    return list(kept.values())
