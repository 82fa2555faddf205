"""memoria dream."""

import json
import re
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from memoria.cli.boundary import INTERRUPTED, emit, leave
from memoria.cli.ingest import stoppable
from memoria.cli.listing import table
from memoria.cli.options import Json, Quiet, Verbose, Wait, command_app
from memoria.cli.session import Session, on_one_line, on_terminal
from memoria.errors import StoreBusyError, UsageError
from memoria.model import DreamReport, StepReport

if TYPE_CHECKING:
    from collections.abc import Iterator

app = command_app()

MAX_SHOWN = 20  # changes of a step on a terminal; -v shows all
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)?\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


@app.command()
def dream(
    ctx: typer.Context,
    only: Annotated[
        str, typer.Option("--only", metavar="STEP,…", help="Only these: tags, mentions, edges, salience, storylines, …")
    ] = "",
    full: Annotated[bool, typer.Option("--full", help="Think about all notes, and not only what changed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove all that dreams made.")] = False,
    log: Annotated[bool, typer.Option("--log", help="Tell what the last dreams did.")] = False,
    every: Annotated[str, typer.Option("--every", metavar="TIME", help="Dream again and again: 30m, 2h.")] = "",
    idle: Annotated[bool, typer.Option("--idle", help="Wait for a quiet store and a quiet machine first.")] = False,
    wait: Wait = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Think about the notes: tag what has no tags, find mentions, ties, storylines; all of it marked, none of it final.

    Only what changed is thought about; searches and ingests go on meanwhile. Interrupted, the next dream goes on.

    \b
    memoria dream
    memoria dream --dry-run --only tags
    memoria dream --every 30m --idle &
    memoria dream --log
    memoria dream --undo
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    if undo or log:
        if undo and (log or only or full or dry_run or every or idle):
            raise UsageError("--undo stands alone")
        if undo:
            warning = session.brain.undo_dreams(session.wait)
            session.talk("all that dreams made is gone; the tags you accepted are yours and stay")
            if warning:
                session.talk(f"warning: {warning}")
        else:
            _log(session, as_json=as_json)
        return
    steps = _steps(only)
    pause = seconds(every) if every else None
    if pause is not None and dry_run:
        raise UsageError("--every dreams for real; --dry-run does not: choose one")
    with stoppable() as stopped:
        while True:
            started = time.monotonic()
            if idle:
                _wait_for_quiet(session, stopped)
            if not (idle and stopped()):
                report = _once(
                    session, steps, full=full, dry_run=dry_run, as_json=as_json, stopped=stopped, forever=bool(every)
                )
                if report and report.interrupted:
                    leave(INTERRUPTED)
            if pause is None or stopped():
                return
            while time.monotonic() - started < pause and not stopped():
                time.sleep(min(0.5, max(0.0, pause - (time.monotonic() - started))))
            if stopped():
                return


def _steps(only: str) -> list[str]:
    from memoria.dream.cycle import STEPS

    wanted = [step.strip().lower() for step in only.split(",") if step.strip()]
    unknown = [step for step in wanted if step not in STEPS]
    if unknown:
        raise UsageError(f"there is no step {unknown[0]!r}", hint=f"the steps are {', '.join(STEPS)}")
    if only and not wanted:
        raise UsageError("--only names no step", hint=f"the steps are {', '.join(STEPS)}")
    return wanted


def seconds(text: str) -> float:
    """Read a time such as 90s, 30m, 2h or 1d."""
    found = _DURATION.match(text.strip())
    if not found or float(found[1]) <= 0:
        raise UsageError(f"{text!r} is not a time", hint="write 90s, 30m, 2h or 1d")
    return float(found[1]) * _SECONDS[found[2] or "m"]


def _wait_for_quiet(session: Session, stopped: Callable[[], bool]) -> None:
    from memoria.dream.cycle import wait_for_quiet

    session.detail("waiting for a quiet moment")
    wait_for_quiet(session.brain.last_write, stopped, now=time.time)


def _once(
    session: Session,
    steps: list[str],
    *,
    full: bool,
    dry_run: bool,
    as_json: bool,
    stopped: Callable[[], bool],
    forever: bool,
) -> DreamReport | None:
    try:
        with _bars(session, as_json=as_json) as bars:

            def told(report: StepReport) -> None:
                bars.end()
                if not as_json:
                    _tell_step(session, report, dry_run=dry_run)

            report = session.brain.dream(
                only=steps,
                full=full,
                dry_run=dry_run,
                wait=session.wait,
                progress=bars.update,
                told=told,
                stopped=stopped,
            )
    except StoreBusyError as error:
        if not forever:
            raise
        session.talk(f"{error}; later")
        return None
    if as_json:
        emit(json.dumps(_record(report), ensure_ascii=False))
    elif not report.changed and not report.interrupted:
        session.talk("nothing new to dream about")
    elif report.interrupted:
        session.talk("interrupted; what was found so far is kept, and the next dream goes on")
    if report.warning:
        session.talk(f"warning: {report.warning}")
    return report


def _record(report: DreamReport) -> dict[str, object]:
    return {
        "type": "dream",
        "schema": "memoria.dream/1",
        "seconds": round(report.seconds, 3),
        "changed": report.changed,
        "dry_run": report.dry_run,
        "interrupted": report.interrupted,
        "steps": [
            {**step._asdict(), "seconds": round(step.seconds, 3), "changes": list(step.changes)}
            for step in report.steps
        ],
    }


def _tell_step(session: Session, report: StepReport, *, dry_run: bool) -> None:
    if session.quiet:
        return
    changed = report.added or report.removed
    if not changed and not session.verbose:
        return
    emit(f"{report.step:<11} {report.text or 'nothing new'}  ({report.notes:,} notes, {report.seconds:.1f} s)")
    if dry_run or session.verbose:
        shown = report.changes if session.verbose or not on_terminal() else report.changes[:MAX_SHOWN]
        for line in shown:
            emit(f"  {on_one_line(line)}")
        if len(shown) < len(report.changes):
            session.talk(f"  ... and {len(report.changes) - len(shown):,} more; -v shows all")


def _log(session: Session, *, as_json: bool) -> None:
    pages = session.brain.diary()
    if as_json:
        for n, at, report in pages:
            emit(json.dumps({"type": "diary", "schema": "memoria.diary/1", "n": n, "at": at, **json.loads(report)}))
    else:
        rows = [
            [
                datetime.fromtimestamp(at, UTC).astimezone().strftime("%Y-%m-%d %H:%M"),
                step["step"],
                step["text"],
                f"{step['seconds']:.1f} s",
            ]
            for _, at, report in pages
            for step in json.loads(report)["steps"]
        ]
        table([("when", "dim"), ("step", "magenta"), ("what", ""), ("took", "number")], rows)
    if not pages:
        session.talk("no dream has changed anything yet")
        leave(1)


class _Silent:
    def update(self, step: str, done: int, total: int) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


class _Bars(_Silent):
    """A progress bar for each step."""

    def __init__(self) -> None:
        from memoria.cli.render import Bar

        self._make = Bar
        self._bar: Bar | None = None

    def update(self, step: str, done: int, total: int) -> None:
        """Tell how far a step is."""
        if self._bar is None:
            self._bar = self._make(step)
        self._bar.update(done, total)

    def end(self) -> None:
        """Take the bar of a step away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@contextmanager
def _bars(session: Session, *, as_json: bool) -> "Iterator[_Silent]":
    bars = _Silent() if session.quiet or as_json or not on_terminal(sys.stderr) else _Bars()
    try:
        yield bars
    finally:
        bars.end()
