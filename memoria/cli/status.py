"""memoria status."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from memoria.cli.boundary import emit
from memoria.cli.listing import facts
from memoria.cli.options import Json, Quiet, Verbose, command_app

if TYPE_CHECKING:
    from memoria.cli.session import Session

app = command_app()


@app.command()
def status(ctx: typer.Context, as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False) -> None:
    """Show what is in the brain, and where things are.

    \b
    memoria status
    memoria status --json | jq .atoms
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    found = session.brain.status()
    if as_json:
        emit(json.dumps({"type": "status", "schema": "memoria.status/1", **found}, ensure_ascii=False))
        return
    last = found["last_ingest"]
    when = datetime.fromtimestamp(last, UTC).astimezone().strftime("%Y-%m-%d %H:%M") if last else "never"
    lines = [
        ("brain", found["brain"]),
        ("store", f"{found['store_bytes'] / 1e6:,.1f} MB, version {found['version']}"),
        ("notes", f"{found['sources']:,}"),
        ("atoms", f"{found['atoms']:,}"),
        ("tags", f"{found['tags']:,}"),
        ("buckets", f"{found['buckets']:,}"),
        ("links", f"{found['links']:,}"),
        ("graph", f"{found['edges']:,} edges between {found['connected']:,} nodes; {found['entities']:,} entities"),
        (
            "dreamed",
            f"{found['dream_tags']:,} tags, {found['storylines']:,} storylines, {found['macros']:,} macros",
        ),
        ("terms", f"{found['terms']:,} in {found['segments']} segments"),
        ("last ingest", when),
        ("mirror", found["mirror"]),
        *(("folder", root) for root in found["roots"]),
    ]
    if found["writer"]:
        lines.append(("being written by", found["writer"]))
    facts(lines)
