"""memoria storylines, memoria macros."""

import json
from typing import Annotated, TypeVar

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Json, Quiet, Verbose, command_app
from memoria.cli.session import Session, shown_path
from memoria.errors import AmbiguousError, NotFoundError
from memoria.model import Macro, Source, Storyline
from memoria.text import fold

storylines_app = command_app()
macros_app = command_app()

_Name = Annotated[str, typer.Argument(metavar="[ID|NAME]", help="One of them, by its id or a part of its name.")]


@storylines_app.command()
def storylines(
    ctx: typer.Context, name: _Name = "", as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """List the storylines: what many notes of a stretch of time are about; or show one, with its timeline.

    \b
    memoria storylines
    memoria storylines harbor
    memoria storylines --json | jq -r .name
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    lines, _, sources = session.brain.storylines()
    if not lines:
        _nothing(session, "storylines")
        return
    if as_json:
        for line in [_one(lines, name)] if name else lines:
            emit(json.dumps(_line_record(line, sources), ensure_ascii=False))
    elif name:
        _show_line(_one(lines, name), sources)
    else:
        rows = [[line.id, line.name, line.first, line.last, f"{len(line.sources)}"] for line in lines]
        table([("id", "dim"), ("storyline", "bold"), ("from", ""), ("to", ""), ("notes", "number")], rows)


@macros_app.command()
def macros(
    ctx: typer.Context, name: _Name = "", as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """List the macros: storylines that belong together; or show one, with its storylines.

    \b
    memoria macros
    memoria macros harbor
    memoria macros --json | jq -r .name
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    lines, found, sources = session.brain.storylines()
    by_id = {line.id: line for line in lines}
    if not found:
        _nothing(session, "macros")
        return
    if as_json:
        for macro in [_one(found, name)] if name else found:
            children = [_line_record(by_id[one], sources) for one in macro.storylines if one in by_id]
            record = {"type": "macro", "schema": "memoria.macro/1", **macro._asdict(), "storylines": children}
            emit(json.dumps(record, ensure_ascii=False))
    elif name:
        macro = _one(found, name)
        emit(f"{macro.name}\n{macro.first} to {macro.last}  {macro.id}\n\n{macro.summary}\n")
        for one in macro.storylines:
            if one in by_id:
                _show_line(by_id[one], sources)
                emit("")
    else:
        rows = [[macro.id, macro.name, macro.first, macro.last, f"{len(macro.storylines)}"] for macro in found]
        table([("id", "dim"), ("macro", "bold"), ("from", ""), ("to", ""), ("storylines", "number")], rows)


_Told = TypeVar("_Told", Storyline, Macro)


def _one(found: list[_Told], name: str) -> _Told:
    exact = [one for one in found if name in (one.id, one.name)]
    near = exact or [one for one in found if one.id.startswith(name) or fold(name) in fold(one.name)]
    if not near:
        raise NotFoundError(f"nothing here is called {name!r}", hint="without a name, all are listed")
    if len(near) > 1:
        raise AmbiguousError(name, [f"{one.id}  {one.name}" for one in near])
    return near[0]


def _show_line(line: Storyline, sources: dict[int, Source]) -> None:
    emit(f"{line.name}\n{line.first} to {line.last}, {len(line.sources)} notes  {line.id}\n\n{line.summary}\n")
    notes = [sources[number] for number in line.sources if number in sources]
    table(
        [("day", "dim"), ("note", "bold"), ("where", "blue")],
        [[source.date or "", source.title, shown_path(source.path)] for source in notes],
    )


def _line_record(line: Storyline, sources: dict[int, Source]) -> dict[str, object]:
    notes = [
        {"date": sources[number].date, "title": sources[number].title, "path": sources[number].path}
        for number in line.sources
        if number in sources
    ]
    return {"type": "storyline", "schema": "memoria.storyline/1", **line._asdict(), "sources": notes}


def _nothing(session: Session, what: str) -> None:
    session.talk(f"no {what} yet; memoria dream looks for them among notes that have dates")
    leave(1)
