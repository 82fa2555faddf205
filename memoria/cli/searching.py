"""The search command without its parser: shared by Typer's lane and the quick one."""

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from memoria.cli import wording
from memoria.cli.boundary import emit, leave
from memoria.cli.session import Session, decorated, on_terminal
from memoria.errors import UsageError
from memoria.model import Answer
from memoria.retrieve.budget import Shares
from memoria.retrieve.filters import Filters, parse_day
from memoria.retrieve.query import MAX_WORDS, Query
from memoria.retrieve.walker import Request
from memoria.store import Store
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
    activate: bool = False,
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
    day = today()
    filters = Filters(
        buckets=tuple(bucket),
        tags=tuple(tag),
        any_tags=tuple(any_tag),
        not_tags=tuple(not_tag),
        paths=tuple(path),
        sources=tuple(source),
        since=parse_day(since, day) if since else None,
        until=parse_day(until, day, end=True) if until else None,
        no_dream_tags=no_dream_tags,
    )
    if strict + no_walk + activate > 1:
        raise UsageError("--strict, --no-walk and --activate are different ways to search: choose one")
    how = _How(
        filters=filters,
        mode="strict" if strict else "no-walk" if no_walk else "activate" if activate else "walk",
        shares=_shares(split),
        budget=budget,
        limit=limit,
        explain=explain,
        context=context,
        as_json=as_json,
        paths=paths,
        null=null,
        dream_tags=not no_dream_tags,
        touch=not no_touch,
    )
    if batch is not None:
        if query or open_hit is not None or context or paths:
            raise UsageError("--batch reads the queries from a file, and answers in JSON lines")
        _run_batch(session, batch, how)
        return
    if not query and open_hit is None and sys.stdin and on_terminal(sys.stdin) and on_terminal():
        from memoria.cli.prompt import converse

        converse(
            session,
            lambda store, text: _ask(session, store, text, how),
            lambda answer, number: _open(session, answer, number, how),
        )
        return
    text = text_of(query, "memoria search WORDS, or - to read them from a pipe")
    with session.brain.reading() as store:
        answer = _ask(session, store, text, how, show=open_hit is None)
    if open_hit is not None:
        _open(session, answer, open_hit, how)
    elif not answer.hits:
        leave(1)


class _How(NamedTuple):
    """How to search and what to print, for one query or many."""

    filters: Filters
    mode: str
    shares: Shares | None
    budget: int | None
    limit: int | None
    explain: bool
    context: bool
    as_json: bool
    paths: bool
    null: bool
    dream_tags: bool
    touch: bool  # whether the use of what is found is remembered

    def request(self, text: str) -> Request:
        overhead = wording.context_overhead if self.context else None
        return Request(Query.parse(text, today()), self.filters, self.budget, self.limit, overhead)


def _ask(session: Session, store: Store, text: str, how: _How, *, show: bool = True) -> Answer:
    """Answer one query, and print the answer."""
    request = how.request(text)
    answer = session.brain.answer(store, request, mode=how.mode, shares=how.shares)
    if not how.dream_tags:
        answer = answer._replace(hits=tuple(hit._replace(dream_tags=()) for hit in answer.hits))
    if len(text) > MAX_WORDS and len(raw_words(text)) > MAX_WORDS:
        session.talk(f"only the first {MAX_WORDS:,} words of the query count")
    say_unknown(session, answer)
    if show:
        _show(answer, how)
        _summarize(session, answer, request, quiet=how.as_json or how.paths or how.context)
        if how.touch:
            session.brain.used([key for hit in answer.hits for key in hit.keys])
    return answer


def _show(answer: Answer, how: _How) -> None:
    if how.as_json:
        for line in wording.json_lines(answer, explain=how.explain):
            emit(line)
    elif how.paths:
        end = "\0" if how.null else "\n"
        for name in dict.fromkeys(hit.path for hit in answer.hits):
            sys.stdout.write(name + end)
    elif how.context:
        emit(wording.as_context(answer.hits))
    elif decorated():
        from memoria.cli.render import render_answer

        render_answer(answer)
    else:
        for hit in answer.hits:
            emit(wording.plain(hit))
    if how.explain and not how.as_json:
        emit(wording.reckoning(answer))


def today() -> date:
    """Return the user's own day."""
    return datetime.now(UTC).astimezone().date()


def text_of(query: Sequence[str], hint: str) -> str:
    """Return what was asked for; - reads it from a pipe.

    Raises:
        UsageError: it is nothing.

    """
    text = " ".join(query)
    if text == "-":
        text = sys.stdin.buffer.read(MAX_STDIN_CHARS * 4).decode("utf-8", "replace")[:MAX_STDIN_CHARS]
    if not text.strip():
        raise UsageError("there is nothing to search for", hint=hint)
    return text


def _shares(split: str | None) -> Shares | None:
    """Read --split 70/30: percent for anchors and for neighbors."""
    if split is None:
        return None
    parts = split.split("/")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts) or sum(map(int, parts)) != 100:  # noqa: PLR2004
        raise UsageError(f"--split {split!r} is not two percentages", hint="write --split 70/30: anchors, neighbors")
    return Shares(int(parts[1]) / 100, least=3 if int(parts[1]) else 0)


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


def _run_batch(session: Session, name: str, how: _How) -> None:
    brain = session.brain
    with brain.reading() as store:
        for label, text in queries_in(name):
            answer = brain.answer(store, how.request(text), mode=how.mode, shares=how.shares)
            for line in wording.json_lines(answer, explain=how.explain, label=label):
                emit(line)


def say_unknown(session: Session, answer: Answer) -> None:
    """Tell which words no note has."""
    for word, near in list(answer.unknown.items())[:MAX_UNKNOWN]:
        shown = word if len(word) <= MAX_UNKNOWN_CHARS else word[:MAX_UNKNOWN_CHARS] + "…"
        session.talk(f'no note has "{shown}"' + (f'; searched for "{near}" instead' if near else ""))
    if len(answer.unknown) > MAX_UNKNOWN:
        session.talk(f"no note has {len(answer.unknown) - MAX_UNKNOWN:,} more of the words")


def _summarize(session: Session, answer: Answer, request: Request, *, quiet: bool) -> None:
    if answer.hits:
        if not quiet:
            session.talk(wording.summary(answer))
    else:
        say_nothing_found(session, answer, request.query, request.filters)


def say_nothing_found(session: Session, answer: Answer, query: Query, filters: Filters | None = None) -> None:
    """Tell why nothing was found."""
    if not answer.words and not query.phrases:
        session.talk("nothing found: there is no word in that")
    elif not answer.atoms:
        session.talk("nothing found: the brain is empty; memoria ingest PATH fills it")
    elif any((filters or ())[:-1]) or any(query.filters) or query.phrases or query.excluded:
        session.talk("nothing found within these limits")
    elif not answer.unknown and not answer.idfs:
        session.talk("nothing found: these words are too common to be indexed")
    else:
        session.talk("nothing found")


def _open(session: Session, answer: Answer, number: int, how: _How) -> None:
    if not 1 <= number <= len(answer.hits):
        raise UsageError(f"there is no hit {number}; the search found {len(answer.hits)}")
    from memoria.cli.editor import open_hit

    open_hit(answer.hits[number - 1])
    if how.touch:
        session.brain.used(answer.hits[number - 1].keys, opened=True)
