"""The part of an ingest that needs no store: read, parse, analyze."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from typing import NamedTuple

from memoria.errors import NoteError
from memoria.ingest.note import note_labels, put_note
from memoria.ingest.plan import recalled
from memoria.ingest.read import Text, read
from memoria.markdown import parse
from memoria.model import Note, Source, Words
from memoria.store.batch import Batch
from memoria.text import indexed_text, terms

# Starting a process costs as much as parsing some hundred notes.
HELPED_BYTES = 3_000_000
_CHUNK_BYTES = 1_000_000  # about a batch: what a helper packs need not be merged with more


class Job(NamedTuple):
    """A file to be read."""

    path: str
    root: str
    given: str
    size: int
    mtime: int
    unless: str  # the hash that it had: the same again is not parsed
    number: int  # for a source that is surely new, its number; else 0
    max_bytes: int
    today: date
    now: int

    @property
    def relpath(self) -> str:
        """The path below the root."""
        return self.path[len(self.root) :].lstrip(os.sep).replace(os.sep, "/")


class Prepared(NamedTuple):
    """A note, ready to be put into a batch."""

    hash: str
    size: int
    warnings: tuple[str, ...]
    note: Note | None  # None where nothing changed
    words: list[Words]


class Done(NamedTuple):
    """What became of some jobs: new notes are in the batch, the others wait for the store to be asked."""

    batch: Batch
    results: list[Prepared | NoteError]


def prepare(job: Job) -> Prepared | NoteError:
    """Read and analyze one note; a failure is an answer, too."""
    try:
        text = read(job.path, job.max_bytes)
    except NoteError as error:
        return error
    if text.hash == job.unless:
        return Prepared(text.hash, text.size, (), None, [])
    return prepared(text, parse(text.text, job.relpath, job.today))


def prepared(text: Text, note: Note) -> Prepared:
    """Analyze a note that has been parsed."""
    warnings = tuple(filter(None, (text.warning, *note.warnings)))
    return Prepared(text.hash, text.size, warnings, note, [words_of(atom.text) for atom in note.atoms])


def words_of(text: str) -> Words:
    """Return the terms of an atom's text."""
    found = terms(indexed_text(text))
    return Words(Counter(found), len(found))


def file_source(job: Job, ready: Prepared, note: Note, number: int) -> Source:
    """Return the source that a file becomes."""
    return Source(
        id=number,
        path=job.path,
        root=job.root,
        relpath=job.relpath,
        title=note.title,
        aliases=note.aliases,
        hash=ready.hash,
        size=ready.size,
        mtime=job.mtime,
        date=note.date,
        kind="file",
        origin="file",
        given=job.given,
        next=1,
        atoms=0,
        ingested=job.now,
    )


def work(jobs: list[Job]) -> Done:
    """Prepare some notes, and put those that are surely new into a batch."""
    done = Done(Batch(0), [])
    for job in jobs:
        ready = prepare(job)
        if isinstance(ready, Prepared) and ready.note and job.number:
            bucket, tags, _ = recalled(job.given)
            source = file_source(job, ready, ready.note, job.number)
            labels = note_labels(ready.note, job.relpath, bucket, tags)
            try:
                put_note(done.batch, source, ready.note, ready.words, labels, None)
                ready = ready._replace(note=None, words=[])
            except NoteError as error:
                ready = error
        done.results.append(ready)
    return done


def work_all(jobs: list[Job]) -> Iterator[Done]:
    """Prepare notes, in order; where there are many, on all processors."""
    helpers = min(4, os.cpu_count() or 1)
    if helpers == 1 or sum(job.size for job in jobs) < HELPED_BYTES:
        yield from map(work, _chunks(jobs))
        return
    from memoria.ingest.helpers import work_beside

    yield from work_beside([*_chunks(jobs)], helpers)


def _chunks(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    chunk: list[Job] = []
    size = 0
    for job in jobs:
        chunk.append(job)
        size += job.size
        if size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
