"""The ranking of a search: against brute force, by its properties, and rule by rule."""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoria import config
from memoria.ingest import Given, ingest_files
from memoria.model import Answer, Hit, Label, source_node
from memoria.retrieve.anchors import find_anchors
from memoria.retrieve.filters import Filters
from memoria.retrieve.harvest import Walk
from memoria.retrieve.query import Query
from memoria.retrieve.walker import Request, search
from memoria.scoring import Bm25
from memoria.store.writer import StoreWriter
from memoria.text import terms
from tests.oracle import bm25, documents
from tests.walk_oracle import Vault, anchors, fused, lent_by

ALL = 10_000
WALK = Walk()
NO_WALK = Walk(walking=False)
STRICT = Walk(strict=True)


class Brain:
    """A folder of notes and a store in memory."""

    def __init__(self, notes: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp())
        self.store = StoreWriter.in_memory()
        self.settings = config.load(str(self.folder))
        if notes:
            self.change(notes)

    def change(self, notes: Mapping[str, str | None]) -> None:
        """Write notes, remove those that are None, and ingest."""
        for name, text in notes.items():
            path = self.folder / name
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        report = ingest_files(self.store, [str(self.folder)], Given(), self.settings, now=0.0, force=True)
        assert not report.failed

    def search(
        self,
        query: str,
        walk: Walk = WALK,
        *,
        filters: Filters = Filters(),  # noqa: B008 - a named tuple
        budget: int | None = None,
        limit: int | None = None,
        overhead: Callable[[Hit], int] | None = None,
    ) -> Answer:
        if budget is None and limit is None:
            limit = ALL
        return search(self.store, Request(Query.parse(query), filters, budget, limit, overhead), walk)

    def scores(self, query: str, boost: float = 2.0) -> dict[int, float]:
        return find_anchors(self.store, Query.parse(query), Filters(), Bm25(), boost=boost).scores

    def raw(self, query: str, boost: float = 2.0) -> dict[int, float]:
        """Return the anchors' scores before they are divided by the best."""
        found = find_anchors(self.store, Query.parse(query), Filters(), Bm25(), boost=boost, in_context=False)
        return {atom: value * found.best for atom, value in found.scores.items()}

    def atom(self, name: str, place: int = 0) -> int:
        """Return an atom of a note."""
        (source,) = (source for source in self.store.sources() if source.relpath == name)
        return source_node(source.id) + self.store.outlines([source.id])[source.id][place].ordinal

    def dream(self, node: int, tag: str) -> None:
        """Put a tag on a node as dreaming does."""
        batch = self.store.batch()
        batch.put_labels(node, [Label("tag", tag, "dream")])
        self.store.write(batch, now=0)


def dull(count: int) -> dict[str, str]:
    """Return notes that answer nothing: without others, nothing is rare."""
    return {f"dull/{number:02}.md": f"plain filler number{number}" for number in range(count)}


def named(answer: Answer, role: str | None = None) -> list[str]:
    return [hit.relpath for hit in answer.hits if role in (None, hit.role)]


def by_note(answer: Answer) -> dict[str, Hit]:
    return {hit.relpath: hit for hit in answer.hits}


# Against brute force

WORDS = "harbor boats tide tides rope the plan wrote writing anchor mist lantern".split()
# None of these names is a part of another: what a name inside a name means is tested by hand.
TITLES = ("Blue Heron", "Otter", "Casa Verde Alta", "Marlin Point")
QUERIES = (
    "harbor", "boat tide plan", "rope otter", "the blue heron wrote", "casa verde alta mist", "ana lantern",
    "moss anchor", "marlin point tide tide", "21 January 2025",
)  # fmt: skip

SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
MENTIONS = st.sampled_from([*TITLES, "Old Mill", "Rita"])
LINKS = st.sampled_from([*TITLES, "otter", "n/one", "nobody", "Heron Road"])
BLOCKS = st.one_of(
    SENTENCES,
    SENTENCES.map("## {}".format),
    st.builds("{} #{}".format, SENTENCES, st.sampled_from(["moss", "kelp/deep", "tide"])),
    st.builds("{} near {} and {}".format, SENTENCES, MENTIONS, MENTIONS),
    st.builds("{} [[{}]] {}".format, SENTENCES, LINKS, SENTENCES),
    st.builds("see [[{}]], [[{}]], [x](n/two.md) and @otter".format, LINKS, LINKS),
    st.builds("**{}:** {}".format, st.sampled_from(["Ana", "Rita Otter"]), SENTENCES),
    st.lists(SENTENCES, min_size=25, max_size=30).map(lambda parts: ". ".join(parts) + "."),  # has to be split
)
HEADS = st.one_of(
    st.just(""),
    st.sampled_from(TITLES).map("---\ntitle: {}\n---\n".format),
    st.sampled_from(TITLES).map("---\naliases: [{}]\ntags: [moss, rope]\n---\n".format),
    st.just("---\ntitle: Harbor plan\ndate: 2025-01-21\nbucket: lantern\n---\n"),
)
NOTE = st.builds("{}{}".format, HEADS, st.lists(BLOCKS, max_size=6).map("\n\n".join))
NAMES = st.sampled_from(["one.md", "two.md", "n/one.md", "n/two.md", "n/otter.md", "tide/four.md", "heron road.md"])
VAULTS = st.dictionaries(NAMES, NOTE, min_size=2, max_size=7)
CHANGES = st.dictionaries(NAMES, st.one_of(st.none(), NOTE), max_size=4)


def shared_by_anchors(vault: Vault, scores: Mapping[int, float]) -> set[str]:
    """Return the labels that two of the best three anchors have."""
    tops = vault.ranked(dict(scores))[:3]
    carried = Counter(name for atom, _ in tops for name in {label.name for label in vault.passages[atom].labels})
    return {name for name, count in carried.items() if count > 1}


@given(VAULTS, CHANGES, st.integers(0, 25), st.lists(st.sampled_from(QUERIES), min_size=3, max_size=3, unique=True))
@settings(max_examples=50)
def test_anchors_bridges_and_their_sum_equal_brute_force(
    notes: dict[str, str], changes: dict[str, str | None], fillers: int, queries: list[str]
) -> None:
    brain = Brain({**dull(fillers), **notes})
    brain.change(changes)
    vault = Vault(brain.store)
    atom_of = {passage.key: atom for atom, passage in vault.passages.items()}
    for query in queries:
        query = " ".join(word for word in query.split() if any(map(vault.idf, terms(word))))
        scores = brain.scores(query)
        assert scores == pytest.approx(anchors(vault, query), abs=1e-9)

        ignore = ("inbox", *shared_by_anchors(vault, scores))
        lent = lent_by(vault, scores, query, ignore) if scores else {}
        expected = fused(vault, scores, lent)
        answer = brain.search(query, Walk(ignore=ignore))
        assert {atom_of[key] for hit in answer.hits for key in hit.keys} == expected.keys()
        for hit in answer.hits:
            atom = atom_of[hit.key]
            assert hit.score == pytest.approx(expected[atom], abs=1e-9)
            assert hit.why.anchor == scores.get(atom, 0.0)
            assert hit.why.neighbor == pytest.approx(lent.get(atom, 0.0), abs=1e-9)
            assert max(expected[atom_of[key]] for key in hit.keys) == pytest.approx(hit.score, abs=1e-9)
            assert (hit.role == "neighbor") == (hit.why.neighbor > hit.why.anchor)
        ranks = [(-hit.score, *vault.order(atom_of[hit.key])) for hit in answer.hits]
        assert ranks == sorted(ranks)


@given(VAULTS, st.sampled_from(QUERIES))
@settings(max_examples=20)
def test_strict_anchors_are_plain_bm25_times_the_factors(notes: dict[str, str], query: str) -> None:
    brain = Brain(notes)
    plain = bm25(documents(brain.store), query)
    vault = Vault(brain.store)
    known = [word for word in query.split() if any(map(vault.idf, terms(word)))]
    for atom, value in brain.raw(" ".join(known)).items():
        passage = vault.passages[atom]
        words = set(terms(query))
        labels = 2 if any(words & set(terms(label.name)) for label in passage.labels if label.name != "inbox") else 1
        speaker = 1.4 if passage.speaker and passage.speaker <= words else 1
        assert value == pytest.approx(plain[atom] * labels * speaker)
