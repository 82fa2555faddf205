"""The Tag-Walker: anchors by words, bridges from the best of them, neighbors over the bridges, one ranking."""

from collections.abc import Callable, Iterable, Iterator
from heapq import nlargest
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from memoria.markdown import indexed_text
from memoria.model import Answer, Bridge, Hit, Label, Source, StoredAtom, Why, source_node, source_of
from memoria.retrieve.anchors import Anchors, find_anchors
from memoria.retrieve.budget import GAP, Fitted, Ranked, Shares, fit, fit_both
from memoria.retrieve.filters import Filters
from memoria.retrieve.pages import Pages
from memoria.retrieve.query import Query
from memoria.scoring import (
    FULL_NAME,
    MOST_BACKLINKS,
    MOST_SHARED,
    OTHER_ATOMS,
    SAME_PARAGRAPH,
    TAG,
    Bm25,
    backlink_bridge,
    link_bridge,
    shared_bridge,
)
from memoria.store import Store
from memoria.text import MAX_NAME_WORDS, fold, link_key, link_name, name_key, phrase_keys, terms, words_as_written

GENERIC_SHARE = 0.1  # of all notes: a label that more of them have tells nothing
NOTE_REACH = 12  # atoms of an anchor's note, before and after it, whose links and names count for it
NOTE_SHARE = 0.5
STRICT_HARVEST_TOP = 10
STRICT_MOST_NOTES = 2_000
_COMPLETED = 24  # atoms whose paragraphs are completed: about as many as fill a budget
_TRIES = 20  # reads until all of them are of one state; a writer commits a few times a second at most


class Walk(NamedTuple):
    """How to walk: the settings in force."""

    bm25: Bm25 = Bm25()
    boost_labels: float = 2.0
    harvest_top: int = 3
    ignore: tuple[str, ...] = ("inbox", "_untagged")
    shares: Shares = Shares()
    walking: bool = True
    strict: bool = False


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


class Request(NamedTuple):
    """A query and its limits."""

    query: Query
    filters: Filters = Filters()
    budget: int | None = None
    limit: int | None = None
    overhead: Callable[[Hit], int] | None = None  # what is printed around a hit, where that counts as well


def search(
    store: Store, request: Request, walk: Walk, *, changed: Callable[[Source], bool] = lambda _: False
) -> Answer:
    """Answer a query. `changed` tells whether a source's file is not what was ingested any more."""
    attempt = _strict if walk.strict else _fused
    for _ in range(_TRIES):
        found = attempt(store, request, walk)
        if not found.pages.torn:
            break
    anchors = found.anchors
    return Answer(
        hits=tuple(_hits(found, changed)),
        found=anchors.matching,
        neighbors=sum(atom not in anchors.scores for atom in found.reached),
        unknown={word: near[0][0] if near else None for word, near in anchors.near.items()},
        near={word: dict(near) for word, near in anchors.near.items()},
        words=request.query.raw,
        atoms=anchors.atoms,
        idfs=anchors.idfs,
        holding=anchors.holding,
        bridges=tuple(found.bridges),
        used=found.fitted.used,
        used_by_neighbors=found.fitted.by_neighbors,
        budget=request.budget,
    )


class _Found(NamedTuple):
    anchors: Anchors
    pages: Pages
    reached: dict[int, Reach]
    bridges: list[Bridge]
    fitted: Fitted


def _fused(store: Store, request: Request, walk: Walk) -> _Found:
    """Anchors and neighbors in one ranking: association is paid only where it earns."""
    anchors = find_anchors(store, request.query, request.filters, walk.bm25, boost=walk.boost_labels)
    pages = Pages(store, anchors.generation)
    reached: dict[int, Reach] = {}
    bridges: list[Bridge] = []
    if walk.walking and anchors.scores:
        tops = list(islice(pages.ranked(anchors.scores, walk.harvest_top), walk.harvest_top))
        harvest = Harvest(store, anchors, walk, pages, set(request.query.plain))
        reached, bridges = harvest.from_anchors(tops)
    fused = dict(anchors.scores)
    for atom, reach in reached.items():
        fused[atom] = fused.get(atom, 0.0) + reach.lent
    _complete_paragraphs(store, fused, anchors)
    ranked = (
        Ranked(atom, value, atom in reached and reached[atom].lent > anchors.scores.get(atom, 0.0))
        for atom, value in pages.ranked(fused, request.limit)
    )
    fitted = fit(
        ranked,
        pages.text,
        pages.touches,
        budget=request.budget,
        limit=request.limit,
        shares=walk.shares,
        overhead=_overhead(request, pages),
    )
    return _Found(anchors, pages, reached, bridges, fitted)


