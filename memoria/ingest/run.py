"""An ingest from beginning to end: plan, read, batch, write, report."""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from memoria.config import Config
from memoria.errors import NoteError, StoreError
from memoria.graph.settle import settle
from memoria.ingest.note import Known, drop_note, indexed, note_labels, put_note
from memoria.ingest.plan import Given, Plan, Task, make_plan, recalled, remembered
from memoria.ingest.prepare import Job, Prepared, file_source, prepared, work_all
from memoria.ingest.read import decode, hash_of
from memoria.markdown import parse
from memoria.model import Atom, IngestReport, Note, Source, source_node
from memoria.store import SourceState
from memoria.store.batch import Batch, another_key
from memoria.store.writer import StoreWriter

# Characters of text in one batch: enough to write few segments, little enough to hold in memory.
BATCH_CHARS = 700_000

Progress = Callable[[int, int, str], None]


class TextNote(NamedTuple):
    """A note that comes as text: from a pipe, or as a line of JSON."""

    data: bytes
    name: str = ""
    title: str = ""
    bucket: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""


class _Run:
    """The state of one ingest."""

    def __init__(self, store: StoreWriter, config: Config, now: float, *, dry_run: bool) -> None:
        self.store = store
        self.config = config
        self.now = int(now)
        self.today = datetime.fromtimestamp(now, UTC).date()
        self.dry_run = dry_run
        self.batch = store.batch()
        self.counts = dict.fromkeys(("new", "changed", "moved", "removed", "skipped", "atoms"), 0)
        self.pending = dict.fromkeys(self.counts, 0)
        self.failed: list[tuple[str, str]] = []
        self.warnings: list[tuple[str, str]] = []

    def count(self, what: str, number: int = 1) -> None:
        """Count something that the next write makes true."""
        self.pending[what] += number

    def flush(self) -> None:
        """Write what has been gathered."""
        if not self.batch.empty:
            self.count("atoms", self.batch.added)
            if not self.dry_run:
                self._write()
            self.batch = Batch(self.batch.next_source)
        for what, number in self.pending.items():
            self.counts[what] += number
            self.pending[what] = 0

    def _write(self) -> None:
        try:
            self.store.write(self.batch, now=self.now)
        except StoreError:
            taken = self.store.taken_keys(self.batch.new_keys)
            if not taken:
                raise
            for key in taken:
                free = another_key(key, taken, self.batch.new_keys)
                while self.store.taken_keys([free]):
                    free = another_key(free, [free], self.batch.new_keys)
                self.batch.rename_key(key, free)
            self.store.write(self.batch, now=self.now)

    def flush_if_full(self) -> None:
        if self.batch.chars >= BATCH_CHARS:
            self.flush()

    def known(self, state: SourceState) -> Known:
        shown, atoms = self.store.show_source(state.id)
        return Known(shown.sources[state.id], atoms, shown.outlines.get(state.id, []), shown.labels)

    def report(self, started: float, *, interrupted: bool) -> IngestReport:
        return IngestReport(
            new=self.counts["new"],
            changed=self.counts["changed"],
            moved=self.counts["moved"],
            removed=self.counts["removed"],
            skipped=self.counts["skipped"],
            atoms=self.counts["atoms"],
            failed=tuple(self.failed),
            warnings=tuple(self.warnings),
            seconds=time.perf_counter() - started,
            dry_run=self.dry_run,
            interrupted=interrupted,
        )


def ingest_files(
    store: StoreWriter,
    paths: Iterable[str],
    given: Given,
    config: Config,
    *,
    now: float,
    force: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
    touched: Mapping[str, Sequence[str]] | None = None,
) -> IngestReport:
    """Ingest files and folders, or all known ones again. The caller holds the write lock.

    With `touched`, only `paths` and the places that it names below folders; see `make_plan`.

    Raises:
        RefusedError: a root is missing, or most of it is gone, and `force` was not given.

    """
    started = time.perf_counter()
    run = _Run(store, config, now, dry_run=dry_run)
    plan = make_plan(
        [os.path.abspath(path) for path in paths],
        given,
        states=store.source_states(),
        roots=store.roots(),
        extensions=tuple(config["ingest.extensions"]),
        ignore=tuple(config["ingest.ignore"]),
        force=force,
        touched=touched,
    )
    run.failed += plan.failed
    run.count("skipped", plan.unchanged)
    for root in plan.roots:
        run.batch.put_root(root)
    for gone in plan.gone_roots:
        run.batch.drop_root(gone)
    interrupted = _ingest_tasks(run, plan, progress, stopped)
    run.flush()
    if not dry_run:
        settle(store, int(now))
        if not interrupted:
            store.merge_segments()
    return run.report(started, interrupted=interrupted)


