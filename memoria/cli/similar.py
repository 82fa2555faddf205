"""memoria similar."""

from typing import Annotated

import typer

from memoria.cli import wording
from memoria.cli.boundary import emit, leave
from memoria.cli.options import Json, Quiet, Verbose, command_app, complete_source
from memoria.cli.session import Session, decorated

app = command_app()


@app.command()
def similar(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="KEY|PATH|TITLE", autocompletion=complete_source, help="An atom, or a note, to walk from."
        ),
    ],
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, metavar="CHARS", help="Characters of text to return (4,000).")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, metavar="N", help="Hits to return; alone, it lifts the budget."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find what is associated with an atom or a note: over its tags, links and names, whatever its words.

    \b
    memoria similar 3f2a9c
    memoria similar projects/harbor.md --limit 5
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    answer = session.brain.similar(name, budget=budget, limit=limit)
    if as_json:
        for line in wording.json_lines(answer, explain=False):
            emit(line)
    elif decorated():
        from memoria.cli.render import render_answer

        render_answer(answer)
    else:
        for hit in answer.hits:
            emit(wording.plain(hit))
    if not answer.hits:
        session.talk("nothing is associated with it: no tag, link or name leads elsewhere")
        leave(1)
