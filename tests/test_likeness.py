"""Edges between notes, centrality, entities, use: each formula against an oracle or by what must hold."""

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria import scoring
from memoria.dream.centrality import DAMPING, centralities
from memoria.dream.likeness import PER_KIND, PER_NOTE, Likeness, LikeNote, Near, rarities, vector
from memoria.graph.entities import Naming, entity_node, gather, namings
from memoria.graph.use import used
from memoria.graph.view import implied
from memoria.model import Entity, Field, Link, Outline

share = st.floats(0, 1)
UNIT = (scoring.LEAST_WEIGHT, 1.0)


# Weights


@given(st.floats(0, 2), st.floats(0, 2), st.booleans())
def test_weights_lie_within_bounds_and_grow_with_the_evidence(one: float, two: float, safe: bool) -> None:
    low, high = sorted((one, two))
    for weigh in (scoring.text_weight, scoring.cited_weight, scoring.entities_weight, scoring.tags_weight):
        assert weigh(low) <= weigh(high)
        assert weigh(high) == 0 or UNIT[0] <= weigh(high) <= UNIT[1]
    assert scoring.mention_weight(low, safe=safe) <= scoring.mention_weight(high, safe=safe)
    assert scoring.mention_weight(low, safe=False) <= scoring.mention_weight(low, safe=True) <= 1


@given(st.lists(st.floats(*UNIT), min_size=1, max_size=5), st.floats(*UNIT))
def test_another_kind_never_weakens_an_edge(weights: list[float], more: float) -> None:
    together = scoring.combined_weight(weights)
    assert UNIT[0] <= together <= 1
    assert together >= max(weights)
    assert scoring.combined_weight([*weights, more]) >= together - 1e-12


def test_the_documented_weights() -> None:
    assert scoring.text_weight(0.2) == pytest.approx(0.5)
    assert scoring.text_weight(0.05) == 0
    assert scoring.text_weight(0.4) == scoring.text_weight(0.9) == pytest.approx(0.75)
    assert scoring.cited_weight(1) == pytest.approx(0.425)
    assert scoring.entities_weight(1) == pytest.approx(0.6)
    assert scoring.tags_weight(8) == pytest.approx(0.5)
    assert scoring.mention_weight(0.3, safe=False) == pytest.approx(0.5)
    assert scoring.mention_weight(0.9, safe=True) == pytest.approx(0.85)
    assert scoring.combined_weight([0.5, 0.4]) == pytest.approx(0.25 + 0.75 * (1 - 0.7 * 0.8))
    assert [scoring.near_weight(d) >= scoring.KEPT_WEIGHT for d in (1, 2, 3, 4)] == [True, True, True, False]


# Use and salience


@given(share, st.integers(0, 400))
def test_use_fades_alike_in_one_step_and_in_many(value: float, days: int) -> None:
    steps = value
    for _ in range(days):
        steps = scoring.decayed(steps, 1)
    assert steps == pytest.approx(scoring.decayed(value, days), abs=1e-9)
    assert 0 <= steps <= value


def test_use_halves_in_35_days_and_never_passes_1() -> None:
    assert scoring.decayed(1, 35) == pytest.approx(0.5, abs=0.005)
    assert scoring.decayed(0.5, -3) == 0.5
    value = 0.5
    for _ in range(20):
        value = used(value, 0, 0, scoring.USE_OPENED)
    assert value == 1.0
    assert used(0.5, 0, 35 * scoring.DAY_SECONDS, scoring.USE_LISTED) == pytest.approx(0.25 + 0.05, abs=0.005)


@given(share, share)
def test_salience_is_the_larger_of_both(one: float, two: float) -> None:
    assert scoring.salience(one, two) in (one, two)
    assert 0 <= scoring.salience(one, two) <= 1


# Centrality


GRAPHS = st.dictionaries(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] < pair[1]),
    st.floats(0.25, 1),
    max_size=14,
)


