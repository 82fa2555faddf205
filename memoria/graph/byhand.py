"""What people say by hand: facts and decisions about them, and whom or what names mean."""

from collections.abc import Iterable, Sequence

from memoria.errors import AmbiguousError, NotFoundError, UsageError
from memoria.graph.entities import PRECEDENCE, entity_node, name_of
from memoria.graph.facts import MAX_NAME_CHARS, MAX_PREDICATE_CHARS, MAX_VALUE_CHARS, fact_key, object_of, predicate_of
from memoria.graph.lookup import USER, Known, known_by
from memoria.graph.roster import find_entity
from memoria.model import Edge, Entity, Fact
from memoria.store.facts import FactStore
from memoria.store.writer import StoreWriter

MIN_PREFIX = 4  # digits of a key that are taken for one
_TRIPLE = 3


def checked(text: str, what: str, most: int) -> str:
    """Return a name, a predicate or a value on one line.

    Raises:
        UsageError: nothing is in it, or too much.

    """
    line = " ".join(text.split())
    if not any(map(str.isalnum, line)):
        raise UsageError(f"the {what} {line[:40]!r} says nothing", hint="write at least one letter or digit")
    if len(line) > most:
        raise UsageError(f"the {what} has {len(line):,} characters, and {most} are the most", hint="write it shorter")
    try:
        line.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the {what} {line[:40]!a} is not UTF-8") from None
    return line


def add_fact(store: StoreWriter, said: Sequence[str], confidence: float | None, now: int) -> Fact:
    """State that a subject, by a predicate, has an object.

    Raises:
        UsageError: one of them says nothing, or too much.

    """
    view = FactStore(store)
    subject, predicate, value = (
        checked(text, what, most)
        for text, what, most in zip(
            said,
            ("subject", "predicate", "object"),
            (MAX_NAME_CHARS, MAX_PREDICATE_CHARS, MAX_VALUE_CHARS),
            strict=True,
        )
    )
    known = known_by(view, [name_of(subject)]).get(name_of(subject), [])
    name = known[0].entity.name if len(known) == 1 else subject
    made = [] if known else [Entity(entity_node(name), _kind(name), name, (), None, "hand")]
    kept = predicate_of(predicate)
    key = fact_key(name_of(name), kept, value)
    before = [fact for fact in view.about([name_of(name)]) if not fact.source]
    same = [fact for fact in before if fact.key == key]
    line = same[0].line if same else 1 + max((fact.line for fact in before), default=0)
    fact = Fact(name_of(name), key, 0, line, name, kept, object_of(value), value, "hand", confidence, "user_edit", now)
    view.put(
        same,
        [fact],
        gone_states=[key],
        entities=made,
        names=[(name_of(entity.name), entity.node) for entity in made],
    )
    return fact


def _kind(name: str) -> str:
    return "person" if name_of(name) == USER else "entity"


def find_fact(view: FactStore, said: Sequence[str]) -> Fact:
    """Return the fact that a key, its beginning, or subject, predicate and object mean.

    Raises:
        UsageError: they are neither.
        NotFoundError: there is no such fact.
        AmbiguousError: the beginning of several keys.

    """
    if len(said) == 1:
        prefix = said[0].lower()
        if len(prefix) < MIN_PREFIX or set(prefix) - set("0123456789abcdef"):
            raise UsageError(
                f"{said[0]!r} is no fact's key", hint="memoria fact list shows the keys; or name all three"
            )
        keys = view.with_prefix(prefix)
        if len(keys) > 1:
            facts = view.at((subject, key) for key, subject in keys.items())
            raise AmbiguousError(said[0], list(dict.fromkeys(map(describe, facts))))
        found = view.at((subject, key) for key, subject in keys.items()) if keys else []
    elif len(said) == _TRIPLE:
        known = known_by(view, [name_of(said[0])]).get(name_of(said[0]), [])
        names = {name_of(said[0]), *(key for one in known for key in one.keys)}
        wanted = {fact_key(name, predicate_of(said[1]), said[2]) for name in names}
        found = [fact for fact in view.about(names) if fact.key in wanted]
    else:
        raise UsageError("name one fact: by its key, or by SUBJECT PREDICATE OBJECT")
    if not found:
        raise NotFoundError(f"there is no fact {' '.join(said)!r}", hint="memoria fact list shows them")
    return found[0]


