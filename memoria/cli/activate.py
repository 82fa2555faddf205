"""memoria activate."""

import math
import os
import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from memoria.cli import trails
from memoria.cli.boundary import emit, leave
from memoria.cli.options import Json, Quiet, Verbose, command_app, complete_source, complete_tag
from memoria.cli.searching import say_nothing_found, say_unknown, text_of, today
from memoria.cli.session import Session, decorated
from memoria.config import write_whole
from memoria.errors import UsageError
from memoria.model import Activation
from memoria.retrieve.query import Query
from memoria.retrieve.trails import Activating

app = command_app()


@app.command()
def activate(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS]...", help="What to think of; - reads it from a pipe.")
    ] = None,
    seed: Annotated[
        list[str] | None,
        typer.Option(
            "--seed",
            metavar="KEY|TITLE|ENTITY[=R]",
            autocompletion=complete_source,
            help="Begin here, with energy R (1); may be given several times.",
        ),
    ] = None,
    qtag: Annotated[
        list[str] | None,
        typer.Option(
            "--qtag", metavar="NAME", autocompletion=complete_tag, help="A tag of the query, besides those it names."
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, metavar="N", help="Atoms to begin from (5).")] = None,
    max_depth: Annotated[
        int | None, typer.Option("--max-depth", min=0, metavar="N", help="Steps of a trail (5).")
    ] = None,
    min_activation: Annotated[
        float | None, typer.Option("--min-activation", min=0, metavar="T", help="Less energy goes nowhere (0.005).")
    ] = None,
    tag_sim_floor: Annotated[
        float | None,
        typer.Option("--tag-sim-floor", min=0, max=1, metavar="S", help="For edges whose tags do not fit (0.15)."),
    ] = None,
    max_branches: Annotated[
        int | None, typer.Option("--max-branches", min=1, metavar="N", help="Neighbors that a node activates (3).")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Print the factors of every step's energy.")] = False,
    context: Annotated[
        bool, typer.Option("--context", help="The atoms of the trails as markdown for a language model, best first.")
    ] = False,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, metavar="CHARS", help="With --context: characters (4,000).")
    ] = None,
    as_json: Json = False,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="A Mermaid flowchart.")] = False,
    canvas: Annotated[
        str | None, typer.Option("--canvas", metavar="FILE", help="Write a JSON Canvas, for Obsidian; - prints it.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --canvas: write over a file that is there.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Follow trails of association: energy spreads from the best atoms over links, mentions, entities and tags.

    Every step passes on energy * weight / sqrt(degree) * tag_sim; what falls to 0.005 ends the trail. Tags that the
    query names make edges with these tags lead further. docs/activate.md has it all.

    \b
    memoria activate harbor migration
    memoria activate --seed 'Idempotent webhooks' --explain
    memoria activate --seed 3f2a9c=0.8 --seed 'Marta Quintela' --qtag harbor --max-depth 3
    memoria activate why did the starter die --context --budget 6000 | llm 'answer from these notes'
    memoria activate berth rules --json | jq -r '.trails[].steps[-1].title'
    memoria activate tide --canvas tide.canvas
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    if sum([as_json, context, mermaid, canvas is not None]) > 1:
        raise UsageError("--json, --context, --mermaid and --canvas are different outputs: choose one")
    if canvas is not None:
        _check_canvas(canvas, force=force)
    named = [_seed(text) for text in seed or ()]
    text = text_of(query or (), "memoria activate WORDS, or --seed KEY|TITLE|ENTITY") if query or not named else ""
    limits = session.brain.limits(
        max_depth=max_depth, min_activation=min_activation, tag_sim_floor=tag_sim_floor, max_branches=max_branches
    )
    asked = Query.parse(text, today())
    with session.brain.activating(asked, named, qtag or (), limits, seeds) as under_way:
        if under_way.answer:
            say_unknown(session, under_way.answer)
        found = []
        for one in _in_order(under_way, streaming=as_json):
            found.append(one)
            if as_json:
                emit(trails.json_line(one, under_way.tags))
                sys.stdout.flush()
            elif not (context or mermaid or canvas):
                _print(one, under_way.tags, explain=explain)
    found.sort(key=lambda one: one.seed_rank)
    if found and context:
        _print_context(session, found, budget or session.brain.config["search.budget"])
    elif found and mermaid:
        emit(trails.mermaid(found))
    elif found and canvas == "-":
        emit(trails.canvas(found))
    elif found and canvas:
        write_whole(canvas, trails.canvas(found))
        session.talk(f"drew {sum(len(one.trails) for one in found)} trails into {canvas}")
    _summarize(session, found, under_way, asked)


def _in_order(under_way: Activating, *, streaming: bool) -> Iterator[Activation]:
    """Yield what the seeds activated: as each is done, or in their own order."""
    waiting: dict[int, Activation] = {}
    following = 1
    for one in under_way.results:
        if streaming:
            yield one
            continue
        waiting[one.seed_rank] = one
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _print(one: Activation, tags: list[str], *, explain: bool) -> None:
    if not one.steps:
        return
    if explain and one.seed_rank == 1:
        emit("query tags: " + (" ".join(f"#{tag}" for tag in tags) or "none, so every edge's tags fit"))
    if decorated():
        from memoria.cli.render import render_activation

        render_activation(one, explain=explain)
    else:
        emit("\n".join(trails.tree(one, explain=explain)))


def _print_context(session: Session, found: list[Activation], budget: int) -> None:
    text = trails.as_context(found, budget)
    if text:
        emit(text)
    elif any(one.steps for one in found):
        session.talk(f"nothing fits into {budget:,} characters")
        leave(1)


def _summarize(session: Session, found: list[Activation], under_way: Activating, query: Query) -> None:
    if not found and under_way.answer:
        say_nothing_found(session, under_way.answer, query)
        leave(1)
    for one in found:
        if one.problem:
            session.talk(one.problem)
        for hub in one.capped:
            session.talk(
                f"{hub.spot.title} has {hub.degree:,} edges: only the {hub.read:,} strongest were read, and others "
                "might have led further"
            )
    reached = sum(max(0, len(one.steps) - 1) for one in found)
    session.detail(f"{len(found)} seeds, {sum(len(one.trails) for one in found)} trails, {reached} steps")
    if not reached and any(one.steps for one in found):
        session.talk("nothing is tied to that; memoria dream looks for what nobody linked")
    if not reached or any(one.problem for one in found):
        leave(1)


def _seed(text: str) -> tuple[str, float]:
    """Read NAME or NAME=R; an = in a title is no R."""
    name, equals, value = text.rpartition("=")
    try:
        energy = float(value)
    except ValueError:
        name, equals, energy = text, "", 1.0
    if not equals:
        name, energy = text, 1.0
    if not 0 < energy <= 1 or math.isnan(energy):
        raise UsageError(f"--seed {text!r}: R must be above 0 and at most 1", hint="write --seed NAME=0.8")
    if not name.strip():
        raise UsageError(f"--seed {text!r} names nothing", hint="write --seed KEY, or a title or a name")
    return name, energy


def _check_canvas(path: str, *, force: bool) -> None:
    if path == "-":
        return
    if not path.endswith(".canvas"):
        raise UsageError(f"{path!r} is no name for a canvas", hint="Obsidian opens what ends in .canvas")
    if os.path.lexists(path) and not force:
        raise UsageError(f"{path} is there already", hint="--force writes over it")
