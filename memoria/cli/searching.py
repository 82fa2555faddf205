"""The search command without its parser: shared by Typer's lane and the quick one."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

from memoria.cli import wording
from memoria.cli.boundary import emit, leave
from memoria.cli.session import Session, decorated
from memoria.errors import UsageError
from memoria.model import Answer
from memoria.retrieve.budget import Shares
from memoria.retrieve.filters import Filters, parse_day
from memoria.retrieve.query import MAX_WORDS, Query
from memoria.retrieve.walker import Request
from memoria.text import raw_words

MAX_STDIN_CHARS = 1_000_000
MAX_UNKNOWN = 8  # unknown words that are told one by one
MAX_UNKNOWN_CHARS = 60


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
    strict: bool = False,
    no_walk: bool = False,
    split: str | None = None,
    explain: bool = False,
    context: bool = False,
    as_json: bool = False,
    paths: bool = False,
    null: bool = False,
    open_hit: int | None = None,
    batch: str | None = None,
    no_dream_tags: bool = False,
    no_touch: bool = False,
) -> None:
    """Answer, and end with 0 if anything was found, else with 1."""
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
        no_dream_tags=no_dream_tags,
    )
    if strict and no_walk:
        raise UsageError("--strict walks, and --no-walk does not: choose one")
    mode = "strict" if strict else "no-walk" if no_walk else "walk"
    shares = _shares(split)
    overhead = wording.context_overhead if context else None
    if batch is not None:
        if query or open_hit is not None or context or paths:
            raise UsageError("--batch reads the queries from a file, and answers in JSON lines")
        requests = _requests(batch, filters, budget, limit, today)
        _run_batch(session, requests, mode, shares, explain=explain)
        return
    text = text_of(query)
    request = Request(Query.parse(text, today), filters, budget, limit, overhead)
    answer = session.brain.search(request, mode=mode, shares=shares)
    if no_dream_tags:
        answer = answer._replace(hits=tuple(hit._replace(dream_tags=()) for hit in answer.hits))
    if len(text) > MAX_WORDS and len(raw_words(text)) > MAX_WORDS:
        session.talk(f"only the first {MAX_WORDS:,} words of the query count")
    _say_unknown(session, answer)
    if open_hit is not None:
        _open(answer, open_hit)
        if not no_touch:
            session.brain.used(answer.hits[open_hit - 1].keys, opened=True)
        return
    if as_json:
        for line in wording.json_lines(answer, explain=explain):
            emit(line)
    elif paths:
        end = "\0" if null else "\n"
        for name in dict.fromkeys(hit.path for hit in answer.hits):
            sys.stdout.write(name + end)
    elif context:
        emit(wording.as_context(answer.hits))
    elif decorated():
        from memoria.cli.render import render_answer

        render_answer(answer)
    else:
        for hit in answer.hits:
            emit(wording.plain(hit))
    if explain and not as_json:
        emit(wording.reckoning(answer))
    _summarize(session, answer, request, quiet=as_json or paths or context)
    if not no_touch:
        session.brain.used([key for hit in answer.hits for key in hit.keys])
    if not answer.hits:
        leave(1)


def text_of(query: Sequence[str]) -> str:
    """Return the query that was given, or that comes through a pipe.

    Raises:
        UsageError: there is none.

    """
    text = " ".join(query)
    if text == "-":
        text = sys.stdin.buffer.read(MAX_STDIN_CHARS * 4).decode("utf-8", "replace")[:MAX_STDIN_CHARS]
    if not text.strip():
        raise UsageError("there is nothing to search for", hint="memoria search WORDS, or - to read them from a pipe")
    return text


def _shares(split: str | None) -> Shares | None:
    """Read --split 70/30: percent for anchors and for neighbors."""
    if split is None:
        return None
    parts = split.split("/")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts) or sum(map(int, parts)) != 100:  # noqa: PLR2004
        raise UsageError(f"--split {split!r} is not two percentages", hint="write --split 70/30: anchors, neighbors")
    return Shares(int(parts[1]) / 100, least=3 if int(parts[1]) else 0)


def _requests(
    name: str, filters: Filters, budget: int | None, limit: int | None, today: date
) -> Iterator[tuple[object, Request]]:
    """Yield (id, request) of a file of queries."""
    for label, text in queries_in(name):
        yield label, Request(Query.parse(text, today), filters, budget, limit)


def queries_in(name: str) -> Iterator[tuple[object, str]]:
    """Yield (id, query) of a file of queries: JSON objects with `query` and perhaps `id`, or plain lines."""
    import json

    try:
        data = sys.stdin.buffer.read() if name == "-" else open(name, "rb").read()  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"{name} can't be read ({error.strerror})") from error
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        text, label = line.strip(), number
        if text.startswith("{"):
            try:
                record = json.loads(text)
                text, label = record["query"], record.get("id", number)
            except (ValueError, KeyError):
                raise UsageError(f'{name} line {number} is not JSON with a "query"') from None
        if isinstance(text, str) and text:
            yield label, text


def _run_batch(
    session: Session,
    requests: Iterator[tuple[object, Request]],
    mode: str,
    shares: Shares | None,
    *,
    explain: bool,
) -> None:
    brain = session.brain
    with brain.reading() as store:
        for label, request in requests:
            answer = brain.answer(store, request, mode=mode, shares=shares)
            for line in wording.json_lines(answer, explain=explain, label=label):
                emit(line)


def _say_unknown(session: Session, answer: Answer) -> None:
    for word, near in list(answer.unknown.items())[:MAX_UNKNOWN]:
        shown = word if len(word) <= MAX_UNKNOWN_CHARS else word[:MAX_UNKNOWN_CHARS] + "…"
        session.talk(f'no note has "{shown}"' + (f'; searched for "{near}" instead' if near else ""))
    if len(answer.unknown) > MAX_UNKNOWN:
        session.talk(f"no note has {len(answer.unknown) - MAX_UNKNOWN:,} more of the words")


def _summarize(session: Session, answer: Answer, request: Request, *, quiet: bool) -> None:
    if answer.hits:
        if not quiet:
            session.talk(wording.summary(answer))
    elif not answer.words and not request.query.phrases:
        session.talk("nothing found: there is no word in that")
    elif not answer.atoms:
        session.talk("nothing found: the brain is empty; memoria ingest PATH fills it")
    elif any(request.filters[:-1]) or any(request.query.filters) or request.query.phrases or request.query.excluded:
        session.talk("nothing found within these limits")
    elif not answer.unknown and not answer.idfs:
        session.talk("nothing found: these words are too common to be indexed")
    else:
        session.talk("nothing found")


def _open(answer: Answer, number: int) -> None:
    if not 1 <= number <= len(answer.hits):
        raise UsageError(f"there is no hit {number}; the search found {len(answer.hits)}")
    from memoria.cli.editor import open_hit

    open_hit(answer.hits[number - 1])
