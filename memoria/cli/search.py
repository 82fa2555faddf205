"""memoria search."""

from typing import Annotated

import typer

from memoria.cli import searching
from memoria.cli.options import Buckets, Json, Paths, Quiet, Tags, Verbose, command_app, complete_source, complete_tag

app = command_app()


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(help="Words to look for, or - to read them from a pipe.")],
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, metavar="CHARS", help="Characters of text to return (4,000).")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, metavar="N", help="Hits to return; alone, it lifts the budget."),
    ] = None,
    bucket: Buckets = None,
    tag: Tags = None,
    any_tag: Annotated[
        list[str] | None,
        typer.Option("--any-tag", metavar="NAME", autocompletion=complete_tag, help="With one of these tags."),
    ] = None,
    not_tag: Annotated[
        list[str] | None,
        typer.Option("--not-tag", metavar="NAME", autocompletion=complete_tag, help="Without this tag."),
    ] = None,
    path: Paths = None,
    source: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="NAME", autocompletion=complete_source, help="From this source."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="From this day on: 2025-03-01, 2025, 7d, 2w, 6m.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DATE", help="Up to this day.")] = None,
    as_json: Json = False,
    paths: Annotated[bool, typer.Option("--paths", help="Print only the paths, for xargs.")] = False,
    null: Annotated[bool, typer.Option("--null", "-0", help="With --paths: end each with NUL.")] = False,
    open_hit: Annotated[
        int | None, typer.Option("--open", metavar="N", help="Open hit N in $EDITOR at its line.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the passages that answer a query, best first.

    Words are joined by OR and ranked by BM25; a passage is found by its text, title, headings, tags and buckets.

    \b
    memoria search harbor migration
    memoria search tomatoes --tag garden --since 6m
    memoria search cut-over --limit 3 --open 1
    memoria search retry backoff --json | jq -r .content
    memoria search compost --paths -0 | xargs -0 wc -w
    pbpaste | memoria search -
    memoria search -- --dry-run         a query may begin with a dash
    """
    searching.run(
        ctx.obj.hear(quiet=quiet, verbose=verbose),
        query,
        budget=budget,
        limit=limit,
        bucket=bucket or (),
        tag=tag or (),
        any_tag=any_tag or (),
        not_tag=not_tag or (),
        path=path or (),
        source=source or (),
        since=since,
        until=until,
        as_json=as_json,
        paths=paths,
        null=null,
        open_hit=open_hit,
    )
