"""A search's answer in words: plain text, JSON lines, context for a language model, and the whole reckoning."""

from collections.abc import Iterator, Sequence

from memoria.model import Answer, Bridge, Hit

SCHEMA = "memoria.hit/2"
QUERY_SCHEMA = "memoria.query/1"

_SHOWN_BRIDGES = 3


def plain(hit: Hit) -> str:
    """Return a hit as plain text: what the terminal shows, without decoration."""
    labels = labels_in_words(hit.buckets, hit.tags, hit.dream_tags)
    notes = "".join([" (cut)" if hit.cut else "", " (changed since ingest)" if hit.stale else ""])
    via = f"   {via_sentence(hit)}\n" if hit.role == "neighbor" else ""
    return (
        f"{hit.rank}. {' > '.join([hit.title, *hit.heading])}\n"
        f"   {hit.path}:{hit.line}  {labels}  {hit.score:.2f}  {hit.key}{notes}\n{via}"
        + "".join(f"   {line}\n" if line.strip() else "\n" for line in hit.content.split("\n"))
    )


def labels_in_words(buckets: Sequence[str], tags: Sequence[str], dream_tags: Sequence[str]) -> str:
    """Return labels as people write them; the tags of dreams have a mark of their own."""
    return " ".join(
        [*(f"@{name}" for name in buckets), *(f"#{name}" for name in tags), *(f"~#{name}" for name in dream_tags)]
    )


def via_sentence(hit: Hit) -> str:
    """Return how a neighbor was reached: "via #tag, [[Title]] from KEY"."""
    names = ", ".join(bridge_name(bridge) for bridge in hit.why.bridges[:_SHOWN_BRIDGES])
    return f"via {names} from {hit.why.anchor_key}"


def bridge_name(bridge: Bridge) -> str:
    """Return a bridge as people write it."""
    if bridge.kind == "tag":
        return f"#{bridge.name}"
    if bridge.kind == "bucket":
        return f"@{bridge.name}"
    if bridge.kind == "title":
        return f"[[{bridge.name}]]"
    if bridge.kind == "backlink":
        return f"a link to [[{bridge.name}]]"
    if bridge.kind == "trail":
        return f"a trail ({bridge.name})"
    return f'"{bridge.name}"'


def summary(answer: Answer) -> str:
    """Return a search in one line."""
    chars = sum(len(hit.content) for hit in answer.hits)
    reached = sum(hit.role == "neighbor" for hit in answer.hits)
    more = f", {reached} by association" if reached else ""
    matching = f"{counted(answer.found, 'atom')} {'matches' if answer.found == 1 else 'match'}"
    return f"{counted(len(answer.hits), 'hit')}{more}, {counted(chars, 'character')}; {matching}"


def counted(count: int, noun: str) -> str:
    """Return a number and what it counts."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def json_lines(answer: Answer, *, explain: bool, label: object = None) -> Iterator[str]:
    """Yield the answer as the JSON contract has it (docs/json.md)."""
    import json

    batch = {} if label is None else {"query_id": label}
    for hit in answer.hits:
        yield json.dumps({"type": "hit", "schema": SCHEMA, **batch, **_record(hit)}, ensure_ascii=False)
    if explain:
        yield json.dumps(
            {"type": "query", "schema": QUERY_SCHEMA, **batch, **_query_record(answer)}, ensure_ascii=False
        )


def _record(hit: Hit) -> dict[str, object]:
    record: dict[str, object] = hit._asdict()
    record["score"] = round(hit.score, 6)
    why = hit.why
    record["why"] = {
        "anchor": round(why.anchor, 6),
        "neighbor": round(why.neighbor, 6),
        "words": {term: round(part, 6) for term, part in why.words.items()},
        "labels": why.labels,
        "speaker": why.speaker,
        "title": round(why.title, 6),
        "best": round(why.best, 6),
        "via": via_sentence(hit) if why.bridges else None,
        "bridges": [
            {"kind": bridge.kind, "name": bridge.name, "weight": round(bridge.weight, 6)} for bridge in why.bridges
        ],
        "from": why.anchor_key or None,
    }
    return record


def _query_record(answer: Answer) -> dict[str, object]:
    return {
        "words": {term: {"df": answer.holding[term], "idf": round(value, 6)} for term, value in answer.idfs.items()},
        "unknown": answer.near,
        "bridges": [
            {"kind": bridge.kind, "name": bridge.name, "weight": round(bridge.weight, 6)} for bridge in answer.bridges
        ],
        "matching": answer.found,
        "reached": answer.neighbors,
        "atoms": answer.atoms,
        "budget": answer.budget,
        "used": answer.used,
        "used_by_neighbors": answer.used_by_neighbors,
    }


def reckoning(answer: Answer) -> str:
    """Return the whole reckoning of a query."""
    lines = ["", "words, with how many atoms have them and how rare that makes them:"]
    lines += (
        f"  {term:<20} {answer.holding[term]:>7,}  {value:6.3f}"
        for term, value in sorted(answer.idfs.items(), key=lambda item: -item[1])
    )
    for word, near in answer.near.items():
        instead = ", ".join(f"{term} (x {weight})" for term, weight in near.items()) or "nothing"
        lines.append(f"  {word!r} is in no atom; asked for instead: {instead}")
    if answer.bridges:
        lines.append("bridges from the best anchors, with what they lend at the most:")
        lines += (f"  {bridge_name(bridge):<40} {bridge.weight:6.3f}" for bridge in answer.bridges)
    lines.append("hits: score = anchor + neighbor; anchor = (words x labels x speaker + title) / best")
    for hit in answer.hits:
        why = hit.why
        words = " + ".join(f"{term} {part:.2f}" for term, part in why.words.items()) or "0"
        lines.append(
            f"  {hit.rank}. {hit.key} {hit.score:.3f} = {why.anchor:.3f} + {why.neighbor:.3f}; "
            f"(({words}) x {why.labels:g} x {why.speaker:g} + {why.title:.2f}) / {why.best:.2f}"
            + (f"; {via_sentence(hit)}" if why.bridges else "")
        )
    total = f" of {answer.budget:,}" if answer.budget else ""
    lines.append(
        f"characters: {answer.used:,}{total}, {answer.used_by_neighbors:,} of them by neighbors; "
        f"{answer.found:,} atoms match, {answer.neighbors:,} more are reached, of {answer.atoms:,}"
    )
    return "\n".join(lines)


def as_context(hits: Sequence[Hit]) -> str:
    """Return hits as markdown for a language model: source headings, citations, text."""
    return "\n\n".join(_context_head(hit) + hit.content for hit in hits)


def context_overhead(hit: Hit) -> int:
    """Return how many characters stand around a hit's text there."""
    return len(_context_head(hit)) + len("\n\n")


def _context_head(hit: Hit) -> str:
    return f"## {' > '.join([hit.title, *hit.heading])}\n{hit.path}:{hit.line}\n\n"
