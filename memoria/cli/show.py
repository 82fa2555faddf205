"""memoria show."""

import json
from typing import Annotated

import typer

from memoria.cli.boundary import emit
from memoria.cli.options import Json, NoTouch, Quiet, Verbose, command_app, complete_source
from memoria.cli.session import Session, decorated
from memoria.cli.wording import labels_in_words
from memoria.model import ShownAtom, ShownNote

app = command_app()


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="KEY|PATH|TITLE",
            autocompletion=complete_source,
            help="An atom's key or its beginning; or a note's path, file name, title or alias.",
        ),
    ],
    context: Annotated[
        int, typer.Option("--context", "-C", min=0, metavar="N", help="Atoms to show before and after.")
    ] = 1,
    no_touch: NoTouch = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show an atom in its note, or a whole note as its atoms.

    \b
    memoria show 3f2a9c
    memoria show 3f2a9c -C 0 --json | jq -r .content
    memoria show projects/harbor.md
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    notes = session.brain.show(name, context)
    if not no_touch:
        session.brain.used([atom.key for note in notes for atom in note.atoms if atom.asked], opened=True)
    for note in notes:
        if as_json:
            for atom in note.atoms:
                if atom.asked:
                    emit(json.dumps(_record(note, atom), ensure_ascii=False))
        elif decorated():
            from memoria.cli.render import render_note

            render_note(note)
        else:
            emit(_plain(note))


def _record(note: ShownNote, atom: ShownAtom) -> dict[str, object]:
    return {
        "type": "atom",
        "schema": "memoria.atom/1",
        "key": atom.key,
        "path": note.source.path,
        "relpath": note.source.relpath,
        "line": atom.line,
        "title": note.source.title,
        "heading": list(atom.heading),
        "buckets": list(note.buckets),
        "tags": sorted({*note.tags, *atom.tags}),
        "dream_tags": list(note.dream_tags),
        "date": note.source.date,
        "kind": atom.kind,
        "links": [{"kind": link.kind, "target": link.target, "path": path} for link, path in atom.links],
        "content": atom.content,
    }


def _plain(note: ShownNote) -> str:
    labels = labels_in_words(note.buckets, note.tags, note.dream_tags)
    parts = [f"{note.source.title}\n{note.source.path}  {labels}\n"]
    for atom in note.atoms:
        mark = ">" if atom.asked and not note.whole else " "
        heading = f"  {' > '.join(atom.heading)}" if atom.heading else ""
        parts.append(f"\n{mark} {atom.key}  line {atom.line}{heading}\n{atom.content}\n")
    return "".join(parts)
