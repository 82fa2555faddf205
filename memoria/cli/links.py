"""memoria links, memoria orphans."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Json, Quiet, Verbose, command_app, complete_source
from memoria.cli.session import Session, shown_path
from memoria.model import Tie

links_app = command_app()
orphans_app = command_app()

_WAYS = {"out": "→", "in": "←", "both": "↔"}


@links_app.command()
def links(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="KEY|PATH|TITLE", autocompletion=complete_source, help="An atom, or a note."),
    ],
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show what an atom or a note is tied to: links out and in, mentions, what is alike; how strongly, and why.

    \b
    memoria links projects/harbor.md
    memoria links 3f2a9c
    memoria links harbor --json | jq -r 'select(.way == "in").path'
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    found = session.brain.links(name)
    if as_json:
        for tie in found:
            emit(json.dumps({"type": "edge", "schema": "memoria.edge/1", **tie._asdict()}, ensure_ascii=False))
    else:
        rows = [
            [
                _WAYS[tie.way],
                f"{tie.weight:.2f}" if tie.weight is not None else "-",
                tie.kind,
                _where(tie),
                tie.title,
                "; ".join(filter(None, (tie.why, " ".join(f"#{tag}" for tag in tie.tags)))),
            ]
            for tie in found
        ]
        columns = [("", "dim"), ("weight", "number"), ("kind", "magenta"), ("where", "blue"), ("title", "bold"),
                   ("why", "dim")]  # fmt: skip
        table(columns, rows)
    if not found:
        session.talk("it is tied to nothing; memoria dream looks for what nobody linked")
        leave(1)


def _where(tie: Tie) -> str:
    if not tie.path:
        return "(nowhere yet)" if tie.kind == "unresolved" else tie.key
    return f"{shown_path(tie.path)}:{tie.line}" if tie.line is not None else shown_path(tie.path)


@orphans_app.command()
def orphans(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """List the notes that link to nothing and that nothing links to.

    The number is how many ties dreams found for them.

    \b
    memoria orphans
    memoria orphans --json | jq -r .path
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    found = session.brain.orphans()
    if as_json:
        for source, edges in found:
            record = {"type": "orphan", "schema": "memoria.orphan/1", "path": source.path, "relpath": source.relpath}
            emit(json.dumps({**record, "title": source.title, "dream_edges": edges}, ensure_ascii=False))
    else:
        rows = [[shown_path(source.path), source.title, f"{edges}"] for source, edges in found]
        table([("note", "blue"), ("title", "bold"), ("ties of dreams", "number")], rows)
    if not found:
        session.talk("every note is linked")
        leave(1)
