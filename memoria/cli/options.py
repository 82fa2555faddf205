"""Options that several commands have, and what completes them in the shell."""

from typing import Annotated

import typer

from memoria.cli.session import Session
from memoria.errors import MemoriaError


def _names(ctx: typer.Context, kind: str, incomplete: str) -> list[str]:
    """Complete a label's name. A shell that waits for completion gets an answer or nothing, never an error."""
    try:
        with _session(ctx).brain.reading() as store:
            return sorted({name for name, _, _ in store.labels(kind) if name.startswith(incomplete.lower())})
    except MemoriaError:
        return []


def _session(ctx: typer.Context) -> Session:
    params = ctx.parent.params if ctx.parent else {}
    return Session(params.get("brain"))


def complete_tag(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a tag."""
    return _names(ctx, "tag", incomplete)


def complete_bucket(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a bucket."""
    return _names(ctx, "bucket", incomplete)


def complete_source(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a source's path, as it is written from its root or whole."""
    try:
        with _session(ctx).brain.reading() as store:
            names = {name for source in store.sources() for name in (source.relpath, source.path)}
    except MemoriaError:
        return []
    return sorted(name for name in names if name.startswith(incomplete))


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print data only.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")]
Json = Annotated[bool, typer.Option("--json", help="JSON lines, as docs/json.md describes them.")]
NoDreamTags = Annotated[bool, typer.Option("--no-dream-tags", help="Leave out the tags that dreams gave.")]
NoTouch = Annotated[bool, typer.Option("--no-touch", help="Leave no trace: what is shown does not count as used.")]
Wait = Annotated[
    float | None, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for another writer.")
]
Buckets = Annotated[
    list[str] | None, typer.Option("--bucket", metavar="NAME", autocompletion=complete_bucket, help="In this bucket.")
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="NAME", autocompletion=complete_tag, help="With this tag (or one below it); all."),
]
Paths = Annotated[
    list[str] | None, typer.Option("--path", metavar="GLOB", help="With such a path, such as 'projects/*'.")
]


def command_app() -> typer.Typer:
    """Return a Typer for one command."""
    return typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