@given(GRAPHS)
def test_centrality_is_the_fixed_point_of_pagerank(pairs: dict[tuple[int, int], float]) -> None:
    size = 8
    matrix = [[0.0] * size for _ in range(size)]
    edges: dict[int, dict[int, float]] = {}
    for (one, two), weight in pairs.items():
        matrix[one][two] = matrix[two][one] = weight
        edges.setdefault(one, {})[two] = weight
        edges.setdefault(two, {})[one] = weight
    rank = [1 / size] * size
    for _ in range(500):
        rank = [
            (1 - DAMPING) / size
            + DAMPING
            * sum(
                rank[other] * (matrix[other][node] / sum(matrix[other]) if sum(matrix[other]) else 1 / size)
                for other in range(size)
            )
            for node in range(size)
        ]
    found = centralities(range(size), edges)
    for node in range(size):
        assert found[node] == pytest.approx(rank[node] / max(rank), abs=1e-3)
    assert max(found.values()) == 1


# Likeness, against a slow and plain reckoning

TERMS = "abcdefgh"
LIKE = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(TERMS), st.integers(1, 4), max_size=5),
        st.sets(st.integers(0, 8), max_size=4),
        st.sets(st.integers(-4, -1), max_size=3),
        st.dictionaries(st.sampled_from(["x", "y", "z"]), st.floats(0.2, 1), max_size=2),
    ),
    min_size=2,
    max_size=9,
)


def reckoned(notes: list[LikeNote]) -> dict[frozenset[int], float]:
    """Return the weight of every pair, if all kinds of both ends counted."""
    total = len(notes)
    broad = max(5, 0.1 * total)

    def rarity(has: list[bool]) -> float:
        return math.log(total / sum(has)) if 1 < sum(has) <= broad else 0.0

    tags = {tag: rarity([tag in note.tags for note in notes]) for note in notes for tag in note.tags}
    names = {one: rarity([one in note.entities for note in notes]) for note in notes for one in note.entities}
    known = {note.id for note in notes}

    def length(note: LikeNote) -> float:
        return math.sqrt(sum(names[one] ** 2 for one in note.entities))

    found = {}
    for one, two in combinations(notes, 2):
        cosine = sum(weight * two.vector.get(term, 0) for term, weight in one.vector.items())
        aa = sum(
            1 / math.log(len(note.cites) + 1)
            for note in notes
            if len(note.cites) > 1 and {one.id, two.id} <= set(note.cites) and note.id not in (one.id, two.id)
        )
        same = sum(names[name] ** 2 for name in set(one.entities) & set(two.entities))
        entity = same / (length(one) * length(two)) if same else 0.0
        tag = sum(tags[name] * min(one.tags[name], two.tags[name]) for name in one.tags.keys() & two.tags.keys())
        kinds = [
            scoring.text_weight(cosine), scoring.cited_weight(aa), scoring.entities_weight(entity),
            scoring.tags_weight(tag),
        ]  # fmt: skip
        weight = scoring.combined_weight([kind for kind in kinds if kind])
        if weight >= scoring.KEPT_WEIGHT and known:
            found[frozenset((one.id, two.id))] = weight
    return found


@given(LIKE)
def test_near_notes_are_those_of_a_plain_reckoning(
    drawn: list[tuple[dict[str, int], set[int], set[int], dict[str, float]]],
) -> None:
    total, holding = rarities(counts for counts, *_ in drawn)
    notes = [
        LikeNote(number, vector(counts, total, holding), sorted(cites), sorted(entities), tags)
        for number, (counts, cites, entities, tags) in enumerate(drawn)
    ]
    found = Likeness(notes).near(range(len(notes)))
    wanted = reckoned(notes)
    assert all(pair.weight >= scoring.KEPT_WEIGHT for pair in found)
    got = {frozenset((pair.one, pair.other)): pair.weight for pair in found}
    assert got.keys() <= wanted.keys()
    if len(notes) <= PER_KIND + 1:  # nobody has more neighbours than are looked at
        assert got.keys() == wanted.keys()
        for pair, weight in got.items():
            assert weight == pytest.approx(wanted[pair], abs=1e-3)