def describe(fact: Fact) -> str:
    """Return a fact on one line."""
    return f"{fact.key}  {fact.name} {fact.predicate}: {fact.value}"


def decide(store: StoreWriter, facts: Iterable[Fact], status: str, now: int) -> None:
    """Confirm facts, or retract them for good."""
    FactStore(store).put(states=[(fact.key, status, now) for fact in facts])


# Entities


def add_entity(store: StoreWriter, name: str, kind: str, aliases: Iterable[str]) -> Entity:
    """Make an entity, or say of one that notes name what it is.

    Raises:
        UsageError: there is no such kind, or a name says nothing.
        AmbiguousError: the name means several.

    """
    view = FactStore(store)
    name = checked(name, "name", MAX_NAME_CHARS)
    if kind not in PRECEDENCE:
        raise UsageError(f"{kind!r} is no kind of entity", hint=f"choose one of {', '.join(PRECEDENCE)}")
    known = known_by(view, [name_of(name)]).get(name_of(name), [])
    _one(name, known)
    entity = known[0].entity if known else Entity(entity_node(name), kind, name, (), None, "hand")
    more = [checked(alias, "alias", MAX_NAME_CHARS) for alias in aliases]
    return _put(view, entity._replace(kind=kind), [*entity.aliases, *more])


def rename_entity(store: StoreWriter, name: str, new: str) -> Entity:
    """Show an entity under another name; it keeps the old one as an alias."""
    view = FactStore(store)
    new = checked(new, "name", MAX_NAME_CHARS)
    entity = find_entity(view, name).entity
    _free(view, new, entity)
    return _put(view, entity._replace(name=new), [entity.name, *entity.aliases])


def alias_entity(store: StoreWriter, name: str, aliases: Iterable[str]) -> Entity:
    """Give an entity other names."""
    view = FactStore(store)
    more = [checked(alias, "alias", MAX_NAME_CHARS) for alias in aliases]
    entity = find_entity(view, name).entity
    for alias in more:
        _free(view, alias, entity)
    return _put(view, entity, [*entity.aliases, *more])


def merge_entities(store: StoreWriter, name: str, into: str) -> Entity:
    """Let two names mean one entity: what is told about the first is told about the second."""
    view = FactStore(store)
    gone, kept = find_entity(view, name).entity, find_entity(view, into).entity
    if gone.node == kept.node:
        raise UsageError(f"{name!r} and {into!r} are one already")
    edges = [edge for edge in store.edges([gone.node]) if edge.end != kept.node]
    known = {(edge.end, edge.kind) for edge in store.edges([kept.node])}
    moved = [edge._replace(start=kept.node) for edge in edges if (edge.end, edge.kind) not in known]
    own = [edge for edge in store.edges([gone.node]) if edge.end == kept.node]
    store.put_edges([*edges, *own], _distinct(moved))
    entity = _put(view, kept, [*kept.aliases, gone.name, *gone.aliases])
    view.put(
        gone_entities=[gone.node],
        gone_names=[(name_of(other), gone.node) for other in (gone.name, *gone.aliases)],
    )
    return entity


def _distinct(edges: Iterable[Edge]) -> list[Edge]:
    return list({(edge.end, edge.kind): edge for edge in edges}.values())


def _one(name: str, known: Sequence[Known]) -> None:
    if len(known) > 1:
        raise AmbiguousError(name, [f"{one.entity.key}  {one.entity.name} ({one.entity.kind})" for one in known])


def _free(view: FactStore, name: str, entity: Entity) -> None:
    """See that a name does not mean another entity.

    Raises:
        UsageError: it does.

    """
    others = [one.entity for one in known_by(view, [name_of(name)]).get(name_of(name), [])]
    for other in others:
        if other.node != entity.node and name_of(name) != name_of(entity.name):
            raise UsageError(
                f"{name!r} already means {other.name} ({other.kind})",
                hint=f"memoria entity merge {name!r} {entity.name!r} makes them one",
            )


def _put(view: FactStore, entity: Entity, aliases: Iterable[str]) -> Entity:
    others = tuple(sorted({alias for alias in aliases if name_of(alias) != name_of(entity.name)}))
    entity = entity._replace(aliases=others, origin="hand")
    view.put(entities=[entity], names=sorted({(name_of(name), entity.node) for name in (entity.name, *others)}))
    return entity
