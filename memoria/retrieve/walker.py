"""The Tag-Walker: anchors by words, bridges from the best of them, neighbors over the bridges, one ranking."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memoria.model import Answer, Bridge, Hit, Label, Source, Why, source_node, source_of
from memoria.retrieve.anchors import Anchors, find_anchors
from memoria.retrieve.budget import GAP, Fitted, Ranked, Shares, fit, fit_both
from memoria.retrieve.filters import Filters
from memoria.retrieve.harvest import Harvest, Reach, Walk
from memoria.retrieve.pages import Pages
from memoria.retrieve.query import Query
from memoria.scoring import ACTIVATED, BEHIND, SAME_PARAGRAPH
from memoria.store import Store
from memoria.text import indexed_text, terms

if TYPE_CHECKING:
    from memoria.retrieve.activation import Limits

STRICT_HARVEST_TOP = 10
SEEDS = 5  # of activation
_COMPLETED = 24  # atoms whose paragraphs are completed: about as many as fill a budget


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
    return store.of_one_state(lambda: _answer(attempt(store, request, walk), request, changed))


def _answer(found: "_Found", request: Request, changed: Callable[[Source], bool]) -> Answer:
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
    pages = Pages(store)
    reached: dict[int, Reach] = {}
    bridges: list[Bridge] = []
    if walk.walking and anchors.scores:
        tops = list(islice(pages.ranked(anchors.scores, walk.harvest_top), walk.harvest_top))
        harvest = Harvest(store, anchors, walk, pages, set(request.query.plain))
        reached, bridges = harvest.from_anchors(tops)
        reached = _held_back(reached, anchors.scores)
    fused = _sum(anchors, reached)
    if walk.activating and fused:
        _activate(store, request.query, fused, reached, anchors, walk.activating)
        fused = _sum(anchors, reached)
    _complete_paragraphs(store, fused, anchors, pages)
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


def _sum(anchors: Anchors, reached: dict[int, Reach]) -> dict[int, float]:
    fused = dict(anchors.scores)
    for atom, reach in reached.items():
        fused[atom] = fused.get(atom, 0.0) + reach.lent
    return fused


def _activate(
    store: Store, query: Query, fused: dict[int, float], reached: dict[int, Reach], anchors: Anchors, limits: "Limits"
) -> None:
    """Let energy spread from the best atoms: what arrives at others is one more bridge to them."""
    from memoria.retrieve.trails import energies, query_tags

    best = nlargest(SEEDS, fused.items(), key=lambda item: item[1])
    seeds = [(atom, value / best[0][1]) for atom, value in best]
    for atom, (energy, seed, kinds) in energies(store, seeds, query_tags(store, query), limits).items():
        lent = min(ACTIVATED * energy, BEHIND * fused[seed] - anchors.scores.get(atom, 0.0))
        if lent > 0 and anchors.passes(atom):
            reached.setdefault(atom, Reach()).add(lent, Bridge("trail", ", ".join(kinds), lent, seed))


def _strict(store: Store, request: Request, walk: Walk) -> _Found:
    """The walk to the letter: neighbors share a harvested tag and lack the query's words, and have their own share."""
    anchors = find_anchors(store, request.query, request.filters, walk.bm25, boost=walk.boost_labels, in_context=False)
    pages = Pages(store)
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


def _held_back(reached: dict[int, Reach], scores: dict[int, float]) -> dict[int, Reach]:
    """Return what is reached, so that nobody is lifted above the anchor it was reached from."""
    for atom, reach in reached.items():
        highest = BEHIND * max(scores[bridge.anchor] for _, bridge in reach.bridges.values())
        reach.lent = min(reach.lent, highest - scores.get(atom, 0.0))
    return {atom: reach for atom, reach in reached.items() if reach.lent > 0}


def _overhead(request: Request, pages: Pages) -> Callable[[int], int]:
    around = request.overhead
    if around is None:
        return lambda _: 0
    return lambda atom: around(_bare_hit(pages, atom))


def _complete_paragraphs(store: Store, scores: dict[int, float], anchors: Anchors, pages: Pages) -> None:
    """Lift the pieces beside the best atoms that belong to the same paragraph."""
    best = list(islice(pages.ranked(scores, _COMPLETED), _COMPLETED))
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
            tags=names_of((label for label in labels if label.origin != "dream"), "tag"),
            dream_tags=names_of((label for label in labels if label.origin == "dream"), "tag"),
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
        dream_tags=(),
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


def similar(
    store: Store,
    starts: Sequence[int],
    walk: Walk,
    *,
    budget: int | None,
    limit: int | None,
    changed: Callable[[Source], bool] = lambda _: False,
) -> Answer:
    """Return what is associated with some atoms of one note: the walk from them instead of from a query's anchors."""
    home = {source_of(atom) for atom in starts}
    anchors = Anchors.none(store.postings(()), lambda atom: source_of(atom) not in home)
    pages = Pages(store)
    pages.read(iter(starts))
    reached, bridges = Harvest(store, anchors, walk, pages, set()).from_anchors([(atom, 1.0) for atom in starts])
    lent = {atom: reach.lent for atom, reach in reached.items()}
    ranked = (Ranked(atom, value, neighbor=True) for atom, value in pages.ranked(lent, limit))
    fitted = fit(ranked, pages.text, pages.touches, budget=budget, limit=limit, shares=Shares(1.0))
    found = _Found(anchors, pages, reached, bridges, fitted)
    return _answer(found, Request(Query.parse(""), budget=budget, limit=limit), changed)
