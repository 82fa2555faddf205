"""memoria explore."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from memoria.cli.boundary import emit, leave
from memoria.cli.options import Buckets, Json, NoTouch, Paths, Quiet, Tags, Verbose, command_app
from memoria.cli.session import Session, decorated, shown_path
from memoria.errors import UsageError
from memoria.graph.facts import predicate_of
from memoria.retrieve.budget import cut_at_sentence
from memoria.retrieve.explore import CANDIDATES, Asked, Bounds, Rules
from memoria.retrieve.filters import Filters, parse_day
from memoria.retrieve.granularity import Explored, granularity_of
from memoria.scoring import WEIGHTS_SLACK, Weights

app = command_app()

SHOWN_CHARS = 320  # of a note, on a terminal; --json and --context have all


def _grade(option: str, what: str) -> Any:
    return typer.Option(option, min=1, max=5, metavar="1..5", help=f"Only relationships with {what}.")


def _weight(option: str, what: str, default: float) -> Any:
    return typer.Option(option, min=0, max=1, metavar="0..1", help=f"How much {what} counts ({default:g}).")


@app.command()
def explore(
    ctx: typer.Context,
    queries: Annotated[list[str], typer.Argument(metavar="QUERY...", help="One query, or several; quote each.")],
    granularity: Annotated[
        str,
        typer.Option("--granularity", "-g", metavar="G", help="micro (notes), meso (storylines), macro; or 1, 2, 3."),
    ] = "micro",
    deep: Annotated[bool, typer.Option("--deep", help="Complement each query by others, and look at more.")] = False,
    multi_query: Annotated[
        bool,
        typer.Option("--multi-query", help="Complement each query: what happened, who is in it, what it is about."),
    ] = False,
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", min=0, max=1, metavar="0..1", help="Least similarity; once, or for each query."),
    ] = None,
    semantic_weight: Annotated[float | None, _weight("--semantic-weight", "similarity", 0.3)] = None,
    time_weight: Annotated[float | None, _weight("--time-weight", "recency", 0.3)] = None,
    salience_weight: Annotated[float | None, _weight("--salience-weight", "salience", 0.4)] = None,
    min_attitude: Annotated[int | None, _grade("--min-attitude", "at least this attitude")] = None,
    max_attitude: Annotated[int | None, _grade("--max-attitude", "at most this attitude")] = None,
    min_proximity: Annotated[int | None, _grade("--min-proximity", "at least this proximity")] = None,
    max_proximity: Annotated[int | None, _grade("--max-proximity", "at most this proximity")] = None,
    rel_type: Annotated[
        list[str] | None, typer.Option("--rel-type", metavar="TYPE", help="Only relationships of this type.")
    ] = None,
    not_rel_type: Annotated[
        list[str] | None, typer.Option("--not-rel-type", metavar="TYPE", help="No relationships of this type.")
    ] = None,
    bucket: Buckets = None,
    tag: Tags = None,
    path: Paths = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="From this day on: 2025-03-01, 2025, 7d, 2w, 6m.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="DATE", help="Up to this day.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Also what has faded (salience below 0.01).")] = False,
    context: Annotated[bool, typer.Option("--context", help="Markdown for a language model.")] = False,
    as_json: Json = False,
    no_touch: NoTouch = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Look around: people, concepts, relationships, notes, storylines, by similarity, recency and salience.

    \b
    memoria explore harbor
    memoria explore "job offer" "who decides" --granularity meso
    memoria explore "close connections" --min-attitude 4 --min-proximity 4
    memoria explore harbor --deep --json | jq .semantic.people
    """
    session: Session = ctx.obj.hear(quiet=quiet, verbose=verbose)
    today = datetime.now(UTC).astimezone().date()
    rules = Rules(
        session.knowledge.trust,
        _weights(semantic_weight, time_weight, salience_weight),
        Filters(
            buckets=tuple(bucket or ()),
            tags=tuple(tag or ()),
            paths=tuple(path or ()),
            since=parse_day(since, today) if since else None,
            until=parse_day(until, today, end=True) if until else None,
        ),
        Bounds(
            min_attitude,
            max_attitude,
            min_proximity,
            max_proximity,
            tuple(map(predicate_of, rel_type or ())),
            tuple(map(predicate_of, not_rel_type or ())),
        ),
        archived,
        2 * CANDIDATES if deep else CANDIDATES,
    )
    found = session.knowledge.explore(
        _asked(queries, threshold or ()), granularity_of(granularity), rules, multi_query=deep or multi_query
    )
    if not any(any(part.values()) for part in (found.semantic, found.episodic)):
        session.talk("nothing found" + (" within these limits" if any((*rules.filters, *rules.bounds)) else ""))
        if as_json:
            emit(_json(found))
        leave(1)
        return
    if not no_touch:
        session.brain.used(found.keys)
    if as_json:
        emit(_json(found))
    elif context:
        emit(as_context(found))
    elif decorated():
        from memoria.cli.render import render_explored

        render_explored([(title, lines) for title, lines in sections(found) if lines])
    else:
        emit(
            "\n\n".join(
                "\n".join([title, *(f"  {line}" for line in lines)]) for title, lines in sections(found) if lines
            )
        )
    if len(found.meta["queries_used"]) > len(queries):
        session.detail("asked for: " + "; ".join(found.meta["queries_used"]))


