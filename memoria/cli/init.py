"""memoria init."""

import os
from typing import Annotated

import typer

from memoria import config
from memoria.brain import Brain
from memoria.cli.boundary import emit
from memoria.cli.options import Quiet, Verbose, Wait, command_app

app = command_app()


@app.command()
def init(
    ctx: typer.Context,
    folder: Annotated[str, typer.Argument(help="Where; the current folder if not given.")] = "",
    wait: Wait = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make a brain: a folder with memoria.toml and the store. Commands below that folder use it.

    \b
    cd ~/notes && memoria init && memoria ingest .
    memoria init ~/brains/work
    """
    session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    place = os.path.abspath(os.path.expanduser(folder)) if folder else session.named_folder or os.getcwd()
    brain = Brain(place, config.load(place))
    made = brain.make(wait=session.wait)
    if not session.quiet:
        emit(f"{'made a brain' if made else 'there is a brain already'} in {place}")