def _strict(store: Store, request: Request, walk: Walk) -> _Found:
    """The walk to the letter: neighbors share a harvested tag and lack the query's words, and have their own share."""
    anchors = find_anchors(store, request.query, request.filters, walk.bm25, boost=walk.boost_labels, in_context=False)
    pages = Pages(store, anchors.generation)
    tops = list(islice(pages.ranked(anchors.scores, STRICT_HARVEST_TOP), STRICT_HARVEST_TOP))
    harvest = Harvest(store, anchors, walk, pages, set(request.query.plain))
    reached, bridges = harvest.strictly_from(tops)
    lent = {atom: reach.lent for atom, reach in reached.items() if atom not in anchors.scores}
    words = set(request.query.terms)
    fitted = fit_both(
        (Ranked(atom, value, neighbor=False) for atom, value in pages.ranked(anchors.scores, request.limit)),
        (
            Ranked(atom, value, neighbor=True)
            for atom, value in pages.ranked(lent)
            if words.isdisjoint(terms(indexed_text(pages.text(atom))))
        ),
        pages.text,
        pages.touches,
        budget=request.budget,
        limit=request.limit,
        shares=walk.shares,
        overhead=_overhead(request, pages),
    )
    return _Found(anchors, pages, reached, bridges, fitted)


def _overhead(request: Request, pages: Pages) -> Callable[[int], int]:
    around = request.overhead
    if around is None:
        return lambda _: 0
    return lambda atom: around(_bare_hit(pages, atom))


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
        starts = [*((atom, strength, atom) for atom, strength in tops), *self._around(tops)]
        atoms = {atom: self._pages.shown.atoms[atom] for atom, _, _ in starts}
        linked: dict[int, list[str]] = {atom: [] for atom in atoms}
        for atom, link in self._store.links(atoms):
            linked[atom].append(link_key(link.target))
        written = {atom: _names_in(stored) for atom, stored in atoms.items()}
        own = {source_of(atom): self._own_names(source_of(atom)) for atom, _ in tops}
        entities = {atom: _entities(stored) for atom, stored in atoms.items()}
        named = {name for places in written.values() for names in places for name in names} | _flat(linked) - {""}
        called = self._store.called(named)
        keys = called.keys() | _flat(own) | _flat(entities)
        mentions = self._mentions(keys - {""})
        names = {atom: _mentioned(written[atom], linked[atom], called, own[source_of(atom)]) for atom in atoms}
        self._read_outlines(source for found in names.values() for sources in found.values() for source in sources)
        for atom, strength, anchor in starts:
            self._names(anchor, strength, names[atom], mentions)
            self._shared_names(anchor, strength, entities[atom], mentions)
        for atom, strength in tops:
            self._backlinks(atom, strength, own[source_of(atom)], mentions)
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
        self._pages.read(iter(found))
        return [
            (atom, strength, anchor) for atom, (strength, anchor) in found.items() if atom in self._pages.shown.atoms
        ]

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
        names = (known.title, *known.aliases, link_name(known.relpath))
        return list(dict.fromkeys(key for name in names if (key := name_key(name))))

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

    def _backlinks(self, anchor: int, strength: float, own: list[str], mentions: dict[str, set[int]]) -> None:
        """From the anchor to the atoms that name its note."""
        naming = set().union(*(mentions.get(name, set()) for name in own)) - {anchor}
        mine = source_node(source_of(anchor))
        others = sorted(atom for atom in naming if source_node(source_of(atom)) != mine)
        if others:
            linking = set().union(*(self._linking.get(name, set()) for name in own))
            links = self._store.link_counts(linking) if linking else {}
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
        strengths: dict[int, float] = {}
        for atom, strength in tops:
            for node in (atom, source_node(source_of(atom))):
                strengths[node] = max(strengths.get(node, 0.0), strength)
        by_node = {node: atom for atom, _ in reversed(tops) for node in (atom, source_node(source_of(atom)))}
        notes = self._anchors.sources
        bridges: dict[tuple[str, str], tuple[float, int]] = {}
        for kind, name, holding, nodes in self._store.harvest(strengths):
            if name in self._walk.ignore or not 1 < holding <= most:
                continue
            node = max(nodes, key=lambda node: strengths[node])
            meant = TAG if kind == "tag" else 1.0
            bridges[kind, name] = (meant * shared_bridge(strengths[node], notes, holding), by_node[node])
        reached = self._store.walk((kind, name, lent) for (kind, name), (lent, _) in bridges.items())
        self._read_outlines(source_of(node) for node, _, _, _ in reached)
        for node, lent, kind, name in reached:
            anchor = bridges[kind, name][1]
            if source_of(node) == source_of(anchor):
                continue
            bridge = Bridge(kind, name, lent, anchor)
            if node == source_node(source_of(node)):
                self._lend_to_note(source_of(node), lent, bridge, anchor)
            else:
                self._lend(node, lent, bridge)

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