def _asked(queries: Sequence[str], thresholds: Sequence[float]) -> list[Asked]:
    if len(thresholds) not in (0, 1, len(queries)):
        raise UsageError(
            f"there are {len(thresholds)} thresholds for {len(queries)} queries",
            hint="give one for all, or one for each",
        )
    each = thresholds if len(thresholds) == len(queries) else [*thresholds, 0.0][:1] * len(queries)
    asked = [Asked(query, least) for query, least in zip(queries, each, strict=True) if query.strip()]
    if not asked:
        raise UsageError("there is nothing to explore", hint="memoria explore QUERY...")
    return asked


def _weights(semantic: float | None, time: float | None, salience: float | None) -> Weights:
    given = Weights(
        *(
            default if value is None else value
            for value, default in zip((semantic, time, salience), Weights(), strict=True)
        )
    )
    if abs(sum(given) - 1) > WEIGHTS_SLACK:
        raise UsageError(
            f"the weights come to {sum(given):g}, not to 1",
            hint="give all three: --semantic-weight 0.3 --time-weight 0.3 --salience-weight 0.4",
        )
    return given


def _json(found: Explored) -> str:
    record = {"type": "exploration", "schema": "memoria.exploration/1", "meta": found.meta}
    return json.dumps({**record, "semantic": found.semantic, "episodic": found.episodic}, ensure_ascii=False)


def sections(found: Explored) -> list[tuple[str, list[str]]]:
    """Return the answer as headed lines of text."""
    semantic, episodic = found.semantic, found.episodic
    return [
        ("people", [_node(one) for one in semantic["people"]]),
        ("concepts", [_node(one) for one in semantic["concepts"]]),
        ("entities", [_node(one) for one in semantic["entities"]]),
        ("relationships", [_relationship(one) for one in semantic["relationships"]]),
        ("notes", [line for one in episodic["sources"] for line in _source(one)]),
        ("storylines", [line for one in episodic["storylines"] for line in _story(one)]),
        ("macros", [line for one in episodic["macros"] for line in _story(one)]),
        ("artifacts", [_node(one) for one in episodic["artifacts"]]),
    ]


def _node(one: dict[str, Any]) -> str:
    aliases = f" ({', '.join(one['aliases'])})" if one["aliases"] else ""
    near = ", ".join(other["name"] for other in one.get("connected", ()))
    return f"{one['score']:.2f}  {one['name']}{aliases}" + (f"  ~ {near}" if near else "")


def _relationship(one: dict[str, Any]) -> str:
    grades = [f"{name} {one[name]}" for name in ("attitude", "proximity") if one[name] is not None]
    told = "; ".join(filter(None, [", ".join(grades), one["notes"]]))
    return f"{one['score']:.2f}  {one['from']} —{one['type']}→ {one['to']}" + (f"  {told}" if told else "")


def _source(one: dict[str, Any]) -> list[str]:
    if "content" not in one:
        return [f"{one['date'] or '          '}  {one['title']}  {shown_path(one['path'])}", f"      {one['preview']}"]
    head = f"{one['score']:.2f}  {one['title']}  {shown_path(one['path'])}:{one['line']}"
    return [
        head,
        *(f"      {line}" for line in cut_at_sentence(one["content"], SHOWN_CHARS).split("\n") if line.strip()),
    ]


def _story(one: dict[str, Any]) -> list[str]:
    if "summary" not in one:
        return [one["name"]]
    lines = [f"{one['score']:.2f}  {one['name']}", f"      {one['summary']}"]
    lines += (f"      {child['first']}  {child['name']}" for child in one.get("storylines", ()))
    lines += (f"      {note['date'] or ''}  {note['title']}" for note in one.get("preview_sources", ()))
    named = ", ".join(node["name"] for node in one.get("mentioned", ()))
    return [*lines, f"      with {named}"] if named else lines


def as_context(found: Explored) -> str:
    """Return the answer as markdown for a language model."""
    parts = []
    for title, lines in sections(found):
        if title == "notes":
            for one in found.episodic["sources"]:
                text = one.get("content", one.get("preview", ""))
                where = f"{one['path']}:{one['line']}" if "line" in one else one["path"]
                parts.append(f"## {one['title']}\n{where}\n\n{text}")
        elif lines:
            parts.append("\n".join([f"## {title.capitalize()}", *(f"- {line.strip()}" for line in lines)]))
    return "\n\n".join(parts)
