"""Phases 2 and 3: what the best anchors name and share, and where that leads."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from memoria.model import Bridge, source_node, source_of
from memoria.retrieve.anchors import Anchors
from memoria.retrieve.budget import Shares
from memoria.retrieve.pages import Pages
from memoria.scoring import (
    FULL_NAME,
    MOST_BACKLINKS,
    MOST_SHARED,
    OTHER_ATOMS,
    TAG,
    Bm25,
    backlink_bridge,
    link_bridge,
    shared_bridge,
)
from memoria.store import Store
from memoria.text import MAX_NAME_WORDS, fold, link_key, name_key, phrase_keys, words_as_written

if TYPE_CHECKING:
    from memoria.retrieve.activation import Limits

GENERIC_SHARE = 0.1  # of all notes: a label that more of them have tells nothing
NOTE_REACH = 12  # atoms of an anchor's note, before and after it, whose links and names count for it
NOTE_SHARE = 0.5
STRICT_MOST_NOTES = 2_000


class Walk(NamedTuple):
    """How to walk: the settings in force."""

    bm25: Bm25 = Bm25()
    boost_labels: float = 2.0
    harvest_top: int = 3
    ignore: tuple[str, ...] = ("inbox", "_untagged")
    shares: Shares = Shares()
    walking: bool = True
    strict: bool = False
    dreamed: bool = False  # whether tags of dreams are bridges
    activating: "Limits | None" = None  # energy spreads from the best hits, too


class Reach:
    """What leads to an atom, and what that lends."""

    __slots__ = ("bridges", "lent")

    def __init__(self) -> None:
        self.lent = 0.0
        self.bridges: dict[tuple[str, str, int], tuple[float, Bridge]] = {}

    def add(self, lent: float, bridge: Bridge) -> None:
        """Note a bridge; only the strongest lends."""
        self.lent = max(self.lent, lent)
        place = (bridge.kind, bridge.name, bridge.anchor)
        if place not in self.bridges or self.bridges[place][0] < lent:
            self.bridges[place] = (lent, bridge)

    def strongest(self) -> list[Bridge]:
        """Return the bridges that lead here from one atom, the strongest first."""
        ordered = sorted(self.bridges.values(), key=lambda pair: (-pair[0], pair[1].kind, pair[1].name))
        return [bridge for _, bridge in ordered if bridge.anchor == ordered[0][1].anchor]


class Harvest:
    """Phases 2 and 3: what the best anchors name and share, and where that leads."""

    def __init__(self, store: Store, anchors: Anchors, walk: Walk, pages: Pages, query_words: set[str]) -> None:
        self._store = store
        self._anchors = anchors
        self._walk = walk
        self._pages = pages
        self._total = anchors.atoms
        self._query_words = query_words
        self._reached: dict[int, Reach] = {}
        self._outlines = anchors.outlines
        self._linking: dict[str, set[int]] = {}  # name -> atoms with a link to it
        self.bridges: dict[tuple[str, str], Bridge] = {}

    def from_anchors(self, tops: list[tuple[int, float]]) -> tuple[dict[int, Reach], list[Bridge]]:
        """Walk from these (atom, strength)."""
        around = self._around(tops)
        starts = [*((atom, strength, atom) for atom, strength in tops), *around]
        atoms = [atom for atom, _, _ in starts]
        linked: dict[int, list[str]] = {atom: [] for atom in atoms}
        for atom, link in self._store.links(atoms):
            linked[atom].append(link_key(link.target))
        phrases = self._store.phrases(atoms)
        entities = {atom: _entities(found) for atom, found in phrases.items()}
        # In the anchors themselves any run of words may be a title; around them only what is written as a name.
        written = {atom: [runs for phrase in found for runs in _names_in(phrase)] for atom, found in phrases.items()}
        written |= {atom: _names_in(self._pages.text(atom)) for atom, _ in tops}
        own = {source_of(atom): self._own_names(source_of(atom)) for atom, _ in tops}
        named = {name for places in written.values() for names in places for name in names} | _flat(linked) - {""}
        called = self._store.called(named)
        keys = called.keys() | _flat(own) | _flat(entities)
        mentions = self._mentions(keys - {""})
        names = {atom: _mentioned(written[atom], linked[atom], called, own[source_of(atom)]) for atom in entities}
        self._read_outlines(source for found in names.values() for sources in found.values() for source in sources)
        for atom, strength, anchor in starts:
            if atom in entities:
                self._names(anchor, strength, names[atom], mentions)
                self._shared_names(anchor, strength, entities[atom], mentions)
        links = self._store.link_counts(_naming(_flat(own), self._linking))
        for atom, strength in tops:
            self._backlinks(atom, strength, own[source_of(atom)], mentions, links)
        self._labels(tops, max(2, min(MOST_SHARED, self._anchors.sources * GENERIC_SHARE)))
        return self._reached, self._ordered_bridges()

    def _around(self, tops: list[tuple[int, float]]) -> list[tuple[int, float, int]]:
        """Return (atom, strength, anchor) of what stands in the anchors' notes: it names for them, too, if less."""
        found: dict[int, tuple[float, int]] = {}
        for anchor, strength in tops:
            node = source_node(source_of(anchor))
            outline = self._pages.shown.outlines[source_of(anchor)]
            place = self._pages.place(anchor)[2]
            for here in outline[max(0, place - NOTE_REACH) : place + NOTE_REACH + 1]:
                found.setdefault(node + here.ordinal, (strength * NOTE_SHARE, anchor))
        for anchor, _ in tops:
            found.pop(anchor, None)
        return [(atom, strength, anchor) for atom, (strength, anchor) in found.items()]

    def strictly_from(self, tops: list[tuple[int, float]]) -> tuple[dict[int, Reach], list[Bridge]]:
        """Walk over tags and buckets alone; what every bridge lends adds up."""
        self._labels(tops, STRICT_MOST_NOTES)
        for reach in self._reached.values():
            reach.lent = sum(lent for lent, _ in reach.bridges.values())
        return self._reached, self._ordered_bridges()

    def _ordered_bridges(self) -> list[Bridge]:
        return sorted(self.bridges.values(), key=lambda bridge: (-bridge.weight, bridge.kind, bridge.name))

    def _read_outlines(self, sources: Iterable[int]) -> None:
        missing = set(sources) - self._outlines.keys()
        if missing:
            self._outlines.update(self._store.outlines(missing))

    def _own_names(self, source: int) -> list[str]:
        known = self._pages.shown.sources[source]
        keys = [*map(name_key, (known.title, *known.aliases)), link_key(known.relpath)]
        return list(dict.fromkeys(filter(None, keys)))

    def _mentions(self, keys: Iterable[str]) -> dict[str, set[int]]:
        """Return the atoms that name something, in running text or by a link."""
        wanted = list(keys)
        found = {key: set(atoms) for key, atoms in self._store.mentions(wanted).items()}
        for name, atom in self._store.linking(wanted):
            found[name].add(atom)
            self._linking.setdefault(name, set()).add(atom)
        return {key: atoms - self._anchors.dead for key, atoms in found.items()}

    def _names(self, anchor: int, strength: float, names: dict[str, set[int]], mentions: dict[str, set[int]]) -> None:
        """Titles and links: from the anchor to the notes that it names."""
        for name, sources in names.items():
            lent = link_bridge(strength, self._total, len(mentions.get(name, ())), len(sources))
            for source in sources:
                self._lend_to_note(source, lent, Bridge("title", name, lent, anchor), anchor)

    def _backlinks(
        self, anchor: int, strength: float, own: list[str], mentions: dict[str, set[int]], links: dict[int, int]
    ) -> None:
        """From the anchor to the atoms that name its note."""
        naming = _naming(own, mentions) - {anchor}
        mine = source_node(source_of(anchor))
        others = sorted(atom for atom in naming if source_node(source_of(atom)) != mine)
        if others:
            title = self._pages.shown.sources[source_of(anchor)].title
            for atom in others[:MOST_BACKLINKS]:
                lent = backlink_bridge(strength, self._total, len(others), links.get(atom, 0))
                self._lend(atom, lent, Bridge("backlink", title, lent, anchor))

    def _shared_names(self, anchor: int, strength: float, entities: list[str], mentions: dict[str, set[int]]) -> None:
        """From the anchor to the atoms of other notes that name the same."""
        for name in entities:
            naming = mentions.get(name, set())
            holding = len(naming)
            if not 1 < holding <= MOST_SHARED or self._query_words.issuperset(name.split(" ")):
                continue
            lent = shared_bridge(strength, self._total, holding) * (FULL_NAME if " " in name else 1.0)
            for atom in naming:
                if source_of(atom) != source_of(anchor):
                    self._lend(atom, lent, Bridge("name", name, lent, anchor))

    def _labels(self, tops: list[tuple[int, float]], most: float) -> None:
        """From the anchors to the notes and atoms that share a tag or a bucket with them."""
        lenders: dict[int, tuple[int, float, int]] = {}  # node -> rank, strength, anchor
        for rank, (atom, strength) in enumerate(tops):
            for node in (atom, source_node(source_of(atom))):
                lenders.setdefault(node, (rank, strength, atom))
        notes = self._anchors.sources
        bridges: dict[tuple[str, str], list[Bridge]] = {}
        for kind, name, holding, nodes in self._store.harvest(lenders, dreamed=self._walk.dreamed):
            if name in self._walk.ignore or not 1 < holding <= most:
                continue
            meant = TAG if kind == "tag" else 1.0
            bridges[kind, name] = [
                Bridge(kind, name, meant * shared_bridge(strength, notes, holding), anchor)
                for _, strength, anchor in sorted(lenders[node] for node in nodes)
            ]
        weighed = ((kind, name, found[0].weight) for (kind, name), found in bridges.items())
        reached = self._store.walk(weighed, dreamed=self._walk.dreamed)
        self._read_outlines(source_of(node) for node, _, _, _ in reached)
        for node, _, kind, name in reached:
            home = source_of(node)
            bridge = next((bridge for bridge in bridges[kind, name] if source_of(bridge.anchor) != home), None)
            if bridge is None:
                continue
            if node == source_node(home):
                self._lend_to_note(home, bridge.weight, bridge, bridge.anchor)
            else:
                self._lend(node, bridge.weight, bridge)

    def _lend_to_note(self, source: int, lent: float, bridge: Bridge, anchor: int) -> None:
        """Lend to all atoms of a note: all of it to the one that answers best, less to the others."""
        node = source_node(source)
        atoms = [node + here.ordinal for here in self._outlines.get(source, ())]
        if not atoms:
            return
        scores = self._anchors.scores
        best = max(atoms, key=lambda atom: scores.get(atom, 0.0))
        for atom in atoms:
            if atom != anchor:
                self._lend(atom, lent if atom == best else lent * OTHER_ATOMS, bridge)

    def _lend(self, atom: int, lent: float, bridge: Bridge) -> None:
        if lent <= 0 or not self._anchors.passes(atom):
            return
        known = self.bridges.get((bridge.kind, bridge.name))
        if known is None or known.weight < bridge.weight:
            self.bridges[bridge.kind, bridge.name] = bridge
        self._reached.setdefault(atom, Reach()).add(lent, bridge)


