"""memoria tags, memoria buckets."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Json, Quiet, Verbose, command_app, complete_tag
from memoria.cli.session import Session

tags_app = command_app()
buckets_app = command_app()

_Text = Annotated[str, typer.Argument(help="Only those with this in their name.")]


@tags_app.command()
def tags(
    ctx: typer.Context,
    text: _Text = "",
    related: Annotated[
        str | None,
        typer.Option("--related", metavar="TAG", autocompletion=complete_tag, help="Those on the same notes as TAG."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List the tags, with how many notes and atoms carry each.

    \b
    memoria tags
    memoria tags project/
    memoria tags --related garden
    memoria tags --json | jq -r 'select(.notes == 1).name'
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    if related is not None:
        _related(session, related, as_json=as_json)
        return
    _list(session, "tag", text, as_json=as_json)


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


def _related(session: Session, tag: str, *, as_json: bool) -> None:
    found = session.brain.related_tags(tag)
    if as_json:
        for name, notes, shared, score in found:
            record = {"type": "related", "schema": "memoria.related/1", "name": name, "notes": notes}
            emit(json.dumps({**record, "shared": shared, "score": round(score, 6)}, ensure_ascii=False))
    else:
        rows = [[f"#{name}", f"{shared}", f"{notes}", f"{score:.2f}"] for name, notes, shared, score in found]
        table([("tag", "green"), ("shared", "number"), ("notes", "number"), ("closeness", "number")], rows)
    if not found:
        session.talk(f"no tag stands on the same notes as {tag!r}")
        leave(1)