def _ingest_tasks(run: _Run, plan: Plan, progress: Progress | None, stopped: Callable[[], bool]) -> bool:
    """Read and write what has to be; return whether it was stopped before its end."""
    vanished = {state.hash: state for state in plan.vanished}
    elsewhere = _moved_roots(run, plan)
    tasks = iter(plan.tasks)
    done = 0
    jobs = [_job(run, task, may_have_moved=bool(vanished or elsewhere)) for task in plan.tasks]
    for chunk in work_all(jobs):
        run.batch.absorb(chunk.batch)
        for ready in chunk.results:
            task = next(tasks)
            try:
                if isinstance(ready, NoteError):
                    raise ready
                _ingest_task(run, task, jobs[done], ready, vanished, elsewhere)
            except NoteError as error:
                run.failed.append((task.seen.path, str(error)))
            done += 1
            if progress:
                progress(done, len(jobs), task.seen.path)
            run.flush_if_full()
        if stopped():
            return True
    moved = {state.id for state in plan.vanished} - {state.id for state in vanished.values()}
    for state in plan.vanished:
        if state.id not in moved:
            drop_note(run.batch, run.known(state))
            run.count("removed")
            run.flush_if_full()
    return stopped()


def _moved_roots(run: _Run, plan: Plan) -> dict[str, SourceState]:
    """Sources of other roots whose files are gone: a vault that was moved. By hash."""
    if not any(task.known is None for task in plan.tasks):
        return {}
    inside = {task.seen.path for task in plan.tasks}
    return {
        state.hash: state
        for state in run.store.source_states()
        if state.root and state.path not in inside and not os.path.lexists(state.path)
    }


def _job(run: _Run, task: Task, *, may_have_moved: bool) -> Job:
    known = task.known
    same_place = known and (known.given, known.root) == (task.given, task.root)
    return Job(
        path=task.seen.path,
        root=task.root,
        given=task.given,
        size=task.seen.size,
        mtime=task.seen.mtime,
        unless=known.hash if known and same_place else "",
        number=0 if known or may_have_moved else run.batch.new_source_id(),
        max_bytes=int(run.config["ingest.max_megabytes"] * 1_000_000),
        today=run.today,
        now=run.now,
    )


def _ingest_task(
    run: _Run,
    task: Task,
    job: Job,
    ready: Prepared,
    vanished: dict[str, SourceState],
    elsewhere: dict[str, SourceState],
) -> None:
    state = task.known
    if state and ready.note is None:  # touched, not changed
        source = run.store.show((), [state.id]).sources[state.id]
        run.batch.put_source(source._replace(size=ready.size, mtime=task.seen.mtime))
        run.count("skipped")
        return
    run.warnings += ((task.seen.path, warning) for warning in ready.warnings)
    if ready.note is None:  # new, and in the batch already
        run.count("new")
        return
    what = "changed"
    if state is None:
        state = vanished.pop(ready.hash, None) or elsewhere.pop(ready.hash, None)
        what = "moved" if state else "new"
    bucket, tags, _ = recalled(task.given)
    source = file_source(job, ready, ready.note, state.id if state else run.batch.new_source_id())
    labels = note_labels(ready.note, job.relpath, bucket, tags)
    put_note(run.batch, source, ready.note, ready.words, labels, run.known(state) if state else None)
    run.count(what)


