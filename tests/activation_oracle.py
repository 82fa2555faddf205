"""Brute force for activation: the source document's algorithm over plain dictionaries, edge by edge."""

import math
from typing import NamedTuple

from memoria.model import source_node
from memoria.store.writer import StoreWriter


class Line(NamedTuple):
    """An edge, as seen from one end."""

    to: int
    kind: str
    weight: float
    tags: frozenset[str]


class Mark(NamedTuple):
    """A node that was reached."""

    parent: int | None
    depth: int
    energy: float
    weight: float | None
    degree: int | None
    similarity: float | None
    kind: str | None


class Graph:
    """A whole graph in memory: what the store keeps, and what places in notes imply."""

    def __init__(self) -> None:
        self.lines: dict[int, list[Line]] = {}
        self.order: dict[int, tuple[str, int]] = {}  # node -> what breaks ties

    def add(self, one: int, other: int, kind: str, weight: float, tags: frozenset[str]) -> None:
        self.lines.setdefault(one, []).append(Line(other, kind, weight, tags))
        self.lines.setdefault(other, []).append(Line(one, kind, weight, tags))


def graph_of(store: StoreWriter) -> Graph:
    """Read every relation whole."""
    graph = Graph()
    tags: dict[int, set[str]] = {}
    for name, node, origin in store.labels("tag"):
        if origin != "dream":
            tags.setdefault(node, set()).add(name)
    for source in store.sources():
        home = source_node(source.id)
        outline = store.outlines([source.id]).get(source.id, [])
        atoms = [home + here.ordinal for here in outline]
        mine = frozenset(tags.get(home, ()))
        for node in (home, *atoms):
            graph.lines.setdefault(node, [])
            graph.order[node] = (source.path, node)
        for place, atom in enumerate(atoms):
            graph.add(home, atom, "part", max(0.45, 0.25 + 0.35 / math.sqrt(place + 1)), mine)
            for further in (1, 2, 3):
                if place + further < len(atoms):
                    graph.add(atom, atoms[place + further], "next", 0.25 + 0.35 / math.sqrt(further), mine)
    rows = store._engine.write_text(
        "?[a, b, kind, weight, tags, way] := *edge{from: a, to: b, kind, weight, tags, way}"
    )
    for one, other, kind, weight, edge_tags, _ in rows:
        for node in (one, other):
            graph.lines.setdefault(node, [])
            if node < 0:
                graph.order[node] = ("", node)
        graph.lines[one].append(Line(other, kind, weight, frozenset(edge_tags)))
    for (node,) in store._engine.write_text("?[node] := *entity{node}"):
        graph.lines.setdefault(node, [])
    return graph


def similarity(tags: frozenset[str], asked: frozenset[str], floor: float) -> float:
    if len(asked) == 0:
        return 1.0
    if len(tags) == 0:
        return floor
    return floor + (1.0 - floor) * (len(tags & asked) / len(tags | asked))


def spread(
    graph: Graph,
    seed: int,
    energy: float,
    asked: frozenset[str],
    *,
    depth: int,
    least: float,
    floor: float,
    branches: int,
) -> tuple[dict[int, Mark], dict[int, str]]:
    """Return what is reached, and why each trail ends where it ends."""
    marks = {seed: Mark(None, 0, energy, None, None, None, None)}
    ends: dict[int, str] = {}
    frontier = [seed]
    for level in range(depth):
        visited = set(marks)
        offers = []
        for rank, node in enumerate(frontier):
            degree = len(graph.lines[node])
            for line in graph.lines[node]:
                fit = similarity(line.tags, asked, floor)
                passed = marks[node].energy * line.weight / math.sqrt(degree) * fit
                if line.to not in visited and passed > least:
                    mark = Mark(node, level + 1, passed, line.weight, degree, fit, line.kind)
                    offers.append((-passed, rank, graph.order[line.to], line.kind, line.to, mark))
        offers.sort(key=lambda offer: offer[:4])
        following = []
        taken: dict[int, int] = {}
        for _, rank, _, _, to, mark in offers:
            if to not in marks and taken.get(rank, 0) < branches:
                marks[to] = mark
                taken[rank] = taken.get(rank, 0) + 1
                following.append(to)
        for rank, node in enumerate(frontier):
            if taken.get(rank):
                continue
            if any(offer[1] == rank for offer in offers):
                ends[node] = "all_claimed"
            elif all(line.to in visited for line in graph.lines[node]):
                ends[node] = "dead_end"
            else:
                ends[node] = "below_threshold"
        frontier = following
    ends.update(dict.fromkeys(frontier, "max_depth"))
    return marks, ends
