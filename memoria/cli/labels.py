"""memoria tags, memoria buckets."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.listing import table
from memoria.cli.options import Json, NoDreamTags, Quiet, Verbose, Wait, command_app, complete_tag
from memoria.cli.session import Session
from memoria.errors import UsageError
from memoria.text import fold, label_name

tags_app = command_app()
buckets_app = command_app()

_Text = Annotated[str, typer.Argument(help="Only those with this in their name.")]


@tags_app.command()
def tags(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT] | accept TAG [NOTE] | reject TAG [NOTE]", help="Only those with this in their name."
        ),
    ] = None,
    related: Annotated[
        str | None,
        typer.Option("--related", metavar="TAG", autocompletion=complete_tag, help="Those on the same notes as TAG."),
    ] = None,
    by_note: Annotated[
        bool, typer.Option("--by-note", help="The tags of each note, those of dreams with reasons.")
    ] = False,
    no_dream_tags: NoDreamTags = False,
    wait: Wait = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List the tags, with how many notes and atoms carry each; accept or reject those that dreams gave.

    An accepted tag is yours from then on; a rejected one never comes back. Without a note, all notes are meant.

    \b
    memoria tags
    memoria tags project/
    memoria tags --related garden
    memoria tags --by-note
    memoria tags accept garden notes/compost.md
    memoria tags reject misc
    memoria tags --json | jq -r 'select(.notes == 1).name'
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose, wait=wait)
    given = words or []
    if given[:1] in (["accept"], ["reject"]) and len(given) > 1:
        _judge(session, given)
    elif len(given) > 1:
        raise UsageError("one text at a time", hint="memoria tags TEXT, or memoria tags accept TAG [NOTE]")
    elif related is not None:
        _related(session, related, as_json=as_json)
    elif by_note:
        _by_note(session, given[0] if given else "", as_json=as_json, dreamed=not no_dream_tags)
    else:
        _list(session, "tag", given[0] if given else "", as_json=as_json, dreamed=not no_dream_tags)


@buckets_app.command()
def buckets(
    ctx: typer.Context, text: _Text = "", as_json: Json = False, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """List the buckets, with how many notes and atoms are in each.

    \b
    memoria buckets
    memoria buckets --json
    """
    _list(ctx.obj.hear(quiet=quiet, verbose=verbose), "bucket", text, as_json=as_json)


def _list(session: Session, kind: str, text: str, *, as_json: bool, dreamed: bool = True) -> None:
    found = session.brain.labels(kind, text, dreamed=dreamed)
    if as_json:
        for name, notes, atoms, dreams in found:
            record = {"type": kind, "schema": f"memoria.{kind}/1", "name": name, "notes": notes, "atoms": atoms}
            if kind == "tag" and dreamed:
                record["dream_notes"] = dreams
            emit(json.dumps(record, ensure_ascii=False))
    else:
        sign = "#" if kind == "tag" else "@"
        style = "green" if kind == "tag" else "magenta"
        columns = [(kind, style), ("notes", "number"), ("atoms", "number")]
        rows = [[sign + name, f"{notes}", f"{atoms}"] for name, notes, atoms, _ in found]
        if any(dreams for *_, dreams in found):
            columns.append(("by dreams", "number"))
            rows = [[*row, f"{dreams}"] for row, (*_, dreams) in zip(rows, found, strict=True)]
        table(columns, rows)
    if not found:
        session.talk(f"no {kind}s" if not text else f"no {kind} with {text!r} in its name")
        leave(1)


def _judge(session: Session, given: list[str]) -> None:
    what, tag, *rest = given
    if len(rest) > 1:
        raise UsageError(f"{what} takes a tag and at most one note", hint=f"memoria tags {what} TAG [NOTE]")
    if not label_name(tag):
        raise UsageError("an empty tag names nothing")
    notes, warning = session.brain.judge_tag(tag, f"{what}ed", rest[0] if rest else None, session.wait)
    done = "is yours now" if what == "accept" else "is gone and will not come back"
    session.talk(f"#{label_name(tag)} {done}, on {notes:,} note{'' if notes == 1 else 's'}")
    if warning:
        session.talk(f"warning: {warning}")


def _by_note(session: Session, text: str, *, as_json: bool, dreamed: bool) -> None:
    found = [
        (source, human, dreams if dreamed else [])
        for source, human, dreams in session.brain.tags_by_note()
        if fold(text) in fold(source.relpath) or fold(text) in fold(source.title)
    ]
    if as_json:
        for source, human, dreams in found:
            record = {
                "type": "note_tags",
                "schema": "memoria.note_tags/1",
                "path": source.relpath,
                "root": source.root,
                "tags": [*human, *(name for name, _, _ in dreams)],
                "dream_tags": [{"name": name, "score": score, "reason": why} for name, score, why in dreams],
            }
            emit(json.dumps(record, ensure_ascii=False))
    else:
        rows = [
            [
                source.relpath,
                " ".join(f"#{name}" for name in human),
                "; ".join(f"~#{name} ({score:.2f}, {why})" for name, score, why in dreams),
            ]
            for source, human, dreams in found
            if human or dreams
        ]
        table([("note", "blue"), ("tags", "green"), ("by dreams", "dim green")], rows)
    if not found:
        session.talk("no notes" if not text else f"no note with {text!r} in its path or title")
        leave(1)


def _related(session: Session, tag: str, *, as_json: bool) -> None:
    found = session.brain.related_tags(tag)
    if as_json:
        for name, notes, shared, score in found:
            record = {"type": "related", "schema": "memoria.related/1", "name": name, "notes": notes}
            emit(json.dumps({**record, "shared": shared, "score": round(score, 6)}, ensure_ascii=False))
    else:
        rows = [[f"#{name}", f"{shared}", f"{notes}", f"{score:.2f}"] for name, notes, shared, score in found]
        table([("tag", "green"), ("shared", "number"), ("notes", "number"), ("closeness", "number")], rows)
    if not found:
        session.talk(f"no tag stands on the same notes as {tag!r}")
        leave(1)
