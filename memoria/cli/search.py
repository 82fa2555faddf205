"""memoria search."""

from typing import Annotated

import typer

from memoria.cli import searching
from memoria.cli.options import (
    Buckets,
    Json,
    NoDreamTags,
    NoTouch,
    Paths,
    Quiet,
    Tags,
    Verbose,
    command_app,
    complete_source,
    complete_tag,
)

app = command_app()


@app.command()
def search(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORDS]...", help="What to look for; - reads it from a pipe; none: a prompt."),
    ] = None,
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
    strict: Annotated[
        bool, typer.Option("--strict", help="The Tag-Walker to the letter: 70% words, 30% shared tags.")
    ] = False,
    no_walk: Annotated[bool, typer.Option("--no-walk", help="By words alone, without association.")] = False,
    activate: Annotated[
        bool, typer.Option("--activate", help="Let energy spread from the best hits over the graph, too.")
    ] = False,
    split: Annotated[
        str | None, typer.Option("--split", metavar="A/N", help="Percent for anchors and for neighbors: 70/30.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the whole reckoning, too.")] = False,
    context: Annotated[
        bool, typer.Option("--context", help="Markdown for a language model: headings, citations, text.")
    ] = False,
    as_json: Json = False,
    paths: Annotated[bool, typer.Option("--paths", help="Print only the paths, for xargs.")] = False,
    null: Annotated[bool, typer.Option("--null", "-0", help="With --paths: end each with NUL.")] = False,
    open_hit: Annotated[
        int | None, typer.Option("--open", metavar="N", help="Open hit N in $EDITOR at its line.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", metavar="FILE", help="Answer many queries, one a line; - for stdin.")
    ] = None,
    no_dream_tags: NoDreamTags = False,
    no_touch: NoTouch = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find the passages that answer a query, by their words and by association.

    Anchors are found by words (text, title, headings, tags, date, and what stands around them). The best of them lead
    to neighbors over shared tags, links and names; each says over which. `docs/search.md` has it all.

    \b
    memoria search harbor migration
    memoria search tomatoes --tag garden --since 6m
    memoria search cut-over --limit 3 --open 1
    memoria search 'berth "free of charge" -rally bucket:meetings after:2025'
    memoria search why did the starter die --context | llm 'answer from these notes'
    memoria search retry backoff --json | jq -r .content
    memoria search compost --paths -0 | xargs -0 wc -w
    memoria search -- -word             a query may begin with a dash
    memoria search                      a prompt, on a terminal: one query a line, o 2 opens hit 2
    """
    searching.run(
        ctx.obj.hear(quiet=quiet, verbose=verbose),
        query or (),
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
        strict=strict,
        no_walk=no_walk,
        activate=activate,
        split=split,
        explain=explain,
        context=context,
        as_json=as_json,
        paths=paths,
        null=null,
        open_hit=open_hit,
        batch=batch,
        no_dream_tags=no_dream_tags,
        no_touch=no_touch,
    )
