"""The edges that people wrote: links and typed relations, resolved, from atoms to notes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memoria.links import Resolver
from memoria.model import Edge, Link, source_node, source_of
from memoria.scoring import LINK_WEIGHT, SURE_WEIGHT
from memoria.store.store import Place, Store
from memoria.store.writer import StoreWriter

_BOTH_WAYS = "both ways"
END_TAGS = 3  # of each end, where the two share none
_PAGE = 5_000  # atoms whose links are read together
_WHOLE = 0.2  # of the sources: from here on, all links are read at once


class _Meant(NamedTuple):
    """A link that was resolved: from an atom to a note."""

    atom: int
    source: int
    link: Link


def settle(store: StoreWriter) -> int:
    """Resolve the links of what changed, and those that may mean another note now; return how many edges changed.

    What a link means depends on the names and places of all notes, so what is read here is: the links of changed
    notes, the links that name one of them, and the links back where a note began or ceased to link to another.
    """
    pending = store.unsettled()
    if not pending:
        return 0
    places = store.places()
    everything = len(pending) > _WHOLE * len(places)
    resolver = Resolver(places)
    by_id = {place.id: place for place in places}
    if everything:
        links = _by_atom(store.all_links())
        stored = store.meant_edges()
    else:
        atoms = _atoms_of(store, pending)
        named = {name for names in pending.values() for name in names}
        atoms |= {atom for _, atom in store.linking(named)}
        links, stored = _read(store, atoms)
    meant = _resolved(links, resolver, by_id)
    if not everything:
        before = {(source_of(edge.start), source_of(edge.end)) for edge in stored}
        after = {(source_of(found.atom), found.source) for found in meant}
        back = (_linking_back(store, before ^ after) | _linked_both_ways(store, pending)) - links.keys()
        more, more_stored = _read(store, back)
        meant += _resolved(more, resolver, by_id)
        stored += more_stored
        links |= more
    pairs = {(source_of(found.atom), found.source) for found in meant}
    if not everything:
        pairs |= _stored_pairs(store, pairs, links.keys())
    tags = _tags(store, meant)
    wanted = _edges(meant, pairs, tags)
    have = set(stored)
    gone, new = have - wanted, wanted - have
    store.put_edges(sorted(gone), sorted(new), pending)
    return len(gone | new)


def _by_atom(links: Iterable[tuple[int, Link]]) -> dict[int, list[Link]]:
    found: dict[int, list[Link]] = {}
    for atom, link in links:
        found.setdefault(atom, []).append(link)
    return found


def _atoms_of(store: Store, sources: Iterable[int]) -> set[int]:
    outlines = store.outlines(sources)
    return {source_node(source) + place.ordinal for source, places in outlines.items() for place in places}


def _read(store: Store, atoms: Iterable[int]) -> tuple[dict[int, list[Link]], list[Edge]]:
    """Return the links of these atoms, and the edges that the store has for them."""
    ordered = sorted(atoms)
    links: dict[int, list[Link]] = {atom: [] for atom in ordered}
    stored: list[Edge] = []
    for start in range(0, len(ordered), _PAGE):
        page = ordered[start : start + _PAGE]
        links |= _by_atom(store.links(page))
        stored += (edge for edge in store.edges(page) if edge.origin == "note" and edge.way != "in")
    return links, stored


def _resolved(links: dict[int, list[Link]], resolver: Resolver[Place], places: dict[int, Place]) -> list[_Meant]:
    found = []
    for atom, written in links.items():
        origin = places.get(source_of(atom))
        if origin is None:
            continue
        for link in written:
            if link.kind != "person":
                note = resolver.resolve(link.target, origin)
                if note is not None and note.id != origin.id:
                    found.append(_Meant(atom, note.id, link))
    return found


def _linking_back(store: Store, pairs: Iterable[tuple[int, int]]) -> set[int]:
    """Return the atoms of the second note of each pair that link to the first: their weight changes with it."""
    ends: dict[int, set[int]] = {}
    for start, end in pairs:
        ends.setdefault(source_node(start), set()).add(end)
    edges = store.edges(ends) if ends else []
    return {edge.end for edge in edges if _links_here(edge) and source_of(edge.end) in ends[edge.start]}


def _linked_both_ways(store: Store, sources: Iterable[int]) -> set[int]:
    """Return the atoms whose links count for more because these notes link back: atoms of theirs may be gone."""
    edges = store.edges([source_node(source) for source in sources])
    return {edge.end for edge in edges if _links_here(edge) and edge.why == _BOTH_WAYS}


def _stored_pairs(store: Store, pairs: Iterable[tuple[int, int]], but: Iterable[int]) -> set[tuple[int, int]]:
    """Return who links to the notes that link, as the store knows it, without what these atoms link to."""
    read = set(but)
    edges = store.edges({source_node(start) for start, _ in pairs}) if pairs else []
    return {
        (source_of(edge.end), source_of(edge.start)) for edge in edges if _links_here(edge) and edge.end not in read
    }


def _links_here(edge: Edge) -> bool:
    return edge.origin == "note" and edge.way == "in" and edge.kind in ("link", "relation")


def _tags(store: Store, meant: Sequence[_Meant]) -> dict[int, list[str]]:
    nodes = {found.atom for found in meant}
    nodes |= {source_node(source_of(found.atom)) for found in meant} | {source_node(found.source) for found in meant}
    ordered = sorted(nodes)
    tags: dict[int, list[str]] = {}
    for start in range(0, len(ordered), _PAGE):
        tags |= store.node_tags(ordered[start : start + _PAGE])
    return tags


def edge_tags(ours: Iterable[str], theirs: Iterable[str]) -> tuple[str, ...]:
    """Return the tags of an edge: what both ends share, else up to three of each."""
    one, other = sorted(set(ours)), sorted(set(theirs))
    shared = [tag for tag in one if tag in other]
    return tuple(shared or sorted({*one[:END_TAGS], *other[:END_TAGS]}))


def _order(link: Link) -> tuple[bool, int, Link]:
    return link.kind != "relation", link.line, link


def _edges(meant: Iterable[_Meant], pairs: set[tuple[int, int]], tags: dict[int, list[str]]) -> set[Edge]:
    """Return one edge for each atom and note it links to; a typed relation counts for more than a link."""
    best: dict[tuple[int, int], Link] = {}
    for atom, source, link in meant:
        known = best.get((atom, source))
        if known is None or _order(link) < _order(known):
            best[atom, source] = link
    found = set()
    for (atom, source), link in best.items():
        typed = link.kind == "relation"
        both = (source, source_of(atom)) in pairs
        ours = [*tags.get(atom, ()), *tags.get(source_node(source_of(atom)), ())]
        found.add(
            Edge(
                start=atom,
                end=source_node(source),
                kind="relation" if typed else "link",
                weight=SURE_WEIGHT if typed or both else LINK_WEIGHT,
                way="out",
                tags=edge_tags(ours, tags.get(source_node(source), ())),
                origin="note",
                why=_BOTH_WAYS if both else "",  # what it says stands in the note, and in `link`
                line=link.line,
                type=link.text if typed else None,
            )
        )
    return found
