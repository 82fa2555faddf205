"""Whom and what notes name: persons, concepts, entities, artifacts."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

from memoria.model import Entity, Field, Link
from memoria.text import fold, link_name, name_key

# What `type:` in front matter says a note is about.
TYPES = {
    kind: name
    for name, kinds in {
        "person": "person people contact author character human",
        "concept": "concept idea topic term definition method theory principle pattern",
        "artifact": "artifact file document dataset paper",
        "entity": "entity project organization organisation company team place location city country product tool "
        "software event group institution client customer system service book",
    }.items()
    for kind in kinds.split()
}
PEOPLE = frozenset(
    "people person persons attendees participants members authors author contacts contact guests present with".split()
)
PRECEDENCE = ("concept", "artifact", "entity", "person")  # of several kinds, the last one counts
MAX_NAME_CHARS = 80
MAX_NAME_WORDS = 6
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}\Z")


class Naming(NamedTuple):
    """A place where a note names something, or says that it is about it."""

    node: int  # the atom, or the source
    kind: str
    name: str
    aliases: tuple[str, ...] = ()
    about: bool = False
    line: int | None = None


def entity_node(name: str) -> int:
    """Return the node of what is called so: below 0, the same in every brain."""
    return -1 - int.from_bytes(blake2b(name_of(name).encode("utf-8", "replace"), digest_size=6).digest(), "big")


def name_of(name: str) -> str:
    """Return a name as entities are looked up by it."""
    plain = "" if "+" in name or "#" in name else name_key(name)  # C, C++ and C# are three
    return plain or " ".join(fold(name).split())


def namings(
    source: int,
    title: str,
    aliases: tuple[str, ...],
    fields: Iterable[tuple[int, Field]],
    links: Iterable[tuple[int, Link]],
) -> list[Naming]:
    """Return what a note names. `source` is its node; `links` are those that lead to no note, and persons."""
    found = []
    for node, field in fields:
        if field.name == "type" and node == source:
            kind = TYPES.get(fold(field.value).strip())
            if kind:
                found.append(Naming(source, kind, title, aliases, about=True))
        elif field.name in PEOPLE:
            line = None if node == source else field.line
            found += (Naming(node, "person", name, line=line) for name in people(field.value))
    for atom, link in links:
        name = _name(link)
        if name:
            found.append(Naming(atom, _kind(link), name, line=link.line))
    return found


def people(value: str) -> list[str]:
    """Return the names in a list of people."""
    parts = (part.strip().removeprefix("[[").removesuffix("]]").split("|")[0] for part in re.split(r"[,;\n]", value))
    names = (part.strip().lstrip("@").strip("\"'") for part in parts)
    return [name for name in names if name and name[0].isalpha() and _is_name(name)]


def _name(link: Link) -> str:
    if link.kind == "person":
        return re.sub(r"[._-]+", " ", link.target)
    base = posixpath.basename(link.target.replace("\\", "/").rstrip("/"))
    if is_file(link):
        return base if _is_name(base) else ""
    if link.kind == "markdown":
        return ""  # a path that leads nowhere names nothing
    return base if _is_name(base) and link_name(base) else ""


def _is_name(name: str) -> bool:
    return len(name) <= MAX_NAME_CHARS and len(name.split()) <= MAX_NAME_WORDS and any(map(str.isalnum, name))


def is_file(link: Link) -> bool:
    """Tell whether a link leads to a file that is no note."""
    return bool(_EXTENSION.search(link.target)) and not link.target.lower().endswith((".md", ".markdown", ".txt"))


def _kind(link: Link) -> str:
    return "person" if link.kind == "person" else "artifact" if is_file(link) else "concept"


def gather(
    found: Iterable[tuple[Naming, str | None]], known: Mapping[int, Entity], also_called: Mapping[str, list[int]]
) -> tuple[dict[int, Entity], list[tuple[Naming, int]]]:
    """Return the entities that (naming, the note's day) speak of, and the node of each naming.

    `known` are entities that earlier dreams or people made; `also_called` their names, folded.
    """
    placed: list[tuple[Naming, int, str | None]] = []
    canonical = {name: min(nodes) for name, nodes in also_called.items() if nodes}
    said = {
        name: node
        for name, nodes in also_called.items()
        for node in nodes
        if node in known and known[node].origin == "hand"
    }
    every = list(found)
    for naming, _ in every:
        if naming.about:
            for alias in naming.aliases:
                canonical.setdefault(name_of(alias), entity_node(naming.name))
    for naming, day in every:
        own = entity_node(naming.name)
        node = own if naming.about or own in known else canonical.get(name_of(naming.name), own)
        node = said.get(name_of(naming.name), node)  # people have the last word
        placed.append((naming, node, day))
    entities: dict[int, Entity] = {}
    written: dict[int, Counter[str]] = {}
    for naming, node, day in placed:
        before = entities.get(node) or known.get(node) or Entity(node, naming.kind, "", (), None, "dream")
        kind = max(before.kind, naming.kind, key=PRECEDENCE.index) if before.origin == "dream" else before.kind
        aliases = tuple(sorted({*before.aliases, *(naming.aliases if naming.about else ())}))
        entities[node] = before._replace(
            kind=kind, aliases=aliases, last=max(filter(None, (before.last, day)), default=None)
        )
        if naming.about or name_of(naming.name) == name_of(before.name or naming.name):
            written.setdefault(node, Counter())[naming.name] += 1_000_000 if naming.about else 1
    for node, entity in entities.items():
        if not entity.name:
            names = written.get(node) or Counter({next(n.name for n, at, _ in placed if at == node): 1})
            entities[node] = entity._replace(name=min(names, key=lambda name: (-names[name], name)))
    return entities, [(naming, node) for naming, node, _ in placed]
