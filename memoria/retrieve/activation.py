"""Activation: energy spreads from a seed over the graph, level by level, and leaves trails.

Nodes are atoms, notes and entities. What the store keeps of their edges comes by one query a level, for the whole
frontier; what places in a note imply (an atom's note, the atoms beside it) is added here, and counts as degree.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from memoria.graph.view import implied
from memoria.model import Edge, Outline, source_node, source_of
from memoria.scoring import (
    MAX_BRANCHES,
    MAX_DEPTH,
    MIN_ACTIVATION,
    TAG_SIM_FLOOR,
    tag_sim,
    transfer_energy,
)
from memoria.store import Spread, Store

WIDE = 2_000  # edges: of a node with more, the strongest so many are read


class Limits(NamedTuple):
    """How far energy spreads."""

    max_depth: int = MAX_DEPTH
    min_activation: float = MIN_ACTIVATION
    tag_sim_floor: float = TAG_SIM_FLOOR
    max_branches: int = MAX_BRANCHES


class Reached(NamedTuple):
    """A node that energy reached, and over which edge."""

    parent: int | None  # where in `Explored.steps` the energy came from; None for the seed
    depth: int
    node: int
    energy: float
    edge: Edge | None = None
    degree: int | None = None  # of the node that was left
    tag_sim: float | None = None


class Explored(NamedTuple):
    """All that one seed activated."""

    steps: list[Reached]  # the seed first, then level by level, the best of each first
    ends: dict[int, str]  # step -> why its trail ends there
    end: str  # max_depth | empty_frontier | seed_not_found
    capped: list[tuple[int, int, int]]  # node, edges read, degree
    outlines: dict[int, list[Outline]]  # of the notes that were met

    def trails(self) -> list[tuple[tuple[int, ...], str]]:
        """Return (the steps from the seed on, why it ends) of every trail, in the order of a tree."""
        return sorted((self.chain(last), end) for last, end in self.ends.items())

    def chain(self, last: int) -> tuple[int, ...]:
        """Return the steps from the seed to this one."""
        found = [last]
        while (parent := self.steps[found[-1]].parent) is not None:
            found.append(parent)
        return tuple(reversed(found))


class _Candidate(NamedTuple):
    """An edge that passes on enough, from a node of the frontier."""

    energy: float
    place: int  # of the node in the frontier
    edge: Edge
    degree: int
    tag_sim: float


def explore(store: Store, seed: int, energy: float, tags: Collection[str], limits: Limits) -> Explored:
    """Spread energy from a node; `tags` are the query's."""
    if not exists(store, seed):
        return Explored([], {}, "seed_not_found", [], {})
    return _Exploration(store, tags, limits).run(Reached(None, 0, seed, energy))


def exists(store: Store, node: int) -> bool:
    """Tell whether there is such an atom, note or entity."""
    if node < 0:
        return bool(store.entities([node]))
    source = source_of(node)
    if node == source_node(source):
        return bool(store.show((), [source]).sources)
    return any(source_node(source) + here.ordinal == node for here in store.outlines([source]).get(source, ()))


