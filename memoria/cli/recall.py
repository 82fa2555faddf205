"""memoria recall."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from memoria.cli import searching
from memoria.cli.boundary import emit
from memoria.cli.fact import where
from memoria.cli.options import Json, NoTouch, Quiet, Verbose, command_app
from memoria.cli.session import Session, decorated
from memoria.errors import UsageError
from memoria.graph.lookup import HOLDING, STATUSES
from memoria.retrieve.query import Query
from memoria.retrieve.recall import Reach, Recall, Recalled, narrative

app = command_app()


def _at_least(option: str, name: str, what: str) -> Any:
    return typer.Option(option, min=1, metavar="N", help=f"{what} (recall.{name}).")


@app.command()
def recall(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None, typer.Argument(metavar="[WORDS]...", help="What to recall; - reads it from a pipe.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", "-b", min=1, metavar="CHARS", help="Characters of text to return (4,000).")
    ] = None,
    anchors: Annotated[int | None, _at_least("--anchors", "anchors", "Entities to begin from")] = None,
    hops: Annotated[int | None, _at_least("--hops", "hops", "How far to go from there")] = None,
    per_entity: Annotated[int | None, _at_least("--per-entity", "per_entity", "Facts of each entity")] = None,
    facts: Annotated[int | None, _at_least("--facts", "facts", "Facts in all")] = None,
    status: Annotated[
        list[str] | None,
        typer.Option("--status", metavar="NAME", help="Only facts of this status; else staged and confirmed ones."),
    ] = None,
    outgoing: Annotated[bool, typer.Option("--outgoing", help="Without the facts that lead to an entity (←).")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Headlines without signs.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print how each fact came to its score, too.")] = False,
    as_json: Json = False,
    batch: Annotated[
        str | None, typer.Option("--batch", metavar="FILE", help="Answer many queries, one a line; - for stdin.")
    ] = None,
    no_touch: NoTouch = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Recall what is told about whom and what a query names: facts, as a text for people and language models.

    It begins from the entities that the query names, goes on to those that their facts lead to, and tells the best
    facts first. Where the query names nobody and nothing, it searches instead. `docs/recall.md` has it all.

    \b
    memoria recall what is Harbor
    memoria recall "what do I prefer" --plain | llm 'answer from this'
    memoria recall marta --hops 1 --explain
    memoria recall harbor --json | jq -r '"\\(.score) \\(.subject) \\(.predicate) \\(.object)"'
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    for name in status or ():
        if name not in STATUSES:
            raise UsageError(f"{name!r} is no status of a fact", hint=f"choose one of {', '.join(STATUSES)}")
    given = {"anchors": anchors, "hops": hops, "per_entity": per_entity, "facts": facts}
    config = session.brain.config
    reach = Reach(
        **{name: config[f"recall.{name}"] if value is None else value for name, value in given.items()},
        statuses=tuple(status or HOLDING),
        outgoing=outgoing,
    )
    if batch is not None:
        if query:
            raise UsageError("--batch reads the queries from a file, and answers in JSON lines")
        _run_batch(session, batch, reach, budget, explain=explain)
        return
    text = searching.text_of(query or (), "memoria recall WORDS, or - to read them from a pipe")
    asked = Query.parse(text, _today())
    found = session.knowledge.recall(asked, reach, budget=budget, plain=plain)
    if not found.facts:
        session.talk(_why_not(found))
        searching.run(session, [text], budget=budget, explain=explain, as_json=as_json, no_touch=no_touch)
        return
    if not no_touch:
        session.brain.used([one.told.fact.key for one in found.facts])
    if as_json:
        for line in json_lines(found, explain=explain):
            emit(line)
        return
    if decorated():
        from memoria.cli.render import render_narrative

        render_narrative(found, plain=plain)
    else:
        emit(narrative(found.facts, plain=plain))
    if explain:
        emit(reckoning(found))
    left = found.reached - len(found.facts)
    session.talk(f"{len(found.facts)} facts, {found.used:,} characters" + (f"; {left} more do not fit" if left else ""))


def _today() -> Any:
    return datetime.now(UTC).astimezone().date()


def _why_not(found: Recall) -> str:
    if found.reached:
        return "no fact fits into the budget; searched instead"
    if found.anchors:
        names = ", ".join(anchor.known.entity.name for anchor in found.anchors)
        return f"nothing that holds is told about {names}; searched instead"
    return "that names nobody and nothing that is told about; searched instead"


def _run_batch(session: Session, name: str, reach: Reach, budget: int | None, *, explain: bool) -> None:
    from memoria.knowledge import Memory

    with session.brain.reading() as store:
        memory = Memory(session.knowledge, store)
        memory.warm()
        for label, text in searching.queries_in(name):
            found = memory.recall(Query.parse(text, _today()), reach, budget=budget)
            for line in json_lines(found, explain=explain, label=label):
                emit(line)


def json_lines(found: Recall, *, explain: bool, label: object = None) -> Iterator[str]:
    """Yield a recall as JSON: a line for each fact, and with `explain` one for the query."""
    extra = {} if label is None else {"query_id": label}
    for rank, one in enumerate(found.facts, 1):
        yield json.dumps({**_record(rank, one), **extra}, ensure_ascii=False)
    if explain:
        anchors = [
            {"key": anchor.known.entity.key, "name": anchor.known.entity.name, "kind": anchor.known.entity.kind,
             "score": round(anchor.score, 6), "why": anchor.why}
            for anchor in found.anchors
        ]  # fmt: skip
        record = {"type": "query", "schema": "memoria.recall-query/1", "anchors": anchors, "reached": found.reached}
        yield json.dumps({**record, "used": found.used, "budget": found.budget, **extra}, ensure_ascii=False)


def _record(rank: int, one: Recalled) -> dict[str, object]:
    return {
        "type": "recalled",
        "schema": "memoria.recalled/1",
        "rank": rank,
        "section": one.name,
        "key": one.told.fact.key,
        "subject": one.subject,
        "predicate": one.told.fact.predicate,
        "object": one.object,
        "way": one.way,
        "hop": one.hop,
        "score": one.score.score,
        "why": {
            "confidence": one.score.confidence,
            "source_weight": one.score.source_weight,
            "decay": one.score.decay,
            "usage": one.score.usage,
            "status_weight": one.score.status_weight,
            "age_weeks": one.score.age_weeks,
        },
        "status": one.told.status,
        "origin": one.told.fact.origin,
        "uses": one.told.uses,
        "places": [{"path": path, "line": line} for path, line in one.told.places],
    }


def reckoning(found: Recall) -> str:
    """Return how a recall came about."""
    reasons = {"name": "named in the query", "user": "that is you", "search": "its note answers the query"}
    lines = [f"begins from {anchor.known.entity.name} ({reasons[anchor.why]})" for anchor in found.anchors]
    lines.append("score = confidence x source x decay x usage x status")
    for one in found.facts:
        score = one.score
        lines.append(
            f"{score.score:.3f} = {score.confidence:g} x {score.source_weight:g} x {score.decay:.3f} "
            f"x {score.usage:.3f} x {score.status_weight:g}  hop {one.hop}  "
            f"{one.subject} {one.told.fact.predicate}: {one.object}  ({where(one.told)})"
        )
    return "\n".join(["", *lines])
