"""memoria mirror."""

import gc
import json
import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.options import Json, Quiet, Verbose, Wait, command_app
from memoria.cli.session import Session, on_one_line, on_terminal, shown_path
from memoria.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    Progress = Callable[[int, int, str], None]

app = command_app()

_MOST_NAMED = 20


@app.command()
def mirror(
    ctx: typer.Context,
    full: Annotated[bool, typer.Option("--full", help="Wipe it first, and write everything.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only say whether it is in step, byte for byte; exits with 1 if not.")
    ] = False,
    to: Annotated[
        str, typer.Option("--to", metavar="DIR", help="Another folder than the brain's mirrored_brain.")
    ] = "",
    clean: Annotated[bool, typer.Option("--clean", help="Remove files that memoria did not put there.")] = False,
    wait: Wait = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write the brain as a folder of pages, for Obsidian or an editor; every ingest does this by itself.

    `@bucket/#tag/Note_hash.md` holds the atoms of a note with that tag; `Home.md` leads to them. Only what changed is
    written, and the result is always what a wipe and a rebuild would make.

    \b
    memoria mirror
    memoria mirror --check
    memoria mirror --to ~/Public/brain
    """
    gc.disable()  # as for an ingest: many objects, no cycles
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    if check and (full or clean):
        raise UsageError("--check changes nothing, and --full and --clean do", hint="use one of them")
    place = os.path.abspath(os.path.expanduser(to)) if to else ""
    show_bar = on_terminal(sys.stderr) and not quiet and not as_json
    if show_bar:
        from memoria.cli.render import progress_bar
    with progress_bar("notes") if show_bar else nullcontext() as bar:
        progress = bar.update if bar else None
        if check:
            _check(session, place, as_json=as_json, progress=progress)
            return
        report = session.brain.sync_mirror(
            place, wait=session.wait, full=full, clean=clean, look_around=True, progress=progress
        )
    for path in report.saved:
        session.talk(f"warning: {_shown(path)}: you edited this page of the mirror; edit the note instead")
    named = report.foreign if verbose else report.foreign[:_MOST_NAMED]
    for path in named:
        session.talk(f"not memoria's: {_shown(os.path.join(report.folder, path))}")
    if report.foreign:
        more = len(report.foreign) - len(named)
        session.talk((f"... and {more:,} more; " if more else "") + "memoria mirror --clean removes such files")
    if as_json:
        record = {
            "type": "mirror",
            "schema": "memoria.mirror/1",
            **report._asdict(),
            "seconds": round(report.seconds, 3),
        }
        emit(json.dumps(record, ensure_ascii=False))
    elif not quiet:
        changes = f"{report.written:,} files written, {report.removed:,} removed, {report.kept:,} kept"
        done = changes if report.written or report.removed else f"in step: {report.kept:,} files"
        emit(f"{done}; {report.notes:,} notes, {report.atoms:,} atoms in {report.folder} in {report.seconds:.2f} s")


def _check(session: Session, place: str, *, as_json: bool, progress: "Progress | None") -> None:
    found = session.brain.check_mirror(place, progress)
    if as_json:
        for difference in found:
            emit(
                json.dumps(
                    {"type": "difference", "schema": "memoria.difference/1", **difference._asdict()}, ensure_ascii=False
                )
            )
    else:
        for difference in found if session.verbose else found[:_MOST_NAMED]:
            emit(f"{difference.what}\t{on_one_line(difference.path)}")
        if len(found) > _MOST_NAMED and not session.verbose:
            session.talk(f"... and {len(found) - _MOST_NAMED:,} more; -v names all")
        if found:
            session.talk("memoria mirror brings it in step")
        elif not session.quiet:
            emit("the mirror is in step")
    if found:
        leave(1)


def _shown(path: str) -> str:
    return on_one_line(shown_path(path))
