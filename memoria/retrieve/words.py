"""Search by words: BM25 over the packed postings, every number explained."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from heapq import nlargest
from typing import NamedTuple

from memoria.model import Answer, Hit, Label, Source, source_node, source_of
from memoria.retrieve.budget import fit
from memoria.retrieve.filters import Filters, allowed
from memoria.scoring import Bm25, Saturation, idf
from memoria.store import Found, Shown, Store
from memoria.text import distinct, raw_words, terms_of_word

_TRIES = 20  # reads until two of them are of one state; a writer commits a few times a second at most
_PAGE = 64  # atoms that are looked at together
MAX_QUERY_WORDS = 1_000


class Query(NamedTuple):
    """A query's words, as they are written and as they are asked for."""

    raw: tuple[str, ...]
    terms: dict[str, float]  # term -> weight: how often it was said

    @classmethod
    def parse(cls, text: str) -> "Query":
        """Read a query; of a very long one, the first words."""
        raw = raw_words(text)[:MAX_QUERY_WORDS]
        weights: dict[str, float] = {}
        for word in raw:
            for term in terms_of_word(word):
                weights[term] = weights.get(term, 0.0) + 1.0
        return cls(tuple(distinct(raw)), weights)


class Scored(NamedTuple):
    """Every atom that matches, with what is needed to explain it."""

    scores: dict[int, float]
    found: Found
    idfs: dict[str, float]
    saturation: Saturation
    query: Query

    def parts(self, atom: int) -> dict[str, float]:
        """Return what each term adds to an atom's score."""
        return {
            term: self.idfs[term] * self.query.terms[term] * self.saturation[shape]
            for term in self.idfs
            if (shape := _shape_of(self.found, term, atom))
        }


def search(
    store: Store,
    text: str,
    filters: Filters,
    bm25: Bm25,
    *,
    budget: int | None,
    limit: int | None,
    changed: Callable[[Source], bool] = lambda _: False,
) -> Answer:
    """Answer a query by its words. `changed` tells whether a source's file is not what was ingested any more."""
    query = Query.parse(text)
    for _ in range(_TRIES):
        scored = score(store, query, filters, bm25)
        pages = _Pages(store, scored)
        hits = _hits(pages, scored, budget, limit, changed)
        if not pages.torn:
            break
    return Answer(
        hits=tuple(hits),
        found=len(scored.scores),
        unknown={word: None for word in query.raw if _unknown(word, scored)},
        words=query.raw,
        atoms=scored.found.atoms,
    )


def score(store: Store, query: Query, filters: Filters, bm25: Bm25) -> Scored:
    """Score every atom that holds one of the query's terms."""
    found = store.postings(query.terms)
    passes = allowed(store, filters)
    saturation = Saturation(bm25)
    scores: dict[int, float] = {}
    idfs: dict[str, float] = {}
    dead = found.dead
    for term, weight in query.terms.items():
        rows = found.postings.get(term, ())
        holding = sum(len(ids) for ids, _ in rows)
        if dead:
            holding -= sum(len(dead.intersection(ids)) for ids, _ in rows)
        if not holding:
            continue
        idfs[term] = idf(found.atoms, holding)
        factor = idfs[term] * weight
        for ids, shapes in rows:
            for atom, shape in zip(ids, shapes, strict=True):
                scores[atom] = scores.get(atom, 0.0) + factor * saturation[shape]
    for atom in dead.intersection(scores):
        del scores[atom]
    if passes:
        scores = {atom: value for atom, value in scores.items() if passes(atom)}
    return Scored(scores, found, idfs, saturation, query)


class _Pages:
    """Atoms of a ranking, read a page at a time; knows whether the store changed in between."""

    def __init__(self, store: Store, scored: Scored) -> None:
        self._store = store
        self._generation = scored.found.generation
        self._scores = scored.scores
        self.torn = False
        self.shown = Shown(0, {}, {}, {}, {})

    def ranked(self, most: int | None) -> Iterator[tuple[int, float]]:
        """Yield (atom, score), best first; equal ones by path and line, whatever the order of ingest."""
        scores = self._scores
        wanted = min(_PAGE, most or _PAGE)
        while not self.torn:
            # All that reach the score of the last wanted one: equal scores are ordered by place, so they come together.
            least = nlargest(wanted, scores.values())[-1:] if wanted < len(scores) else [0.0]
            page = [item for item in scores.items() if item[1] >= least[0] and item[0] not in self.shown.atoms]
            if not page:
                return
            self._read([atom for atom, _ in page])
            if self.torn:
                return
            page.sort(key=lambda item: (-item[1], self.place(item[0])))
            yield from page
            wanted = len(self.shown.atoms) + 4 * _PAGE

    def _read(self, atoms: list[int]) -> None:
        shown = self._store.show(atoms)
        self.torn = self.torn or shown.generation != self._generation
        self.shown.atoms.update(shown.atoms)
        self.shown.sources.update(shown.sources)
        self.shown.outlines.update(shown.outlines)
        self.shown.labels.update(shown.labels)

    def text(self, atom: int) -> str:
        """Return an atom's text."""
        return self.shown.atoms[atom].text

    def place(self, atom: int) -> tuple[str, int, int]:
        """Return where an atom stands: path, line and order in the note."""
        source = source_of(atom)
        for position, outline in enumerate(self.shown.outlines[source]):
            if source_node(source) + outline.ordinal == atom:
                return self.shown.sources[source].path, outline.line, position
        return self.shown.sources[source].path, 0, 0


def _hits(
    pages: _Pages, scored: Scored, budget: int | None, limit: int | None, changed: Callable[[Source], bool]
) -> list[Hit]:
    hits: list[Hit] = []
    stale: dict[int, bool] = {}
    for fitted in fit(pages.ranked(limit), pages.text, budget, limit):
        atom = pages.shown.atoms[fitted.atom]
        number = source_of(fitted.atom)
        source = pages.shown.sources[number]
        if number not in stale:
            stale[number] = changed(source)
        labels = [
            *pages.shown.labels.get(source_node(number), ()),
            *pages.shown.labels.get(fitted.atom, ()),
        ]
        hits.append(
            Hit(
                rank=len(hits) + 1,
                key=atom.key,
                path=source.path,
                relpath=source.relpath,
                line=pages.place(fitted.atom)[1],
                title=source.title,
                heading=atom.heading,
                buckets=_named(labels, "bucket"),
                tags=_named(labels, "tag"),
                date=source.date,
                score=fitted.score,
                role="anchor",
                why=scored.parts(fitted.atom),
                content=fitted.text,
                cut=fitted.cut,
                stale=stale[number],
            )
        )
    return hits


def _named(labels: list[Label], kind: str) -> tuple[str, ...]:
    return tuple(sorted({label.name for label in labels if label.kind == kind}))


def _shape_of(found: Found, term: str, atom: int) -> int:
    for ids, shapes in found.postings.get(term, ()):
        place = bisect_left(ids, atom)
        if place < len(ids) and ids[place] == atom:
            return shapes[place]
    return 0


def _unknown(word: str, scored: Scored) -> bool:
    found = terms_of_word(word)
    return bool(found) and not any(term in scored.idfs for term in found)