@given(LIKE, st.randoms(use_true_random=False))
def test_likeness_does_not_depend_on_numbers(
    drawn: list[tuple[dict[str, int], set[int], set[int], dict[str, float]]], draw: object
) -> None:
    total, holding = rarities(counts for counts, *_ in drawn)
    numbers = list(range(100, 100 + len(drawn)))
    draw.shuffle(numbers)  # type: ignore[attr-defined]

    def near(ids: list[int]) -> list[Near]:
        notes = [
            LikeNote(
                ids[place],
                vector(counts, total, holding),
                sorted(ids[cite] for cite in cites if cite < len(ids)),
                sorted(entities),
                tags,
            )
            for place, (counts, cites, entities, tags) in enumerate(drawn)
        ]
        return Likeness(notes).near(ids)

    back = {number: place for place, number in enumerate(numbers)}
    shuffled = [pair._replace(one=back[pair.one], other=back[pair.other]) for pair in near(numbers)]
    plain = near(list(range(len(drawn))))
    assert {(*sorted((p.one, p.other)), p.weight) for p in shuffled} == {
        (*sorted((p.one, p.other)), p.weight) for p in plain
    }


def test_no_note_gets_more_edges_than_its_share_unless_others_want_it() -> None:
    notes = [LikeNote(number, {"a": 1.0}, (), (), {}) for number in range(60)]
    found = Likeness(notes).near(range(60))
    assert len(found) <= 60 * PER_NOTE


# Entities


def test_what_a_note_names() -> None:
    fields = [(8, Field("type", "Person", 2)), (8, Field("people", "[[Ada Byron|Ada]], @bob; '', [[", 3))]
    links = [
        (9, Link("person", "tomas.brandt", "", 0)),
        (9, Link("wikilink", "Winter pruning", "", 1)),
        (9, Link("embed", "files/plan.pdf", "", 1)),
        (9, Link("markdown", "../nowhere", "x", 1)),
        (9, Link("markdown", "../a/photo.png", "x", 2)),
    ]
    found = namings(8, "Olga Ferraz", ("Olga",), fields, links)
    assert [(one.node, one.kind, one.name, one.about) for one in found] == [
        (8, "person", "Olga Ferraz", True),
        (8, "person", "Ada Byron", False),
        (8, "person", "bob", False),
        (9, "person", "tomas brandt", False),
        (9, "concept", "Winter pruning", False),
        (9, "artifact", "plan.pdf", False),
        (9, "artifact", "photo.png", False),
    ]


def test_an_alias_means_the_entity_and_the_surest_kind_counts() -> None:
    about = Naming(1 << 20, "person", "Olga Ferraz", ("Olga",), about=True)
    found = [
        (about, "2025-01-01"),
        (Naming(5, "concept", "olga"), "2025-03-01"),
        (Naming(6, "concept", "OLGA  ferraz"), None),
        (Naming(7, "concept", "Tide"), None),
        (Naming(8, "person", "tide"), None),
    ]
    entities, placed = gather(found, {}, {})
    olga, tide = entity_node("Olga Ferraz"), entity_node("Tide")
    assert [node for _, node in placed] == [olga, olga, olga, tide, tide]
    assert entities[olga] == Entity(olga, "person", "Olga Ferraz", ("Olga",), "2025-03-01", "dream")
    assert entities[tide].kind == "person"
    assert entities[olga].key == f"{-1 - olga:012x}"
    assert all(node < 0 for node in entities)


@given(st.text(max_size=30), st.text(max_size=30))
def test_entity_numbers_are_below_zero_and_fit(one: str, two: str) -> None:
    assert -(1 << 48) <= entity_node(one) < 0
    if one.split() == two.split():
        assert entity_node(one) == entity_node(two)


# Implied edges


@given(st.integers(1, 12))
def test_what_follows_from_places_goes_both_ways(atoms: int) -> None:
    outline = [Outline(ordinal, ordinal, 10, 2, 1, continues=False) for ordinal in range(atoms, 0, -1)]
    home = 7 << 20
    nodes = [home, *(home + here.ordinal for here in outline)]
    edges = {(edge.start, edge.end, edge.kind, edge.weight) for node in nodes for edge in implied(node, outline)}
    assert edges == {(end, start, kind, weight) for start, end, kind, weight in edges}
    assert all(scoring.KEPT_WEIGHT <= weight <= 1 for *_, weight in edges)
    assert len(implied(home, outline)) == atoms
    ranks = [edge.rank for edge in implied(nodes[-1], outline)]
    assert all(one <= two for one, two in pairwise(ranks))
    assert implied(home + 999, outline) == []