class _Exploration:
    """One seed's exploration."""

    def __init__(self, store: Store, tags: Collection[str], limits: Limits) -> None:
        self._store = store
        self._query_tags = tuple(dict.fromkeys(tags))
        self._limits = limits
        self._outlines: dict[int, list[Outline]] = {}
        self._tags: dict[int, list[str]] = {}
        self._paths: dict[int, str] = {}
        self._visited: set[int] = set()
        self._capped: list[tuple[int, int, int]] = []

    def run(self, seed: Reached) -> Explored:
        """Spread level by level until nothing passes on enough, or the depth is reached."""
        steps = [seed]
        ends: dict[int, str] = {}
        frontier = [0]
        self._visited = {seed.node}
        for depth in range(1, self._limits.max_depth + 1):
            if not frontier:
                break
            passed, stuck = self._level([steps[number] for number in frontier])
            ends.update((frontier[place], why) for place, why in stuck.items())
            new = [
                Reached(frontier[one.place], depth, one.edge.end, one.energy, one.edge, one.degree, one.tag_sim)
                for one in passed
            ]
            frontier = list(range(len(steps), len(steps) + len(new)))
            steps += new
            self._visited.update(step.node for step in new)
        ends.update(dict.fromkeys(frontier, "max_depth"))
        end = "max_depth" if frontier else "empty_frontier"
        return Explored(steps, ends, end, self._capped, self._outlines)

    def _level(self, frontier: list[Reached]) -> tuple[list[_Candidate], dict[int, str]]:
        """Return what the frontier passes on, and why those of it that pass nothing on don't, by their place in it."""
        found = self._read(frontier)
        stored: dict[int, list[tuple[Edge, float]]] = {}
        for edge, similarity in found.edges:
            stored.setdefault(edge.start, []).append((edge, similarity))
        candidates: list[_Candidate] = []
        open_places: set[int] = set()
        wide: list[tuple[int, int, float]] = []  # place, degree, the most that an edge not read can pass on
        for place, step in enumerate(frontier):
            near, count = self._implied(step.node)
            edges = found.degrees.get(step.node, 0)
            degree = edges + count
            if edges > WIDE or step.node in found.open or any(edge.end not in self._visited for edge in near):
                open_places.add(place)
            most = step.energy / math.sqrt(degree) if degree else 0.0
            if most <= self._limits.min_activation:
                continue
            if edges > WIDE:
                strongest = self._store.strongest(step.node, WIDE)
                stored[step.node] = self._with_similarity(strongest)
                wide.append((place, degree, most * strongest[-1].weight))
            for edge, similarity in (*stored.get(step.node, ()), *self._with_similarity(near)):
                passed = transfer_energy(step.energy, edge.weight, degree, similarity)
                if passed > self._limits.min_activation and edge.end not in self._visited:
                    candidates.append(_Candidate(passed, place, edge, degree, similarity))
        taken = self._settled(candidates)
        self._note_capped(frontier, wide, taken)
        passing = {one.place for one in taken}
        wanted = {one.place for one in candidates}
        stuck = {
            place: "all_claimed" if place in wanted else "below_threshold" if place in open_places else "dead_end"
            for place in range(len(frontier))
            if place not in passing
        }
        return taken, stuck

    def _read(self, frontier: list[Reached]) -> Spread:
        sources = {source_of(step.node) for step in frontier if step.node > 0} - self._outlines.keys()
        found = self._store.spread(
            [(step.node, step.energy) for step in frontier],
            self._visited,
            sources,
            self._query_tags,
            floor=self._limits.tag_sim_floor,
            least=self._limits.min_activation,
            wide=WIDE,
        )
        for source in sources:
            self._outlines[source] = found.outlines.get(source, [])
            self._tags[source] = found.tags.get(source, [])
        self._paths.update(found.paths)
        return found

    def _settled(self, candidates: Iterable[_Candidate]) -> list[_Candidate]:
        """Give every node to whoever passes on most to it, and to everyone its best ones that are left."""
        taken: list[_Candidate] = []
        claimed: set[int] = set()
        branches: dict[int, int] = {}
        for one in sorted(candidates, key=self._order):
            if one.edge.end not in claimed and branches.get(one.place, 0) < self._limits.max_branches:
                taken.append(one)
                claimed.add(one.edge.end)
                branches[one.place] = branches.get(one.place, 0) + 1
        return taken

    def _order(self, one: _Candidate) -> tuple[float, int, str, int, str]:
        """Order by energy, then by parent, then by where the neighbor stands: the order of ingest never shows."""
        end = one.edge.end
        return -one.energy, one.place, self._paths.get(source_of(end), "") if end > 0 else "", end, one.edge.kind

    def _with_similarity(self, edges: Iterable[Edge]) -> list[tuple[Edge, float]]:
        return [(edge, tag_sim(edge.tags, self._query_tags, self._limits.tag_sim_floor)) for edge in edges]

    def _note_capped(
        self, frontier: Sequence[Reached], wide: list[tuple[int, int, float]], taken: list[_Candidate]
    ) -> None:
        """Note the hubs of which an edge that was not read might have passed on more than one that was taken."""
        for place, degree, most in wide:
            passed = [one.energy for one in taken if one.place == place]
            least = min(passed) if len(passed) == self._limits.max_branches else self._limits.min_activation
            if most > least:
                self._capped.append((frontier[place].node, WIDE, degree))

    def _implied(self, node: int) -> tuple[list[Edge], int]:
        """Return the strongest edges that places in a note imply, and how many there are in all."""
        source = source_of(node)
        outline = self._outlines.get(source, ()) if node > 0 else ()
        if not outline:
            return [], 0
        if node == source_node(source):  # its first atoms weigh most
            return implied(node, outline[:WIDE], self._tags[source]), len(outline)
        edges = implied(node, outline, self._tags[source])
        return edges, len(edges)
