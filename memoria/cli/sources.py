"""memoria sources."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Buckets, Json, Paths, Quiet, Tags, Verbose, command_app
from memoria.cli.session import Session, shown_path
from memoria.retrieve.filters import Filters

app = command_app()


@app.command()
def sources(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="Only those with this in their title or path.")] = "",
    bucket: Buckets = None,
    tag: Tags = None,
    path: Paths = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List the notes that the brain knows.

    \b
    memoria sources
    memoria sources harbor --tag work
    memoria sources --path 'journal/*' --json | jq -r .path
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    filters = Filters(buckets=tuple(bucket or ()), tags=tuple(tag or ()), paths=tuple(path or ()))
    found = session.brain.sources(text, filters)
    if as_json:
        for source in found:
            record: dict[str, object] = {
                "type": "source",
                "schema": "memoria.source/1",
                "path": source.path,
                "relpath": source.relpath,
            }
            record |= {"root": source.root, "title": source.title, "aliases": list(source.aliases)}
            record |= {"date": source.date, "kind": source.kind, "atoms": source.atoms, "bytes": source.size}
            emit(json.dumps(record, ensure_ascii=False))
    else:
        columns = [("atoms", "number"), ("date", "dim"), ("title", "cyan"), ("path", "blue")]
        table(columns, [[str(s.atoms), s.date or "", s.title, shown_path(s.path)] for s in found])
    if not found:
        session.talk("no notes" if not (text or bucket or tag or path) else "no such notes")
        leave(1)
