"""memoria watch."""

import json
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memoria import config
from memoria.cli.boundary import emit
from memoria.cli.dream import seconds
from memoria.cli.ingest import record, sentence, tell_problems
from memoria.cli.options import Json, Quiet, Verbose, command_app
from memoria.cli.session import Session, on_one_line, on_terminal, shown_path
from memoria.cli.wording import counted
from memoria.errors import UsageError

if TYPE_CHECKING:
    from memoria.model import IngestReport
    from memoria.watch import Happened

app = command_app()

MOST_NAMED = 3  # paths on the line of a run


@app.command()
def watch(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Files and folders; none: all known ones.")
    ] = None,
    settle: Annotated[
        float, typer.Option("--settle", min=0.05, metavar="SECONDS", help="Ingest when it was quiet for so long.")
    ] = 1.0,
    poll: Annotated[
        bool, typer.Option("--poll", help="List the files again and again, where the system tells of no changes.")
    ] = False,
    dream_every: Annotated[
        str, typer.Option("--dream-every", metavar="TIME", help="Dream, too, when nothing happens: 30m, 2h.")
    ] = "",
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Ingest notes whenever they are saved, until Ctrl-C.

    Begins with what changed while nobody watched. Everything that happens within a second is one run. Other commands
    work meanwhile; a folder that vanishes is waited for, and its notes stay.

    \b
    memoria watch ~/notes
    memoria watch                       all folders that are known
    memoria watch ~/notes --poll        on a network drive
    memoria watch ~/notes --dream-every 30m
    memoria watch --json | jq -r 'select(.type == "ingest") | .changed'
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    if not all(paths or []):
        raise UsageError("an empty path names nothing", hint='"." is the current folder')
    screen = _Screen(session, as_json=as_json)
    options = {"dream_every": seconds(dream_every)} if dream_every else {}
    running = session.brain.watch(
        paths or [], screen.tell, settle=settle, poll=poll, progress=screen.progress, **options
    )
    with _ended_by_signals(running.stop):
        running.run()
    screen.end()


class _Screen:
    """What is told: a line for all that happens; on a terminal a status line below them, too."""

    def __init__(self, session: Session, *, as_json: bool) -> None:
        self._session = session
        self._json = as_json
        on_screen = on_terminal(sys.stderr) and on_terminal() and config.environment("TERM") != "dumb"
        self._live = on_screen and not as_json and not session.quiet
        self._idle = ""
        self._shown = 0.0

    def tell(self, happened: "Happened") -> None:
        """Say what happened."""
        self._status("")
        if happened.report:
            self._run(happened.report, happened.places)
        elif self._json:
            event = {"event": happened.kind, "path": happened.path or None, "text": happened.text or None}
            line = {"type": "watch", "schema": "memoria.watch/1", **event, "paths": happened.places}
            self._emit(json.dumps(line, ensure_ascii=False))
        else:
            self._session.talk(_words(happened))
        if happened.kind == "watching":
            self._idle = f"watching {counted(len(happened.places), 'place')}; Ctrl-C ends"
        self._status(self._idle)

    def progress(self, done: int, total: int, _name: str) -> None:
        """Show how far a run is."""
        now = time.monotonic()
        if now - self._shown > 0.1:  # noqa: PLR2004
            self._shown = now
            self._status(f"ingesting {done:,} of {total:,}")

    def end(self) -> None:
        """Say that the watch has ended."""
        self._status("")
        if not self._json:
            self._session.talk("ended")

    def _run(self, report: "IngestReport", places: tuple[str, ...]) -> None:
        done = report.new + report.changed + report.moved + report.removed
        if not (done or report.failed or report.interrupted or self._session.verbose):
            return
        tell_problems(self._session, report)
        if self._json:
            self._emit(json.dumps({**record(report), "paths": places}, ensure_ascii=False))
        elif not self._session.quiet:
            named = ", ".join(on_one_line(shown_path(place)) for place in places[:MOST_NAMED])
            more = f" and {len(places) - MOST_NAMED:,} more" if len(places) > MOST_NAMED else ""
            form = "%H:%M:%S" if on_terminal() else "%Y-%m-%d %H:%M:%S"
            when = datetime.now(UTC).astimezone().strftime(form)
            self._emit(f"{when}  {sentence(report)}: {named}{more}")

    def _emit(self, line: str) -> None:
        emit(line)
        sys.stdout.flush()  # whoever reads the pipe wants it now

    def _status(self, text: str) -> None:
        if self._live:
            shown = text[: shutil.get_terminal_size().columns - 1]
            sys.stderr.write(f"\r\x1b[2K\x1b[2m{shown}\x1b[0m" if shown else "\r\x1b[2K")
            sys.stderr.flush()


def _words(happened: "Happened") -> str:
    path = on_one_line(shown_path(happened.path))
    return {
        "watching": f"watching {', '.join(on_one_line(shown_path(place)) for place in happened.places)}",
        "polling": f"{path}: no events are to be had ({happened.text}); its files are listed again and again instead",
        "waiting": f"{path} is not there; its notes stay as they are, and it is waited for",
        "back": f"{path} is there again",
        "busy": f"{happened.text}; waiting",
        "failed": f"{happened.text}; trying again",
        "dream": f"dreamed: {happened.text}",
    }[happened.kind]


@contextmanager
def _ended_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into "stop after this run"; the second ends at once."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:  # noqa: ARG001
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        stop()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
