"""memoria forget."""

import sys
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.options import Quiet, Verbose, Wait, command_app, complete_bucket, complete_source
from memoria.cli.session import Session, on_terminal, shown_path
from memoria.cli.wording import counted
from memoria.errors import UsageError

app = command_app()

_MOST_NAMED = 10


@app.command()
def forget(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE|PATH]...", autocompletion=complete_source, help="Notes, folders, or names of piped text."
        ),
    ] = None,
    bucket: Annotated[
        str, typer.Option("--bucket", metavar="NAME", autocompletion=complete_bucket, help="Everything in this bucket.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    wait: Wait = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Remove notes from the brain. The files themselves are not touched.

    A file that is still in an ingested folder comes back with the next ingest; `.memoriaignore` keeps it out.

    \b
    memoria forget log
    memoria forget ~/notes/old --yes
    memoria forget --bucket inbox
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    if not names and not bucket:
        raise UsageError("say what to forget", hint="memoria forget PATH, or --bucket NAME")
    found = session.brain.find_to_forget(names or [], bucket)
    if not yes:
        if not on_terminal(sys.stdin):
            raise UsageError(f"this would forget {counted(len(found), 'note')}", hint="--yes says that it is meant")
        for source in found[:_MOST_NAMED]:
            session.talk(f"  {shown_path(source.path)}")
        if len(found) > _MOST_NAMED:
            session.talk(f"  ... and {len(found) - _MOST_NAMED} more")
        if not typer.confirm(f"Forget {counted(len(found), 'note')}?", err=True):
            leave(1)
    count, trouble = session.brain.forget(found, names or [], wait=session.wait)
    if trouble:
        session.talk(f"warning: {trouble}")
    if not session.quiet:
        emit(f"forgot {counted(count, 'note')}")
