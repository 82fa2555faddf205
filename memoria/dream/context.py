"""What all steps of a dream share: what is due, the notes, and writing a little at a time."""

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from memoria.model import Edge, Entity, source_node, source_of
from memoria.store.dreams import DreamSource, DreamStore, Found, Passage
from memoria.store.writer import StoreWriter

RENEW = 0.05  # of the notes changed: figures that were frozen are renewed
PAGE_NOTES = 300  # written in one transaction: others wait for no longer than that takes
_READ_ATOMS = 3_000

Progress = Callable[[str, int, int], None]
Writing = Callable[[], AbstractContextManager[StoreWriter]]


class StoppedError(Exception):
    """A dream was asked to stop; all that was written is whole."""


class Due(NamedTuple):
    """What a step has to look at."""

    sources: Sequence[int]  # changed and new ones; in a full dream all
    full: bool
    vanished: int  # how many sources went since the step ran last
    since: int  # how many changed since the last full one, these included

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.sources or self.full or self.vanished)


class DreamNote(NamedTuple):
    """A note, read to be thought about."""

    source: DreamSource
    passages: Sequence[Passage]

    def text(self, most: int) -> str:
        """Return its beginning."""
        found: list[str] = []
        size = 0
        for passage in self.passages:
            found.append(passage.text)
            size += len(passage.text)
            if size >= most:
                break
        return "\n\n".join(found)[:most]

    @property
    def name(self) -> str:
        """The file's name, without its ending."""
        base = self.source.relpath.rsplit("/", 1)[-1]
        return base.rsplit(".", 1)[0] or base

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders above it, outermost first."""
        return tuple(self.source.relpath.split("/")[:-1])


class Dream:
    """One dream."""

    def __init__(
        self,
        store: DreamStore,
        writing: Writing,
        *,
        now: float,
        today: str,
        full: bool = False,
        progress: Progress = lambda step, done, total: None,  # noqa: ARG005
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.store = store
        self.now = int(now)
        self.today = today
        self.full = full
        self.progress = progress
        self.sources = store.sources()
        self.ran_full = False
        self.dreamed: set[int] = set()  # sources that some step looked at, not counting full ones
        self._writing = writing
        self._stopped = stopped
        self._notes: dict[int, DreamNote] = {}

    def check_stopped(self) -> None:
        """End here if that was asked for."""
        if self._stopped():
            raise StoppedError

    # What is due

    def due(self, step: str, *, renew: bool = False) -> Due:
        """Return what a step has to look at; `renew` where what it froze can't be used any more."""
        seen = self.store.dreamed(step)
        dirty = [number for number, source in self.sources.items() if seen.get(number) != source.stamp]
        state = self.thaw(f"full/{step}")
        vanished = max(0, state["seen"] - len(seen)) if state else 0
        since = (state["since"] if state else 0) + len(dirty) + vanished
        due = bool(dirty or vanished or not state)
        full = self.full or renew or not state or (due and since >= RENEW * state["notes"])
        if full:
            self.ran_full = True
            return Due(list(self.sources), full=True, vanished=vanished, since=0)
        self.dreamed.update(dirty)
        return Due(dirty, full=False, vanished=vanished, since=since)

    def finish(self, step: str, due: Due, frozen: Mapping[str, bytes] | None = None) -> None:
        """Remember that a step is done, and what holds until its next full run."""
        state = self.thaw(f"full/{step}") or {"notes": 0}
        notes = len(self.sources) if due.full else state["notes"]
        new = {"notes": notes, "since": due.since, "seen": len(self.store.dreamed(step))}
        rows = {f"full/{step}": freeze(new), **(frozen or {})}
        changed = [(name, value) for name, value in rows.items() if self.store.frozen(name) != value]
        if changed:
            with self._writing() as writer:
                DreamStore(writer).put(Found(), frozen=changed)

    def thaw(self, name: str) -> Any:
        """Return a frozen figure, or None."""
        value = self.store.frozen(name)
        return json.loads(zlib.decompress(value)) if value is not None else None

    # The notes

    def notes(self, sources: Iterable[int], *, most: int | None = None) -> list[DreamNote]:
        """Return notes with what they say, or with `most` the passages that hold so many of its first characters."""
        wanted = [number for number in sources if number in self.sources]
        missing = [number for number in wanted if number not in self._notes]
        found: dict[int, DreamNote] = {}
        for start in range(0, len(missing), PAGE_NOTES * 4):
            self.check_stopped()
            found |= self._read(missing[start : start + PAGE_NOTES * 4], most)
        if most is None:
            self._notes |= found
        return [note for number in wanted if (note := self._notes.get(number) or found.get(number))]

    def _read(self, sources: Sequence[int], most: int | None) -> dict[int, DreamNote]:
        atoms: dict[int, list[int]] = {}
        for source, outline in self.store.store.outlines(sources).items():
            chosen = atoms[source] = []
            size = 0
            for place in outline:
                chosen.append(source_node(source) + place.ordinal)
                size += place.chars
                if most is not None and size >= most:
                    break
        wanted = [atom for chosen in atoms.values() for atom in chosen]
        passages: dict[int, Passage] = {}
        for start in range(0, len(wanted), _READ_ATOMS):
            passages |= self.store.passages(wanted[start : start + _READ_ATOMS])
        return {
            source: DreamNote(self.sources[source], [passages[atom] for atom in chosen if atom in passages])
            for source, chosen in atoms.items()
        }

    def tags(self) -> "Tags":
        """Return the tags of all notes, as they are now."""
        return Tags(self.store)

    # Writing

    def write(self, step: str, found: Mapping[int, Found], due: Due) -> tuple[int, int]:
        """Write what was found about notes; return how much was added and removed.

        What changed in the meantime is left for the next dream.
        """
        added = removed = 0
        seen = self.store.dreamed(step)
        todo = [
            number
            for number in due.sources
            if not found.get(number, Found()).empty or seen.get(number) != self.sources[number].stamp
        ]
        for start in range(0, len(todo), PAGE_NOTES):
            self.check_stopped()
            self.progress(step, start, len(todo))
            page = todo[start : start + PAGE_NOTES]
            with self._writing() as writer:
                fresh = DreamStore(writer)
                put = self._still_true(fresh, {number: found.get(number, Found()) for number in page})
                fresh.put(merged(put.values()), dreamed=[(step, number, self.sources[number].stamp) for number in put])
            added += sum(len(one.edges) + len(one.tags) for one in put.values())
            removed += sum(len(one.gone) + len(one.gone_tags) for one in put.values())
        self.progress(step, len(todo), len(todo))
        return added, removed

    def _still_true(self, store: DreamStore, found: Mapping[int, Found]) -> dict[int, Found]:
        """Return what is known of notes that are as they were read, without edges to what is gone."""
        others = {source_of(edge.end) for one in found.values() for edge in one.edges if edge.end > 0}
        others |= {source_of(edge.start) for one in found.values() for edge in one.edges if edge.start > 0}
        stamps = store.stamps({*found, *others})
        kept = {}
        for number, one in found.items():
            if stamps.get(number) == self.sources[number].stamp:
                edges = [
                    edge for edge in one.edges if self._there(edge.start, stamps) and self._there(edge.end, stamps)
                ]
                named = {edge.end for edge in edges}
                kept[number] = one._replace(
                    edges=edges,
                    entities=[entity for entity in one.entities if entity.node in named],
                    entity_names=[row for row in one.entity_names if row[1] in named],
                )
        return kept

    def _there(self, node: int, stamps: Mapping[int, str]) -> bool:
        if node < 0:
            return True
        number = source_of(node)
        return number in self.sources and stamps.get(number) == self.sources[number].stamp

    def writing(self) -> AbstractContextManager[StoreWriter]:
        """Open the store to write."""
        return self._writing()


