"""The search command without its parser: shared by Typer's lane and the quick one."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from memoria.cli.boundary import emit, leave
from memoria.cli.session import Session, decorated, shown_path
from memoria.errors import UsageError
from memoria.model import Answer, Hit
from memoria.retrieve.filters import Filters, parse_day

SCHEMA = "memoria.hit/1"
MAX_STDIN_CHARS = 1_000_000


def run(
    session: Session,
    query: Sequence[str],
    *,
    budget: int | None = None,
    limit: int | None = None,
    bucket: Sequence[str] = (),
    tag: Sequence[str] = (),
    any_tag: Sequence[str] = (),
    not_tag: Sequence[str] = (),
    path: Sequence[str] = (),
    source: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
    as_json: bool = False,
    paths: bool = False,
    null: bool = False,
    open_hit: int | None = None,
) -> None:
    """Answer, and end with 0 if anything was found, else with 1."""
    text = " ".join(query)
    if text == "-":
        text = sys.stdin.buffer.read(MAX_STDIN_CHARS * 4).decode("utf-8", "replace")[:MAX_STDIN_CHARS]
    if not text.strip():
        raise UsageError("there is nothing to search for", hint="memoria search WORDS, or - to read them from a pipe")
    today = datetime.now(UTC).astimezone().date()
    filters = Filters(
        buckets=tuple(bucket),
        tags=tuple(tag),
        any_tags=tuple(any_tag),
        not_tags=tuple(not_tag),
        paths=tuple(path),
        sources=tuple(source),
        since=parse_day(since, today) if since else None,
        until=parse_day(until, today, end=True) if until else None,
    )
    answer = session.brain.search(text, filters, budget=budget, limit=limit)
    _say_unknown(session, answer)
    if open_hit is not None:
        _open(answer, open_hit)
        return
    if as_json:
        _emit_json(answer)
    elif paths:
        end = "\0" if null else "\n"
        for name in dict.fromkeys(hit.path for hit in answer.hits):
            sys.stdout.write(name + end)
    elif decorated():
        from memoria.cli.render import render_answer

        render_answer(answer)
    else:
        for hit in answer.hits:
            emit(plain(hit))
    _summarize(session, answer, filters, quiet=as_json or paths)
    if not answer.hits:
        leave(1)


def plain(hit: Hit) -> str:
    """Return a hit as plain text: what the terminal shows, without decoration."""
    labels = " ".join([*(f"@{name}" for name in hit.buckets), *(f"#{name}" for name in hit.tags)])
    notes = "".join([" (cut)" if hit.cut else "", " (changed since ingest)" if hit.stale else ""])
    return (
        f"{hit.rank}. {' > '.join([hit.title, *hit.heading])}\n"
        f"   {hit.path}:{hit.line}  {labels}  {hit.score:.2f}  {hit.key}{notes}\n"
        + "".join(f"   {line}\n" if line.strip() else "\n" for line in hit.content.split("\n"))
    )


def as_record(hit: Hit) -> dict[str, object]:
    """Return a hit as the JSON contract has it (docs/json.md)."""
    record: dict[str, object] = {"type": "hit", "schema": SCHEMA, **hit._asdict()}
    record["score"] = round(hit.score, 6)
    record["why"] = {"words": {term: round(part, 6) for term, part in hit.why.items()}}
    return record


def _emit_json(answer: Answer) -> None:
    import json

    for hit in answer.hits:
        emit(json.dumps(as_record(hit), ensure_ascii=False))


def _say_unknown(session: Session, answer: Answer) -> None:
    for word, near in answer.unknown.items():
        session.talk(f'no note has "{word}"' + (f'; did you mean "{near}"?' if near else ""))


def _summarize(session: Session, answer: Answer, filters: Filters, *, quiet: bool) -> None:
    if answer.hits:
        chars = sum(len(hit.content) for hit in answer.hits)
        if not quiet:
            session.talk(f"{len(answer.hits)} of {answer.found:,} matching atoms, {chars:,} characters")
    elif not answer.words:
        session.talk("nothing found: there is no word in that")
    elif not answer.atoms:
        session.talk("nothing found: the brain is empty; memoria ingest PATH fills it")
    elif any(filters):
        session.talk("nothing found within these filters")
    elif not answer.unknown:
        session.talk("nothing found: these words are too common to be indexed")
    else:
        session.talk("nothing found")


def _open(answer: Answer, number: int) -> None:
    if not 1 <= number <= len(answer.hits):
        raise UsageError(f"there is no hit {number}; the search found {len(answer.hits)}")
    from memoria.cli.editor import open_at

    hit = answer.hits[number - 1]
    if not hit.path.startswith("/") and ":" not in hit.path[:3]:
        raise UsageError(f"{hit.path} came through a pipe and has no file", hint=f"memoria show {hit.key} prints it")
    open_at(hit.path, hit.line)


__all__ = ["SCHEMA", "as_record", "plain", "run", "shown_path"]
