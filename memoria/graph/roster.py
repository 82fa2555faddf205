"""Who and what there is: entities with the notes that mention them."""

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from memoria.errors import AmbiguousError, NotFoundError
from memoria.graph.entities import entity_node, is_file, name_of
from memoria.graph.lookup import Known, Trust, known_by, told_of
from memoria.model import Entity, Link, Told, source_of
from memoria.store.facts import FactStore
from memoria.text import link_key

_ENDING = re.compile(r"\.(md|markdown|txt)\Z", re.IGNORECASE)
_NEAR = 3  # names that are suggested


class Listed(NamedTuple):
    """An entity, and how often it comes up."""

    known: Known
    mentions: int  # notes that link to it, name it, or state a fact that leads to it
    last: str | None  # ISO day of the last of them, or of its own notes
    facts: int


class Portrait(NamedTuple):
    """An entity with all that is told about it, and that leads to it."""

    listed: Listed
    told: list[Told]
    incoming: list[Told]


def portrait(view: FactStore, name: str, trust: Trust) -> Portrait:
    """Return an entity with all that is told about it.

    Raises:
        NotFoundError: nothing is called so.

    """
    known = find_entity(view, name)
    sides = told_of(view, [known], trust)[known.entity.node]
    return Portrait(mentions(view, known), sides.about, sides.leading)


def link_names(link: Link) -> str:
    """Return the name that a link mentions, as it is written."""
    if link.kind == "person":
        return re.sub(r"[._-]+", " ", link.target)
    return _ENDING.sub("", posixpath.basename(link.target.replace("\\", "/").rstrip("/")))


def roster(view: FactStore) -> list[Listed]:
    """Return all entities, the most mentioned first."""
    links = view.store.all_links()
    facts = view.all()
    mentioned: dict[str, set[int]] = {}
    written: dict[str, Link] = {}
    for atom, link in links:
        name = name_of(link_names(link))
        if name:
            mentioned.setdefault(name, set()).add(source_of(atom))
            written.setdefault(name, link)
    about: dict[str, set[str]] = {}
    objects = set()
    for fact in facts:
        about.setdefault(fact.subject, set()).add(fact.key)
        if fact.basis in ("people", "relationship", "relation") and fact.object:
            objects.add(fact.object)
        if fact.object and fact.source:
            mentioned.setdefault(fact.object, set()).add(fact.source)
    names = {*view.entity_names(), *written, *about, *objects, *map(name_of, view.typed_titles())}
    found = known_by(view, names)
    every = {known.entity.node: known for some in found.values() for known in some}
    for name, link in written.items():
        if name not in found:
            known = _unknown(link)
            every.setdefault(known.entity.node, known)
    dates = view.dates()
    listed = [
        _listed(known, {source for key in known.keys for source in mentioned.get(key, ())}, about, dates)
        for known in every.values()
    ]
    return sorted(listed, key=lambda one: (-one.mentions, one.known.entity.name, one.known.entity.node))


def _unknown(link: Link) -> Known:
    """Return what a link leads to that no note stands for."""
    name = link_names(link)
    kind = "person" if link.kind == "person" else "artifact" if is_file(link) else "concept"
    return Known(Entity(entity_node(name), kind, name, (), None, "note"), (name_of(name),), ())


def _listed(known: Known, sources: set[int], about: dict[str, set[str]], dates: dict[int, str]) -> Listed:
    own = {note.id for note in known.notes}
    days = [dates[source] for source in sources | own if source in dates]
    facts = {key for name in known.keys for key in about.get(name, ())}
    return Listed(known, len(sources - own), max([*days, *filter(None, [known.entity.last])], default=None), len(facts))


def mentions(view: FactStore, known: Known) -> Listed:
    """Return how often an entity comes up."""
    sources = {source_of(atom) for atom, _ in linking(view, known)}
    pairs = [(subject, key) for _, subject, key in view.leading_to(known.keys, most=1_000_000)]
    sources |= {fact.source for fact in view.at(pairs) if fact.source} if pairs else set()
    about: dict[str, set[str]] = {}
    for fact in view.about(known.keys):
        about.setdefault(fact.subject, set()).add(fact.key)
    own = {note.id for note in known.notes}
    dates = {number: note.date for number, note in view.named(sources | own).items() if note.date}
    return _listed(known, sources, about, dates)


def linking(view: FactStore, known: Known) -> list[tuple[int, Link]]:
    """Return the links that name an entity, with their atoms."""
    atoms = {atom for _, atom in view.store.linking({link_key(key) for key in known.keys})}
    links = view.store.links(sorted(atoms)) if atoms else []
    return [(atom, link) for atom, link in links if name_of(link_names(link)) in known.keys]


def find_entity(view: FactStore, name: str) -> Known:
    """Return the entity that a name, an alias or a key means.

    Raises:
        NotFoundError: nothing is called so.
        AmbiguousError: several are.

    """
    prefix = name.lower()
    if len(prefix) == 12 and not set(prefix) - set("0123456789abcdef"):  # noqa: PLR2004 - a whole key
        found = view.store.entities([-1 - int(prefix, 16)])
        if found:
            name = next(iter(found.values())).name
    known = known_by(view, [name_of(name)]).get(name_of(name), []) or _titled(view, name)
    if not known:
        known = [_unknown(link) for _, link in _links_called(view, name)][:1]
    if not known:
        raise NotFoundError(f"nobody and nothing is called {name!r}", hint=suggestion(view, name))
    if len(known) > 1:
        raise AmbiguousError(name, [f"{one.entity.key}  {one.entity.name} ({one.entity.kind})" for one in known])
    return known[0]


def _titled(view: FactStore, name: str) -> list[Known]:
    """Return the note of this title, where it is too long to be looked up as a name."""
    wanted = name_of(name)
    sources = [source for kind, title, source in view.store.titles() if kind == "title" and name_of(title) == wanted]
    keys = [link_key(note.relpath) for note in view.named(sources[:1]).values()] if sources else []
    return [known for found in known_by(view, keys).values() for known in found if name_of(known.entity.name) == wanted]


def _links_called(view: FactStore, name: str) -> Iterable[tuple[int, Link]]:
    atoms = {atom for _, atom in view.store.linking([link_key(name)])}
    links = view.store.links(sorted(atoms)) if atoms else []
    return [(atom, link) for atom, link in links if name_of(link_names(link)) == name_of(name)]


def suggestion(view: FactStore, name: str) -> str:
    """Return a hint at names that are near."""
    near = [found for found, _ in view.entities_with_words(name_of(name).split(), most=_NEAR)]
    near += [found for _, found, _ in view.store.find_names(name, most=_NEAR, prefix=True)]
    names = ", ".join(dict.fromkeys(f"{found!r}" for found in near))
    return f"did you mean {names}?" if names else "memoria entity list names them"