def _complete_paragraphs(store: Store, scores: dict[int, float], anchors: Anchors) -> None:
    """Lift the pieces beside the best atoms that belong to the same paragraph."""
    best = nlargest(_COMPLETED, scores.items(), key=itemgetter(1))
    missing = {source_of(atom) for atom, _ in best} - anchors.outlines.keys()
    anchors.outlines.update(store.outlines(missing) if missing else {})
    for atom, value in best:
        outline = anchors.outlines.get(source_of(atom), ())
        node = source_node(source_of(atom))
        place = next((place for place, here in enumerate(outline) if node + here.ordinal == atom), None)
        if place is None:
            continue
        beside = [place - 1] if outline[place].continues else []
        beside += [place + 1] if place + 1 < len(outline) and outline[place + 1].continues else []
        for other in (node + outline[at].ordinal for at in beside):
            if anchors.passes(other):
                scores[other] = max(scores.get(other, 0.0), value * SAME_PARAGRAPH)


def _flat(lists: dict[int, list[str]]) -> set[str]:
    return {name for names in lists.values() for name in names}


def _names_in(atom: StoredAtom) -> list[list[str]]:
    """Return what may be a name at each word of a text, the longest first: it begins with a capital or a digit."""
    words = words_as_written(atom.text)
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


def _entities(atom: StoredAtom) -> list[str]:
    """Return what an atom names: its capitalised phrases, and the phrases inside them."""
    keys = (key for phrase in atom.phrases for key in phrase_keys(phrase))
    return [key for key in dict.fromkeys(keys) if not key.startswith("^")]


def _hits(found: _Found, changed: Callable[[Source], bool]) -> Iterator[Hit]:
    """Yield the hits: atoms that touch are one, in the order of the note, ranked by their best."""
    pages, fitted = found.pages, found.fitted
    order = {item.atom: rank for rank, item in enumerate(fitted.taken)}
    pieces: list[list[int]] = []
    for atom in sorted(order, key=lambda atom: (source_of(atom), pages.place(atom)[2])):
        if pieces and _follows(pages, pieces[-1][-1], atom):
            pieces[-1].append(atom)
        else:
            pieces.append([atom])
    stale: dict[int, bool] = {}
    for rank, atoms in enumerate(sorted(pieces, key=lambda atoms: min(map(order.__getitem__, atoms))), 1):
        best = min(atoms, key=order.__getitem__)
        item = fitted.taken[order[best]]
        hit = _bare_hit(pages, best)
        number = source_of(best)
        if number not in stale:
            stale[number] = changed(pages.shown.sources[number])
        labels = [label for node in (source_node(number), *atoms) for label in pages.shown.labels.get(node, ())]
        yield hit._replace(
            rank=rank,
            keys=tuple(pages.shown.atoms[atom].key for atom in atoms),
            line=pages.place(atoms[0])[1],
            buckets=names_of(labels, "bucket"),
            tags=names_of(labels, "tag"),
            score=item.score,
            role="neighbor" if item.neighbor else "anchor",
            why=_why(found, best),
            content=fitted.cut if fitted.cut is not None else GAP.join(pages.text(atom) for atom in atoms),
            cut=fitted.cut is not None,
            stale=stale[number],
        )


def _follows(pages: Pages, atom: int, other: int) -> bool:
    return source_of(atom) == source_of(other) and pages.place(atom)[2] + 1 == pages.place(other)[2]


def _bare_hit(pages: Pages, atom: int) -> Hit:
    """Return an atom as a hit, before anything is known of why."""
    stored = pages.shown.atoms[atom]
    source = pages.shown.sources[source_of(atom)]
    return Hit(
        rank=0,
        key=stored.key,
        keys=(stored.key,),
        path=source.path,
        relpath=source.relpath,
        line=pages.place(atom)[1],
        title=source.title,
        heading=stored.heading,
        buckets=(),
        tags=(),
        date=source.date,
        score=0.0,
        role="anchor",
        why=Why(0.0, {}, 1.0, 1.0, 0.0, 0.0, 0.0, (), ""),
        content=stored.text,
        cut=False,
        stale=False,
    )


def _why(found: _Found, atom: int) -> Why:
    part = found.anchors.explain(atom)
    reach = found.reached.get(atom)
    bridges = tuple(reach.strongest()) if reach else ()
    own_title = found.pages.shown.sources[source_of(atom)].title
    bridges = tuple(b._replace(name=own_title) if b.kind == "title" else b for b in bridges)  # it leads to this note
    return Why(
        anchor=found.anchors.scores.get(atom, 0.0),
        words=part.words,
        labels=part.labels,
        speaker=part.speaker,
        title=part.title,
        best=found.anchors.best,
        neighbor=reach.lent if reach else 0.0,
        bridges=bridges,
        anchor_key=found.pages.shown.atoms[bridges[0].anchor].key if bridges else "",
    )


def names_of(labels: Iterable[Label], kind: str) -> tuple[str, ...]:
    """Return the names of the labels of a kind, sorted."""
    return tuple(sorted({label.name for label in labels if label.kind == kind}))
