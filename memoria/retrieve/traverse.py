"""Traverse: neighbors by hop, or by personalised PageRank, from one or several nodes; every step with its edge."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from memoria.graph.view import implied
from memoria.model import Edge, source_of
from memoria.store import Store

DEPTH = 3
DAMPING = 0.85
TOP = 20
MOST_EDGES = 200  # of one node: the strongest; a hub leads everywhere, and so nowhere
MOST_NODES = 20_000  # that are looked at
ROUNDS = 60
ENOUGH = 1e-9

Edges = Callable[[Iterable[int]], Mapping[int, list[Edge]]]  # node -> its edges, the strongest first


class Step(NamedTuple):
    """A node that was reached, over which edge, and how strongly."""

    node: int
    hop: int
    score: float  # walk: product of the weights on the way; ppr: its rank
    edge: Edge | None  # that led here; none for a start


def edges_of(store: Store, kinds: Iterable[str] = ()) -> Edges:
    """Return how edges are read: those that are stored, and those that follow from places in a note."""
    wanted = set(kinds)

    def read(nodes: Iterable[int]) -> dict[int, list[Edge]]:
        asked = list(nodes)
        found: dict[int, list[Edge]] = {node: [] for node in asked}
        for edge in store.strongest_edges(asked, MOST_EDGES):
            found[edge.start].append(edge)
        outlines = store.outlines({source_of(node) for node in asked if node > 0})
        for node in asked:
            if node > 0:
                found[node] += implied(node, outlines.get(source_of(node), ()))
            if wanted:
                found[node] = [edge for edge in found[node] if edge.kind in wanted]
            found[node].sort(key=lambda edge: (edge.rank, edge.end, edge.kind))
        return found

    return read


def walk(edges: Edges, starts: Iterable[int], depth: int) -> list[Step]:
    """Return what lies up to `depth` edges away, hop by hop; in each, the strongest ways first.

    A node is reached once, by the fewest edges, and of those ways by the strongest.
    """
    reached = {node: Step(node, 0, 1.0, None) for node in starts}
    frontier = list(reached)
    for hop in range(1, depth + 1):
        best: dict[int, Step] = {}
        found = edges(frontier)
        for node in frontier:
            for edge in found[node]:
                if edge.end not in reached:
                    step = Step(edge.end, hop, reached[node].score * edge.weight, edge)
                    known = best.get(edge.end)
                    if known is None or _before(step) < _before(known):
                        best[edge.end] = step
        frontier = sorted(best, key=lambda node: _before(best[node]))[: max(0, MOST_NODES - len(reached))]
        reached.update((node, best[node]) for node in frontier)
        if not frontier:
            break
    return list(reached.values())


def _before(step: Step) -> tuple[float, int, int, str]:
    edge = step.edge
    return (-step.score, step.node, edge.start if edge else 0, edge.kind if edge else "")


def ranked(edges: Edges, starts: Iterable[int], depth: int, damping: float) -> list[Step]:
    """Return the nodes within `depth` edges by personalised PageRank: who walks at random, and returns to the starts.

    A walker goes on with the probability `damping`, over an edge by its weight.
    """
    home = list(dict.fromkeys(starts))
    steps = {step.node: step for step in walk(edges, home, depth)}
    found = edges(steps)
    ways: dict[int, list[tuple[int, float]]] = {}
    for node in steps:
        best: dict[int, float] = {}
        for edge in found[node]:
            if edge.end in steps and edge.end != node:
                best[edge.end] = max(best.get(edge.end, 0.0), edge.weight)
        total = sum(best.values())
        ways[node] = [(end, weight / total) for end, weight in best.items()]
    rank = dict.fromkeys(steps, 0.0) | dict.fromkeys(home, 1 / len(home))
    for _ in range(ROUNDS):
        new = dict.fromkeys(steps, 0.0)
        lost = sum(value for node, value in rank.items() if not ways[node])
        for node in home:
            new[node] = (1 - damping + damping * lost) / len(home)
        for node, value in rank.items():
            for end, share in ways[node]:
                new[end] += damping * value * share
        change = sum(abs(new[node] - rank[node]) for node in steps)
        rank = new
        if change < ENOUGH:
            break
    scored = [step._replace(score=rank[node]) for node, step in steps.items()]
    return sorted(scored, key=lambda step: (step.edge is not None, -step.score, step.node))