def _naming(names: Iterable[str], mentions: dict[str, set[int]]) -> set[int]:
    """Return the atoms that name one of these."""
    return set().union(*(mentions.get(name, ()) for name in names))


def _flat(lists: dict[int, list[str]]) -> set[str]:
    return {name for names in lists.values() for name in names}


def _names_in(text: str) -> list[list[str]]:
    """Return what may be a name at each word of a text, the longest first: it begins with a capital or a digit."""
    words = words_as_written(text)
    folded = [fold(word) for word in words]
    return [
        [" ".join(folded[place : place + size]) for size in range(min(MAX_NAME_WORDS, len(words) - place), 0, -1)]
        if word[0].isupper() or word[0].isdigit()
        else []
        for place, word in enumerate(words)
    ]


def _mentioned(
    written: list[list[str]], linked: list[str], called: dict[str, list[tuple[str, int]]], own: list[str]
) -> dict[str, set[int]]:
    """Return the names of other notes: links by any name; running text by title or alias, the longest first."""
    found: dict[str, set[int]] = {}
    for name in linked:
        sources = {source for _, source in called.get(name, ())}
        if sources:
            found[name] = sources
    place = 0
    while place < len(written):
        for name in written[place]:
            sources = {source for kind, source in called.get(name, ()) if kind != "file"}
            if sources:
                found.setdefault(name, sources)
                place += name.count(" ")
                break
        place += 1
    return {name: sources for name, sources in found.items() if name not in own}


def _entities(phrases: Iterable[str]) -> list[str]:
    """Return what an atom names: its capitalised phrases, and the phrases inside them."""
    return list(dict.fromkeys(key for phrase in phrases for key in phrase_keys(phrase)))
