"""How central notes and entities are: PageRank over all edges."""

from collections.abc import Iterable, Mapping

DAMPING = 0.85
ROUNDS = 60
ENOUGH = 1e-9


def centralities(nodes: Iterable[int], edges: Mapping[int, Mapping[int, float]]) -> dict[int, float]:
    """Return each node's PageRank as a share of the largest; `edges` are weighted and go both ways."""
    order = list(nodes)
    place = {node: number for number, node in enumerate(order)}
    ends: list[list[tuple[int, float]]] = []
    for node in order:
        out = [(place[other], weight) for other, weight in sorted(edges.get(node, {}).items()) if other in place]
        total = sum(weight for _, weight in out)
        ends.append([(other, weight / total) for other, weight in out])
    count = len(order)
    rank = [1 / count] * count
    for _ in range(ROUNDS):
        loose = sum(value for value, out in zip(rank, ends, strict=True) if not out)
        new = [(1 - DAMPING + DAMPING * loose) / count] * count
        for value, out in zip(rank, ends, strict=True):
            given = DAMPING * value
            for other, share in out:
                new[other] += given * share
        change = sum(map(abs, (one - two for one, two in zip(rank, new, strict=True))))
        rank = new
        if change < ENOUGH:
            break
    best = max(rank, default=1.0)
    return {node: round(value / best, 6) for node, value in zip(order, rank, strict=True)}
