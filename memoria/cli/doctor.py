"""memoria doctor."""

import json
import sys
from contextlib import nullcontext
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.options import Json, Quiet, Verbose, Wait, command_app
from memoria.cli.session import Session, on_terminal

app = command_app()


@app.command()
def doctor(
    ctx: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Rebuild the text index and all that can be derived.")] = False,
    wait: Wait = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Check the brain: its file, the index against the atoms, locks, settings. Exits with 1 only for damage.

    \b
    memoria doctor
    memoria doctor --fix
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    show_bar = on_terminal(sys.stderr) and not quiet and not as_json
    if show_bar:
        from memoria.cli.render import progress_bar
    with progress_bar("notes") if show_bar else nullcontext() as bar:
        findings = session.brain.check(fix=fix, wait=session.wait, progress=bar.update if bar else None)
    damage = [finding for finding in findings if finding.severity == "damage"]
    if as_json:
        for finding in findings:
            emit(
                json.dumps({"type": "finding", "schema": "memoria.finding/1", **finding._asdict()}, ensure_ascii=False)
            )
    else:
        for finding in findings:
            emit(f"{finding.severity}: {finding.text}")
        if not damage:
            session.talk("the brain is sound")
        elif fix:
            session.talk("some damage is left; move brain.db away and ingest the notes again")
        else:
            session.talk("memoria doctor --fix mends what can be derived from the atoms")
    if damage:
        leave(1)
