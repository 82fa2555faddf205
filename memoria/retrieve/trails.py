"""From a query or from names to trails: which seeds, which tags, and what is shown of the nodes that energy reached."""

import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from queue import SimpleQueue
from typing import NamedTuple

from memoria.errors import AmbiguousError, MemoriaError, NotFoundError
from memoria.model import Activation, Answer, Capped, Outline, Spot, Step, Trail, source_node, source_of
from memoria.retrieve.activation import Explored, Limits, Reached, explore
from memoria.retrieve.anchors import grams, longest_matches
from memoria.retrieve.query import Query
from memoria.retrieve.resolve import find
from memoria.store import Store
from memoria.store.dreams import DreamStore
from memoria.text import MAX_NAME_WORDS, label_name, name_key, terms

MAX_THREADS = 5
_KEY_DIGITS = 12
_MOST_NAMED = 12  # notes of one name that are told
_MOST_LABELS = 200
_NO_LABELS = ("inbox", "_untagged")  # where nobody put anything: says nothing about a query


class Seed(NamedTuple):
    """Where activation begins."""

    rank: int
    name: str
    energy: float
    node: int | None  # None where nothing is called so
    problem: str = ""  # what to say then


class Activating(NamedTuple):
    """An activation under way."""

    answer: Answer | None  # of the search that found the seeds
    seeds: list[Seed]
    tags: list[str]  # of the query
    results: Generator[Activation]  # in the order in which the seeds finish


def seeds_of(store: Store, answer: Answer) -> list[Seed]:
    """Return the hits of a search as seeds: R is the score, the best one's being 1."""
    atoms = store.taken_keys(hit.key for hit in answer.hits)
    best = max((hit.score for hit in answer.hits), default=1.0)
    return [Seed(hit.rank, hit.key, hit.score / best, atoms.get(hit.key), f"{hit.key} is gone") for hit in answer.hits]


def named_seed(store: Store, rank: int, name: str, energy: float) -> Seed:
    """Return the seed that a key, a path, a title or an entity's name means."""
    try:
        named = find(store, name)
    except (NotFoundError, AmbiguousError) as error:
        entity = _entity(store, name)
        if entity is not None:
            return Seed(rank, name, energy, entity)
        return Seed(rank, name, energy, None, f"{error}\n{error.hint}")
    if named.atom is not None:
        return Seed(rank, name, energy, named.atom)
    if len(named.sources) > 1:
        several = AmbiguousError(name, [source.relpath for source in named.sources[:_MOST_NAMED]])
        return Seed(rank, name, energy, None, f"{several}\n{several.hint}")
    return Seed(rank, name, energy, source_node(named.sources[0].id))


def _entity(store: Store, name: str) -> int | None:
    found = DreamStore(store).entities_called(filter(None, [name_key(name)]))
    nodes = [node for nodes in found.values() for node in nodes]
    if nodes:
        return min(nodes)
    key = name.lower()
    node = -1 - int(key, 16) if len(key) == _KEY_DIGITS and set(key) <= set("0123456789abcdef") else 0
    return node if node and store.entities([node]) else None


def query_tags(store: Store, query: Query) -> list[str]:
    """Return the tags, buckets, titles and entities that a query mentions, as tags are written."""
    said = terms(query.text)
    runs = {
        tuple(said[start : start + size])
        for start in range(len(said))
        for size in range(1, min(MAX_NAME_WORDS, len(said) - start) + 1)
    }
    found = set()
    for _, name in store.find_labels(said, most=_MOST_LABELS) if said else ():
        whole, last = tuple(terms(name)), tuple(terms(name.rsplit("/", 1)[-1]))
        if name not in _NO_LABELS and (whole in runs or last in runs):
            found.add(name)
    names = grams(query.plain)
    if names:
        called = store.called(names)
        for name, nodes in DreamStore(store).entities_called(names).items():
            called.setdefault(name, []).extend(("entity", node) for node in nodes)
        found.update(label_name(name) for name in longest_matches(query.plain, called))
    return sorted(found)


def activate(store: Store, seeds: Sequence[Seed], tags: Sequence[str], limits: Limits) -> Generator[Activation]:
    """Explore all seeds at once, each on its own read; yield what each activated as soon as it is known."""
    waiting: SimpleQueue[Seed | None] = SimpleQueue()
    done: SimpleQueue[Activation | BaseException] = SimpleQueue()
    for seed in seeds:
        waiting.put(seed)
    threads = [
        threading.Thread(target=_work, args=(store, waiting, done, tags, limits), daemon=True)
        for _ in range(min(MAX_THREADS, len(seeds)))
    ]
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.start()
    try:
        for _ in seeds:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result
    finally:
        while not waiting.empty():  # nobody waits for the others any more
            waiting.get()
        for _ in threads:
            waiting.put(None)
        for thread in threads:
            thread.join()


