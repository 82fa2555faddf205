"""memoria fact."""

import json
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Json, Quiet, Verbose, Wait, command_app
from memoria.cli.session import Session, shown_path
from memoria.model import Told

app = command_app()

_Said = Annotated[list[str], typer.Argument(metavar="KEY | SUBJECT PREDICATE OBJECT", help="The fact.")]


@app.callback(no_args_is_help=True)
def fact() -> None:
    """What is told about whom or what: by notes (front matter, fields, relation lines), and by hand.

    \b
    memoria fact add user prefers "dark mode"
    memoria fact list Harbor
    """


@app.command("add")
def add(
    ctx: typer.Context,
    subject: Annotated[str, typer.Argument(help="Whom or what it is about; `user` is you.")],
    predicate: Annotated[str, typer.Argument(help="Such as uses, works_on, status.")],
    value: Annotated[str, typer.Argument(metavar="OBJECT", help="Another entity, or any value.")],
    confidence: Annotated[
        float | None,
        typer.Option("--confidence", min=0, max=1, metavar="0..1", help="How sure it is (facts.hand, 0.9)."),
    ] = None,
    as_json: Json = False,
    wait: Wait = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """State a fact. It stays until it is retracted, whatever notes say.

    Of predicates in the setting facts.single one fact holds at a time: one with a confidence over 0.9 supersedes the
    others.

    \b
    memoria fact add user prefers "dark mode"
    memoria fact add Harbor uses SQLite
    memoria fact add Harbor status paused --confidence 0.95
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    found = session.knowledge.add_fact((subject, predicate, value), confidence, wait=session.wait)
    _print(found, as_json=as_json)
    for other in session.knowledge.contradicting(found[0]):
        session.talk(
            f"{other.fact.name} {other.fact.predicate} is also {other.fact.value!r} "
            f"({where(other)}); --confidence 0.95 would supersede it"
        )


@app.command("confirm")
def confirm(
    ctx: typer.Context, said: _Said, as_json: Json = False, wait: Wait = None, quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Confirm a fact: it counts 1.2 times. Three uses confirm a fact as well.

    \b
    memoria fact confirm 3f2a9c
    memoria fact confirm Harbor uses SQLite
    """
    _decide(ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait), said, "confirmed", as_json=as_json)


@app.command("retract")
def retract(
    ctx: typer.Context, said: _Said, as_json: Json = False, wait: Wait = None, quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:  # fmt: skip
    """Retract a fact: it is told no more, also when its note is ingested again. `add` takes that back.

    \b
    memoria fact retract 3f2a9c
    memoria fact retract Harbor owner Ines
    """
    _decide(ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait), said, "retracted", as_json=as_json)


@app.command("list")
def list_facts(
    ctx: typer.Context,
    subject: Annotated[str, typer.Argument(metavar="[SUBJECT]", help="Only what is told about it.")] = "",
    predicate: Annotated[
        str | None, typer.Option("--predicate", metavar="NAME", help="Only with this predicate.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="NAME", help="staged, confirmed, superseded or retracted; else the first two."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="In whatever status.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List facts, with where each stands.

    \b
    memoria fact list
    memoria fact list "Marta Quintela"
    memoria fact list --predicate status --all
    memoria fact list --json | jq -r '"\\(.subject) \\(.predicate) \\(.object)"'
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    found = session.knowledge.facts(subject, predicate=predicate, status=status, everything=everything)
    _print(found, as_json=as_json)
    if not found:
        session.talk("no facts" + (f" about {subject!r}" if subject else "; memoria fact add states one"))
        leave(1)


def _decide(session: Session, said: Sequence[str], status: str, *, as_json: bool) -> None:
    _print(session.knowledge.decide(said, status, wait=session.wait), as_json=as_json)


def _print(found: Sequence[Told], *, as_json: bool) -> None:
    if as_json:
        for one in found:
            emit(json.dumps(record(one), ensure_ascii=False))
        return
    rows = [
        [one.fact.key, one.fact.name, one.fact.predicate, one.fact.value, f"{one.confidence:.2f}", _status(one),
         where(one)]
        for one in found
    ]  # fmt: skip
    columns = [("key", "dim"), ("subject", "bold"), ("predicate", "magenta"), ("object", ""), ("sure", "number"),
               ("status", "green"), ("where", "blue")]  # fmt: skip
    table(columns, rows)


def record(one: Told) -> dict[str, object]:
    """Return a fact as JSON has it."""
    fact = one.fact
    return {
        "type": "fact",
        "schema": "memoria.fact/1",
        "key": fact.key,
        "subject": fact.name,
        "predicate": fact.predicate,
        "object": fact.value,
        "confidence": one.confidence,
        "status": one.status,
        "basis": fact.basis,
        "origin": fact.origin,
        "since": fact.made,
        "until": one.until,
        "uses": one.uses,
        "last_used": one.at,
        "attitude": fact.attitude,
        "proximity": fact.proximity,
        "notes": fact.notes,
        "places": [{"path": path, "line": line} for path, line in one.places],
    }


def _status(one: Told) -> str:
    if one.until is None:
        return one.status
    spans = (time.strftime("%Y-%m-%d", time.localtime(at)) for at in (one.fact.made, one.until))
    return f"{one.status} ({' to '.join(spans)})"


def where(one: Told) -> str:
    """Return where a fact stands."""
    return ", ".join(f"{shown_path(path)}:{line}" for path, line in one.places) or "by hand"
