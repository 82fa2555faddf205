"""memoria tags, memoria buckets."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Json, Quiet, Verbose, command_app
from memoria.cli.session import Session

tags_app = command_app()
buckets_app = command_app()

_Text = Annotated[str, typer.Argument(help="Only those with this in their name.")]


@tags_app.command()
def tags(
    ctx: typer.Context, text: _Text = "", as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """List the tags, with how many notes and atoms carry each.

    \b
    memoria tags
    memoria tags project/
    memoria tags --json | jq -r 'select(.notes == 1).name'
    """
    _list(ctx.obj.hear(quiet=quiet, verbose=verbose), "tag", text, as_json=as_json)


@buckets_app.command()
def buckets(
    ctx: typer.Context, text: _Text = "", as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """List the buckets, with how many notes and atoms are in each.

    \b
    memoria buckets
    memoria buckets --json
    """
    _list(ctx.obj.hear(quiet=quiet, verbose=verbose), "bucket", text, as_json=as_json)


def _list(session: Session, kind: str, text: str, *, as_json: bool) -> None:
    found = session.brain.labels(kind, text)
    if as_json:
        for name, notes, atoms in found:
            record = {"type": kind, "schema": f"memoria.{kind}/1", "name": name, "notes": notes, "atoms": atoms}
            emit(json.dumps(record, ensure_ascii=False))
    else:
        sign = "#" if kind == "tag" else "@"
        style = "green" if kind == "tag" else "magenta"
        rows = [[sign + name, f"{notes}", f"{atoms}"] for name, notes, atoms in found]
        table([(kind, style), ("notes", "number"), ("atoms", "number")], rows)
    if not found:
        session.talk(f"no {kind}s" if not text else f"no {kind} with {text!r} in its name")
        leave(1)