def ingest_texts(
    store: StoreWriter,
    notes: Iterable[TextNote | NoteError | None],
    config: Config,
    *,
    now: float,
    append: bool = False,
    dry_run: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> IngestReport:
    """Ingest notes that come as text. The caller holds the write lock."""
    started = time.perf_counter()
    run = _Run(store, config, now, dry_run=dry_run)
    interrupted = False
    for number, note in enumerate(notes, 1):
        if stopped():
            interrupted = True
            break
        if note is None:
            continue
        if isinstance(note, NoteError):
            run.failed.append((f"line {number}", str(note)))
            continue
        try:
            _ingest_text(run, note, append=append)
        except NoteError as error:
            run.failed.append((note.name or f"line {number}", str(error)))
        run.flush_if_full()
    run.flush()
    if not dry_run:
        settle(store, int(now))
        if not interrupted:
            store.merge_segments()
    return run.report(started, interrupted=interrupted)


def _ingest_text(run: _Run, given: TextNote, *, append: bool) -> None:
    if not given.data.strip():
        raise NoteError("it is empty")
    text = decode(given.data)
    name = given.name or f"stdin-{text.hash[:12]}"
    number = run.store.source_ids([name]).get(name)
    if number is None and not run.batch.empty:
        run.flush()  # the same name may have come a moment ago
        number = run.store.source_ids([name]).get(name)
    known = None
    if number is not None:
        shown, atoms = run.store.show_source(number)
        known = Known(shown.sources[number], atoms, shown.outlines.get(number, []), shown.labels)
        if known.source.kind != "stdin":
            raise NoteError(f"{name} is the name of a file that is ingested already; use another --source")
    labels_given = remembered(given.bucket, given.tags)
    if known and not append and (known.source.hash, known.source.given) == (text.hash, labels_given):
        run.count("skipped")
        return
    note = parse(text.text, name, run.today)
    if given.title:
        note = note._replace(title=given.title)
    if given.date:
        note = note._replace(date=given.date)
    digest = text.hash
    labels = note_labels(note, name.rsplit("/", 1)[-1], given.bucket, given.tags)
    if known and append:
        note = _appended(known, note)
        digest = hash_of((known.source.hash + text.hash).encode())
        had = indexed(known.labels.get(source_node(known.source.id), []))
        labels = list(dict.fromkeys([*had, *(label for label in labels if label.kind == "tag" or given.bucket)]))
    source = Source(
        id=known.source.id if known else run.batch.new_source_id(),
        path=name,
        root="",
        relpath=name,
        title=note.title,
        aliases=note.aliases,
        hash=digest,
        size=len(given.data) + (known.source.size if known and append else 0),
        mtime=run.now * 1_000_000_000,
        date=note.date,
        kind="stdin",
        origin="file",
        given=labels_given,
        next=1,
        atoms=0,
        ingested=run.now,
    )
    ready = prepared(text, note)
    put_note(run.batch, source, note, ready.words, labels, known)
    run.count("changed" if known else "new")
    run.warnings += ((name, warning) for warning in ready.warnings)


def _appended(known: Known, note: Note) -> Note:
    """Return the note that the store has, with the new text below it."""
    old = [
        Atom(atom.text, atom.heading, place.line, atom.kind, atom.speaker, (), (), (), atom.phrases, place.continues)
        for atom, place in zip(known.atoms, known.places, strict=True)
    ]
    end = old[-1].line + old[-1].text.count("\n") + 1 if old else 0
    new = [atom._replace(line=atom.line + end) for atom in note.atoms]
    return note._replace(
        title=known.source.title, date=known.source.date, aliases=known.source.aliases, atoms=(*old, *new)
    )


def forget(store: StoreWriter, sources: Iterable[Source], *, now: float, roots: Iterable[str] = ()) -> int:
    """Remove sources from the store; return how many. The caller holds the write lock."""
    batch = store.batch()
    count = 0
    for number in {source.id for source in sources}:
        shown, atoms = store.show_source(number)
        if source := shown.sources.get(number):  # as it is now: it may have changed since it was chosen
            drop_note(batch, Known(source, atoms, shown.outlines.get(number, []), shown.labels))
            count += 1
    for root in roots:
        batch.drop_root(root)
    if not batch.empty:
        store.write(batch, now=int(now))
        settle(store, int(now))
        store.merge_segments()
    return count
