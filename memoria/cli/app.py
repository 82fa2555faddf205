"""The Typer application: global options, and commands that are loaded when they are called."""

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from memoria import __version__
from memoria.cli.session import Session

# Command -> its module in memoria.cli. A module defines `app`, a Typer with one command or a group of them.
COMMANDS = {
    "ingest": "ingest",
    "search": "search",
    "activate": "activate",
    "similar": "similar",
    "show": "show",
    "sources": "sources",
    "tags": "labels",
    "buckets": "labels",
    "mirror": "mirror",
    "watch": "watch",
    "dream": "dream",
    "storylines": "storylines",
    "macros": "storylines",
    "recall": "recall",
    "explore": "explore",
    "traverse": "traverse",
    "fact": "fact",
    "entity": "entity",
    "links": "links",
    "orphans": "links",
    "forget": "forget",
    "status": "status",
    "doctor": "doctor",
    "config": "configure",
    "init": "init",
}


class LazyGroup(TyperGroup):
    """Imports a command's module only when that command, or the list of all, is asked for."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        """Return the commands in the order of a first day with memoria."""
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]  # noqa: ARG002
        """Return a command, or None."""
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        loaded = import_module(f"memoria.cli.{module}")
        command = get_command(getattr(loaded, f"{cmd_name}_app", None) or loaded.app)
        command.name = cmd_name
        return command


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - Typer's signature
    if asked:
        typer.echo(f"memoria {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 done, 1 nothing found or part failed, 2 usage or bad input, 75 busy.",
)
def memoria(
    ctx: typer.Context,
    brain: Annotated[
        str | None, typer.Option("--brain", metavar="DIR", help="The brain's folder (also: MEMORIA_BRAIN).")
    ] = None,
    wait: Annotated[
        float | None, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for another writer.")
    ] = None,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Associative memory for the terminal: keeps your notes, and finds what you mean.

    \b
    memoria ingest ~/notes              take in a folder of markdown notes (they are never changed)
    git log | memoria ingest - --source log
    memoria search harbor migration     the best passages, within 4,000 characters
    memoria search tide --json | jq .path
    """
    ctx.obj = Session(brain, wait)
