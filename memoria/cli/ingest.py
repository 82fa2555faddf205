"""memoria ingest."""

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoria.cli.boundary import INTERRUPTED, emit, leave
from memoria.cli.options import Json, Quiet, Verbose, Wait, command_app, complete_bucket, complete_tag
from memoria.cli.session import Session, on_one_line, on_terminal, shown_path
from memoria.cli.wording import counted
from memoria.errors import NoteError, UsageError
from memoria.ingest import Given, TextNote
from memoria.model import IngestReport
from memoria.text import label_name

if TYPE_CHECKING:
    from memoria.ingest.run import Progress

app = command_app()

MAX_SHOWN = 20  # failures and warnings on a terminal; -v shows all


@app.command()
def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Files and folders; - reads stdin; none: all known ones again."),
    ] = None,
    source: Annotated[str, typer.Option("--source", metavar="NAME", help="With -: what to call the text.")] = "",
    append: Annotated[bool, typer.Option("--append", help="With --source: add to what is there.")] = False,
    bucket: Annotated[
        str, typer.Option("--bucket", metavar="NAME", autocompletion=complete_bucket, help="Put it into this bucket.")
    ] = "",
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="NAME", autocompletion=complete_tag, help="Tag all of it; may be repeated."),
    ] = None,
    glob: Annotated[
        list[str] | None, typer.Option("--glob", metavar="GLOB", help="Only such files, instead of .md .markdown .txt.")
    ] = None,
    files_from: Annotated[
        str | None, typer.Option("--files-from", metavar="FILE", help="Read the paths from a file, or - for stdin.")
    ] = None,
    null: Annotated[bool, typer.Option("--null", "-0", help="With --files-from: paths end with NUL.")] = False,
    jsonl: Annotated[
        str | None,
        typer.Option("--jsonl", metavar="FILE", help="One note per line: text, and source, title, bucket, tags, date."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Go on where most of a folder vanished.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")] = False,
    mirror: Annotated[bool, typer.Option("--mirror/--no-mirror", help="Bring the mirror in step, or leave it.")] = True,
    wait: Wait = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Take in notes. They are read, never written.

    Only what changed is read again; what vanished is removed, what moved is recognised. `.gitignore` and
    `.memoriaignore` are honoured, hidden folders and mirrors are skipped.

    \b
    memoria ingest ~/notes
    memoria ingest                      everything that is known, again
    git log | memoria ingest - --source log --tag git
    fd -0 -e md | memoria ingest --files-from - -0
    memoria ingest --jsonl notes.jsonl
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    gc.disable()  # an ingest makes millions of objects and no cycles: looking for some costs a tenth of its time
    paths = paths or []
    if not all(paths):
        raise UsageError("an empty path names nothing", hint='"." is the current folder')
    tags = tuple(filter(None, map(label_name, tag or ())))
    texts = _texts(paths, source, label_name(bucket), tags, jsonl, files_from)
    with stoppable() as stopped, _progress(session, as_json=as_json) as progress:
        if texts is not None:
            report = session.brain.ingest_texts(
                texts, wait=session.wait, mirror=mirror, append=append, dry_run=dry_run, stopped=stopped
            )
        else:
            if source or append:
                raise UsageError(
                    "--source and --append are for text from a pipe", hint="memoria ingest - --source NAME"
                )
            if files_from is not None:
                paths += _listed(files_from, null=null)
                if not paths:
                    raise UsageError(f"--files-from {files_from} names no files")
            if paths and not session.brain.exists and not any(map(os.path.lexists, paths)):
                raise UsageError(f"there is no file or folder {paths[0]}")  # and no reason to make a brain
            given = Given(label_name(bucket), tags, tuple(glob or ()))
            report = session.brain.ingest(
                paths,
                given,
                wait=session.wait,
                mirror=mirror,
                mirror_progress=progress,
                force=force,
                dry_run=dry_run,
                progress=progress,
                stopped=stopped,
            )
    _tell(session, report, as_json=as_json)
    if report.interrupted:
        leave(INTERRUPTED)
    if report.failed:
        nothing_done = not (report.new + report.changed + report.moved + report.removed + report.skipped)
        leave(2 if nothing_done and len(report.failed) == len(paths) else 1)


def _texts(
    paths: list[str], source: str, bucket: str, tags: tuple[str, ...], jsonl: str | None, files_from: str | None
) -> Iterator[TextNote | NoteError | None] | None:
    """Return the notes that come as text, or None where files are meant."""
    if jsonl is not None:
        if paths or files_from is not None or source:
            raise UsageError("--jsonl stands alone: each line names its own source")
        return _from_jsonl(jsonl, bucket, tags)
    if "-" in paths:
        if len(paths) > 1 or files_from == "-":
            raise UsageError("- stands alone: stdin is one text", hint="ingest the files with a second command")
        data = sys.stdin.buffer.read()
        if not data.strip():
            raise UsageError("there was nothing on stdin")
        return iter([TextNote(data, source, "", bucket, tags)])
    return None


def _from_jsonl(name: str, bucket: str, tags: tuple[str, ...]) -> Iterator[TextNote | NoteError | None]:
    try:
        file = nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"{name} can't be read ({error.strerror})") from error
    with file as lines:
        for line in lines:
            if not line.strip():
                yield None  # counts
                continue
            try:
                yield _note(json.loads(line), bucket, tags)
            except NoteError as error:
                yield error
            except (ValueError, RecursionError) as error:
                yield NoteError(f"it is not JSON ({error})")


def _note(record: Any, bucket: str, tags: tuple[str, ...]) -> TextNote:
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise NoteError('it is not an object with a "text"')
    wrong = [key for key in ("source", "title", "bucket", "date") if not isinstance(record.get(key, ""), str)]
    own_tags = record.get("tags", [])
    own_tags = own_tags.split(",") if isinstance(own_tags, str) else own_tags
    if wrong or not isinstance(own_tags, list) or not all(isinstance(tag, str) for tag in own_tags):
        raise NoteError(f"{', '.join(wrong) or 'tags'} must be text")
    day = record.get("date", "")[:10]
    if day:
        try:
            day = date.fromisoformat(day).isoformat()
        except ValueError:
            raise NoteError(f"{day!r} is not a date") from None
    fields = {key: _clean(record.get(key, "")) for key in ("text", "source", "title", "bucket")}
    return TextNote(
        data=fields["text"].encode(),
        name=fields["source"],
        title=" ".join(fields["title"].split()),
        bucket=label_name(fields["bucket"]) or bucket,
        tags=tuple(dict.fromkeys([*tags, *filter(None, (label_name(_clean(tag)) for tag in own_tags))])),
        date=day,
    )


def _clean(text: str) -> str:
    """Replace what JSON can hold and UTF-8 can't."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _listed(name: str, *, null: bool) -> list[str]:
    try:
        data = sys.stdin.buffer.read() if name == "-" else open(name, "rb").read()  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"{name} can't be read ({error.strerror})") from error
    return [os.fsdecode(path) for path in data.split(b"\0" if null else b"\n") if path.strip()]


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into "stop after this batch"; the second one, or one before any work, ends at once."""
    asked: list[int] = []
    working: list[bool] = []

    def ask(number: int, frame: Any) -> None:  # noqa: ARG001
        if asked or not working:
            raise KeyboardInterrupt
        asked.append(number)

    def stopped() -> bool:
        working.append(True)
        return bool(asked)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _progress(session: Session, *, as_json: bool) -> "Iterator[Progress | None]":
    if session.quiet or as_json or not on_terminal(sys.stderr):
        yield None
        return
    from memoria.cli.render import progress_bar

    with progress_bar("notes") as bar:
        yield bar.update


def _tell(session: Session, report: IngestReport, *, as_json: bool) -> None:
    tell_problems(session, report)
    if as_json:
        emit(json.dumps(record(report), ensure_ascii=False))
    elif not session.quiet:
        emit(sentence(report))


def tell_problems(session: Session, report: IngestReport) -> None:
    """Say what failed or is odd, and that a brain was made."""
    if report.created and not report.dry_run:
        home = f"; {os.path.join(report.mirror.folder, 'Home.md')} shows what is in it" if report.mirror else ""
        session.talk(f"made a brain in {report.brain}{home}")
    for path in report.mirror.saved if report.mirror else ():
        session.talk(
            f"warning: {on_one_line(shown_path(path))}: you edited this page of the mirror; edit the note instead"
        )
    for kind, entries in (("failed", report.failed), ("warning", report.warnings)):
        shown = entries if session.verbose or not on_terminal(sys.stderr) else entries[:MAX_SHOWN]
        for path, reason in shown:
            session.talk(f"{kind}: {on_one_line(shown_path(path))}: {reason}")
        if len(shown) < len(entries):
            session.talk(f"... and {len(entries) - len(shown)} more; -v shows all")


def _counts(report: IngestReport) -> dict[str, int]:
    counts = {name: getattr(report, name) for name in ("new", "changed", "moved", "removed", "skipped")}
    return {**counts, "failed": len(report.failed)}


def record(report: IngestReport) -> dict[str, object]:
    """Return a report as the JSON contract has it."""
    return {
        "type": "ingest",
        "schema": "memoria.ingest/1",
        **_counts(report),
        "atoms": report.atoms,
        "seconds": round(report.seconds, 3),
        "brain": report.brain,
        "dry_run": report.dry_run,
        "interrupted": report.interrupted,
        "mirror": report.mirror and {name: getattr(report.mirror, name) for name in ("folder", "written", "removed")},
        "failures": [{"path": path, "reason": reason} for path, reason in report.failed],
        "warnings": [{"path": path, "reason": reason} for path, reason in report.warnings],
    }


def sentence(report: IngestReport) -> str:
    """Return a report in one line."""
    parts = [f"{count:,} {name}" for name, count in _counts(report).items() if count]
    done = "would be: " if report.dry_run else "interrupted; " if report.interrupted else ""
    return f"{done}{', '.join(parts) or 'nothing to do'}; {counted(report.atoms, 'atom')} in {report.seconds:.2f} s"
