"""memoria traverse."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Json, NoTouch, Quiet, Verbose, command_app, complete_source
from memoria.cli.session import Session, shown_path
from memoria.errors import UsageError
from memoria.retrieve.nodes import Reached
from memoria.retrieve.traverse import DAMPING, DEPTH, TOP

app = command_app()

_MODES = ("walk", "ppr")


@app.command()
def traverse(
    ctx: typer.Context,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NODE...", autocompletion=complete_source, help="An atom's key, a note, an entity; or several."
        ),
    ],
    depth: Annotated[int, typer.Option("--depth", min=1, max=10, metavar="N", help="How many edges away.")] = DEPTH,
    mode: Annotated[
        str, typer.Option("--mode", metavar="walk|ppr", help="By hop, or by personalised PageRank.")
    ] = "walk",
    top: Annotated[int, typer.Option("--top", "-n", min=1, metavar="N", help="So many nodes.")] = TOP,
    damping: Annotated[
        float, typer.Option("--damping", min=0, max=0.99, metavar="0..1", help="How often a walker goes on (ppr).")
    ] = DAMPING,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="KIND", help="Only edges of this kind: link, relation, mention, near, part …"),
    ] = None,
    as_json: Json = False,
    no_touch: NoTouch = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Follow the edges from one or several nodes: what is near, over which edge.

    \b
    memoria traverse harbor
    memoria traverse "Marta Quintela" harbor --mode ppr --top 10
    memoria traverse 3f2a9c --depth 2 --type link --json
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    if mode not in _MODES:
        raise UsageError(f"{mode!r} is no mode", hint="choose walk or ppr")
    found = session.knowledge.traverse(
        names, mode=mode, depth=depth, top=top, damping=damping, kinds=tuple(kinds or ())
    )
    if not no_touch:
        session.brain.used([one.key for one in found if one.kind == "atom"])
    if as_json:
        for one in found:
            emit(json.dumps(_record(one), ensure_ascii=False))
    else:
        rows = [
            [f"{one.step.hop}", f"{one.step.score:.3f}", one.kind, one.name, _where(one), _way(one), one.snippet]
            for one in found
        ]
        columns = [("hop", "number"), ("score", "number"), ("kind", "magenta"), ("name", "bold"), ("where", "blue"),
                   ("over", "green"), ("text", "dim")]  # fmt: skip
        table(columns, rows)
    if all(one.step.edge is None for one in found):
        session.talk("nothing is tied to it" + (" by such an edge" if kinds else "; memoria dream looks for ties"))
        leave(1)


def _where(one: Reached) -> str:
    if not one.path:
        return one.key
    return f"{shown_path(one.path)}:{one.line}" if one.line is not None else shown_path(one.path)


def _way(one: Reached) -> str:
    edge = one.step.edge
    if edge is None:
        return ""
    sign = {"out": "→", "in": "←", "both": "↔"}[edge.way]
    return f"{sign} {edge.type or edge.kind} {edge.weight:.2f} from {one.came_from}"


def _record(one: Reached) -> dict[str, object]:
    edge = one.step.edge
    return {
        "type": "node",
        "schema": "memoria.node/1",
        "hop": one.step.hop,
        "score": one.step.score,
        "kind": one.kind,
        "key": one.key,
        "name": one.name,
        "path": one.path,
        "line": one.line,
        "snippet": one.snippet,
        "edge": None
        if edge is None
        else {
            "from": one.came_from,
            "kind": edge.kind,
            "way": edge.way,
            "weight": edge.weight,
            "tags": list(edge.tags),
            "origin": edge.origin,
            "why": edge.why,
            "type": edge.type,
        },
    }
