"""memoria entity."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.fact import record as fact_record
from memoria.cli.listing import facts, table
from memoria.cli.options import Json, Quiet, Verbose, Wait, command_app
from memoria.cli.session import Session, shown_path
from memoria.graph.roster import Listed
from memoria.model import Entity

app = command_app()

_Name = Annotated[str, typer.Argument(help="A name, an alias, or a key.")]


@app.callback(no_args_is_help=True)
def entity() -> None:
    """Whom and what notes name: persons, concepts, entities, artifacts.

    \b
    memoria entity list --kind person
    memoria entity show "Marta Quintela"
    """


@app.command("list")
def list_entities(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="[TEXT]", help="Only those with this in a name.")] = "",
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="person, concept, entity or artifact.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, metavar="N", help="So many at most.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List entities, the most mentioned first: how many notes mention each, when last, how many facts there are.

    \b
    memoria entity list
    memoria entity list --kind person
    memoria entity list --json | jq -r 'select(.facts > 0).name'
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    found = session.knowledge.entities(text, kind)[:limit]
    if as_json:
        for one in found:
            emit(json.dumps(_listed_record(one), ensure_ascii=False))
    else:
        rows = [
            [one.known.entity.name, one.known.entity.kind, f"{one.mentions}", one.last or "", f"{one.facts}",
             ", ".join(one.known.entity.aliases)]
            for one in found
        ]  # fmt: skip
        columns = [("name", "bold"), ("kind", "magenta"), ("mentions", "number"), ("last", "dim"), ("facts", "number"),
                   ("also called", "dim")]  # fmt: skip
        table(columns, rows)
    if not found:
        session.talk("no entities" + (f" with {text!r} in a name" if text else ""))
        leave(1)


@app.command("show")
def show(
    ctx: typer.Context, name: _Name, as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """Show an entity: its names, its notes, what is told about it and what leads to it.

    \b
    memoria entity show Harbor
    memoria entity show marta --json | jq .facts
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    shown = session.knowledge.entity(name)
    listed = shown.listed
    if as_json:
        record = {
            **_listed_record(listed),
            "notes": [note.path for note in listed.known.notes],
            "told": [fact_record(one) for one in shown.told],
            "incoming": [fact_record(one) for one in shown.incoming],
        }
        emit(json.dumps(record, ensure_ascii=False))
        return
    one = listed.known.entity
    lines = [
        ("name", one.name),
        ("kind", one.kind),
        ("also called", ", ".join(one.aliases)),
        ("key", one.key),
        ("mentions", f"{listed.mentions}"),
        ("last mentioned", listed.last or ""),
        *(("note", shown_path(note.path)) for note in listed.known.notes),
        *((told.fact.predicate, _value(told.fact.value, told.status)) for told in shown.told),
        *((f"← {told.fact.predicate}", _value(told.fact.name, told.status)) for told in shown.incoming),
    ]
    facts([(label, value) for label, value in lines if value])


def _value(value: str, status: str) -> str:
    return value if status in ("staged", "confirmed") else f"{value} ({status})"


@app.command("add")
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="person, concept, entity or artifact.")
    ] = "entity",
    alias: Annotated[list[str] | None, typer.Option("--alias", metavar="NAME", help="Another name.")] = None,
    as_json: Json = False,
    wait: Wait = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make an entity, or say of one that notes name of which kind it is.

    \b
    memoria entity add "Ines Carvalho" --kind person --alias Ines
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    _print(session.knowledge.add_entity(name, kind, alias or (), wait=session.wait), as_json=as_json)


@app.command("rename")
def rename(
    ctx: typer.Context,
    name: _Name,
    new: Annotated[str, typer.Argument(help="The new name; the old one stays as an alias.")],
    as_json: Json = False,
    wait: Wait = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show an entity under another name.

    \b
    memoria entity rename tbrandt "Tomas Brandt"
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    _print(session.knowledge.rename_entity(name, new, wait=session.wait), as_json=as_json)


@app.command("alias")
def alias(
    ctx: typer.Context,
    name: _Name,
    others: Annotated[list[str], typer.Argument(metavar="ALIAS...", help="Other names.")],
    as_json: Json = False,
    wait: Wait = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Give an entity other names.

    \b
    memoria entity alias "Marta Quintela" "the boss"
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    _print(session.knowledge.alias_entity(name, others, wait=session.wait), as_json=as_json)


@app.command("merge")
def merge(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The one that ends: its names become aliases.")],
    into: Annotated[str, typer.Argument(help="The one that stays.")],
    as_json: Json = False,
    wait: Wait = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make one of two: what is told about the first is told about the second from then on.

    \b
    memoria entity merge Ines "Ines Carvalho"
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    _print(session.knowledge.merge_entities(name, into, wait=session.wait), as_json=as_json)


def _print(one: Entity, *, as_json: bool) -> None:
    if as_json:
        emit(json.dumps(_record(one), ensure_ascii=False))
    else:
        rows = [[one.key, one.name, one.kind, ", ".join(one.aliases)]]
        table([("key", "dim"), ("name", "bold"), ("kind", "magenta"), ("also called", "dim")], rows)


def _record(one: Entity) -> dict[str, object]:
    return {
        "type": "entity",
        "schema": "memoria.entity/1",
        "key": one.key,
        "name": one.name,
        "kind": one.kind,
        "aliases": list(one.aliases),
        "origin": one.origin,
    }


def _listed_record(one: Listed) -> dict[str, object]:
    return {**_record(one.known.entity), "mentions": one.mentions, "last": one.last, "facts": one.facts}