def _work(
    store: Store,
    waiting: "SimpleQueue[Seed | None]",
    done: "SimpleQueue[Activation | BaseException]",
    tags: Sequence[str],
    limits: Limits,
) -> None:
    while (seed := waiting.get()) is not None:
        try:
            done.put(activate_one(store, seed, tags, limits))
        except BaseException as error:  # noqa: BLE001 - it is raised again, where somebody sees it
            done.put(error)


def activate_one(store: Store, seed: Seed, tags: Sequence[str], limits: Limits) -> Activation:
    """Explore one seed, in one state of the store; its failure is its own."""
    missing = Activation(seed.rank, seed.name, seed.energy, (), (), "seed_not_found", problem=seed.problem)
    node = seed.node
    if node is None:
        return missing

    def look() -> Activation:
        explored = explore(store, node, seed.energy, tags, limits)
        if not explored.steps:
            return missing._replace(problem=f"{seed.name!r} is gone")
        return _shown(store, seed, explored)

    try:
        return store.of_one_state(look)
    except MemoriaError as error:
        return missing._replace(end="failed", problem=str(error))


def energies(
    store: Store, seeds: Iterable[tuple[int, float]], tags: Sequence[str], limits: Limits
) -> dict[int, tuple[float, int, tuple[str, ...]]]:
    """Return what reaches the atoms of other notes at the most: energy, from which seed, over which kinds of edges.

    A note hands what reaches it to its first atom. What stands around a seed counts for it already.
    """
    found: dict[int, tuple[float, int, tuple[str, ...]]] = {}
    for seed, energy in seeds:
        explored = explore(store, seed, energy, tags, limits)
        away = [
            (number, step)
            for number, step in enumerate(explored.steps)
            if step.node > 0 and source_of(step.node) != source_of(seed)
        ]
        missing = {source_of(step.node) for _, step in away} - explored.outlines.keys()
        outlines = explored.outlines | (store.outlines(missing) if missing else {})
        for number, step in away:
            atom = _readable(step.node, outlines)
            if atom is not None and (atom not in found or found[atom][0] < step.energy):
                chain = (explored.steps[place].edge for place in explored.chain(number))
                found[atom] = (step.energy, seed, tuple(edge.kind for edge in chain if edge))
    return found


def _readable(node: int, outlines: Mapping[int, Sequence[Outline]]) -> int | None:
    """Return the atom that stands for a node: itself, or the first one of a note; None for a note without text."""
    home = source_node(source_of(node))
    if node != home:
        return node
    outline = outlines.get(source_of(node))
    return home + outline[0].ordinal if outline else None


def _shown(store: Store, seed: Seed, explored: Explored) -> Activation:
    nodes = {step.node for step in explored.steps} | {node for node, _, _ in explored.capped}
    spots = _spots(store, nodes, explored)
    return Activation(
        seed.rank,
        seed.name,
        seed.energy,
        tuple(_step(step, spots[step.node]) for step in explored.steps),
        tuple(Trail(steps, end) for steps, end in explored.trails()),
        explored.end,
        tuple(Capped(spots[node], read, degree) for node, read, degree in explored.capped),
    )


def _step(step: Reached, spot: Spot) -> Step:
    if step.edge is None:
        return Step(None, 0, spot, step.energy)
    edge = step.edge
    return Step(
        step.parent, step.depth, spot, step.energy, edge.weight, step.degree, step.tag_sim, edge.kind, edge.type,
        edge.way, edge.tags,
    )  # fmt: skip


def _spots(store: Store, nodes: Iterable[int], explored: Explored) -> dict[int, Spot]:
    """Return what is shown of these nodes; a note is shown by its first atom."""
    places = {node for node in nodes if node > 0}
    missing = {source_of(node) for node in places} - explored.outlines.keys()
    outlines = {**explored.outlines, **(store.outlines(missing) if missing else {})}
    atoms = {node: _readable(node, outlines) for node in places}
    shown = store.show([atom for atom in set(atoms.values()) if atom is not None], map(source_of, places))
    entities = store.entities([node for node in nodes if node < 0])
    spots = {}
    for node in nodes:
        if node < 0:
            entity = entities[node]
            spots[node] = Spot("entity", entity.key, "", "", None, entity.name, (), entity.kind)
            continue
        source = shown.sources[source_of(node)]
        atom = atoms[node]
        stored = shown.atoms[atom] if atom is not None else None
        ordinal = atom - source_node(source.id) if atom is not None else 0
        line = next((here.line for here in outlines.get(source.id, ()) if here.ordinal == ordinal), 1)
        whole = node == source_node(source.id)
        spots[node] = Spot(
            what="note" if whole else "atom",
            key=stored.key if stored and not whole else "",
            path=source.path,
            relpath=source.relpath,
            line=line,
            title=source.title,
            heading=stored.heading if stored and not whole else (),
            content=stored.text if stored else "",
        )
    return spots