class Tags:
    """The tags of all notes: of people, and of dreams with their scores."""

    def __init__(self, store: DreamStore) -> None:
        self.own: dict[int, set[str]] = {}  # written in the note, or given at ingest
        self.human: dict[int, set[str]] = {}  # these, and those accepted
        for name, node, origin in store.store.labels("tag"):
            if origin != "dream":
                self.human.setdefault(source_of(node), set()).add(name)
                if origin != "accepted":
                    self.own.setdefault(source_of(node), set()).add(name)
        self.dream = {source: {name: score for name, score, _ in given} for source, given in store.tags().items()}

    def weighed(self, source: int) -> dict[str, float]:
        """Return a note's tags: 1 for those of people, the score for those of dreams."""
        return {**self.dream.get(source, {}), **dict.fromkeys(self.human.get(source, ()), 1.0)}


def merged(found: Iterable[Found]) -> Found:
    """Return several findings as one."""
    columns: list[dict[Any, None]] = [{} for _ in Found._fields]
    for one in found:
        for column, rows in zip(columns, one, strict=True):
            column.update(dict.fromkeys(rows))
    return Found(*(list(column) for column in columns))


def changed_edges(have: Iterable[Edge], want: Iterable[Edge]) -> dict[int, Found]:
    """Return what has to go and to come, by the source that each edge is meant from."""
    old, new = set(have), set(want)
    gone: dict[int, list[Edge]] = {}
    came: dict[int, list[Edge]] = {}
    for edge in sorted(old - new, key=_order):
        gone.setdefault(source_of(edge.start), []).append(edge)
    for edge in sorted(new - old, key=_order):
        came.setdefault(source_of(edge.start), []).append(edge)
    return {
        number: Found(gone=gone.get(number, []), edges=came.get(number, [])) for number in gone.keys() | came.keys()
    }


def _order(edge: Edge) -> tuple[int, int, str]:
    return edge.start, edge.end, edge.kind


def freeze(value: Any) -> bytes:
    """Return a figure as the store keeps it."""
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"), 6)


def edge_line(dream: Dream, edge: Edge, entities: Mapping[int, Entity]) -> str:
    """Return an edge as those read it who want to see all that changed."""

    def called(node: int) -> str:
        if node < 0:
            return f"{entities[node].name} ({entities[node].kind})" if node in entities else str(node)
        return dream.sources[source_of(node)].relpath

    return f"+ {called(edge.start)} - {called(edge.end)}  ({edge.kind} {edge.weight:.2f}, {edge.why})"
