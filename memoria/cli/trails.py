"""Trails in words and pictures: a tree, JSON lines, context for a language model, Mermaid, JSON Canvas."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memoria.cli.session import harmless, shown_path
from memoria.model import Activation, Spot, Step

SCHEMA = "memoria.activation/1"
SNIPPET = 76
_ENDS = {
    "max_depth": "as deep as it may",
    "below_threshold": "too little energy to go on",
    "dead_end": "leads nowhere else",
    "all_claimed": "others got there with more energy",
}
_WAYS = {"out": "→", "in": "←", "both": "—"}


class Branch(NamedTuple):
    """A step in a tree, with the lines drawn before it."""

    head: str  # before its own line
    below: str  # before the lines below it
    step: Step
    before: Step | None
    end: str  # why the trail ends here, in words; "" where it goes on


def branches(activation: Activation) -> Iterator[Branch]:
    """Yield the steps of a seed as a tree, the strongest branches first."""
    children: dict[int, list[int]] = {}
    for number, step in enumerate(activation.steps):
        if step.parent is not None:
            children.setdefault(step.parent, []).append(number)
    ends = {trail.steps[-1]: _ENDS[trail.end] for trail in activation.trails}

    def below(number: int, indent: str) -> Iterator[Branch]:
        mine = children.get(number, [])
        for child in mine:
            last = child == mine[-1]
            inner = indent + ("   " if last else "│  ")
            step = activation.steps[child]
            under = inner + ("│  " if child in children else "   ")
            yield Branch(
                indent + ("└─ " if last else "├─ "), under, step, activation.steps[number], ends.get(child, "")
            )
            yield from below(child, inner)

    if activation.steps:
        yield Branch("", "│  " if children else "   ", activation.steps[0], None, ends.get(0, ""))
        yield from below(0, "")


def tree(activation: Activation, *, explain: bool) -> list[str]:
    """Return a seed's trails as plain lines."""
    lines = []
    for branch in branches(activation):
        step = branch.step
        own = f"{activation.seed_rank}. " if branch.before is None else branch.head
        lines.append(f"{own}{step.energy:.3f}  {edge_words(step)}{where(step.spot)}{tag_words(step)}")
        if content := snippet(step.spot):
            lines.append(f"{branch.below}{content}")
        if explain and branch.before:
            lines.append(f"{branch.below}{factors(branch)}")
        if branch.end:
            lines.append(f"{branch.below}({branch.end})")
    return [harmless(line).rstrip() for line in lines]


def edge_words(step: Step) -> str:
    """Return over what an edge led here, with a mark of its direction; "" for a seed."""
    if not step.kind:
        return ""
    kind = f"{step.kind} {step.type}" if step.type else step.kind
    return f"{kind} {_WAYS.get(step.way, '→')} "


def tag_words(step: Step) -> str:
    """Return the tags of an edge."""
    return "".join(f"  #{tag}" for tag in step.tags)


def where(spot: Spot) -> str:
    """Return what a node is called, and where it stands."""
    if spot.what == "entity":
        return f"{spot.title}  ({spot.content})  {spot.key}"
    name = " > ".join([spot.title, *spot.heading])
    if spot.what == "note":
        return f"{name}  {shown_path(spot.path)}"
    return f"{name}  {shown_path(spot.path)}:{spot.line}  {spot.key}"


def snippet(spot: Spot, most: int = SNIPPET) -> str:
    """Return the beginning of a node's text on one line."""
    if spot.what == "entity":
        return ""
    text = " ".join(spot.content.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def factors(branch: Branch) -> str:
    """Return how a step's energy came about."""
    step = branch.step
    before = branch.before.energy if branch.before else 0.0
    return (
        f"{step.energy:.6f} = {before:.6f} * weight {step.weight:.3f} / sqrt(degree {step.degree}) "
        f"* tag_sim {step.tag_sim:.3f}"
    )


def json_line(activation: Activation, tags: Sequence[str]) -> str:
    """Return what a seed activated as the JSON contract has it (docs/json.md)."""
    import json

    record = {
        "type": "activation",
        "schema": SCHEMA,
        "seed_rank": activation.seed_rank,
        "seed": activation.name,
        "energy": activation.energy,
        "query_tags": list(tags),
        "end": activation.end,
        "problem": activation.problem or None,
        "trails": [
            {
                "end": trail.end,
                "energy": activation.steps[trail.steps[-1]].energy,
                "steps": [_step_record(activation.steps[number]) for number in trail.steps],
            }
            for trail in activation.trails
        ],
        "capped": [{**_spot_record(hub.spot), "read": hub.read, "degree": hub.degree} for hub in activation.capped],
    }
    return json.dumps(record, ensure_ascii=False)


def _step_record(step: Step) -> dict[str, object]:
    return {
        "depth": step.depth,
        **_spot_record(step.spot),
        "energy": step.energy,
        "weight": step.weight,
        "degree": step.degree,
        "tag_sim": step.tag_sim,
        "kind": step.kind or None,
        "relation": step.type,
        "way": step.way or None,
        "tags": list(step.tags),
    }


def _spot_record(spot: Spot) -> dict[str, object]:
    return {
        "what": spot.what,
        "key": spot.key or None,
        "path": spot.path or None,
        "relpath": spot.relpath or None,
        "line": spot.line,
        "title": spot.title,
        "heading": list(spot.heading),
        "content": None if spot.what == "entity" else spot.content,
    }


def as_context(found: Sequence[Activation], budget: int) -> str:
    """Return the atoms of all trails as markdown for a language model, the most energy first, each once."""
    from memoria.retrieve.budget import Ranked, Shares, fit

    best: dict[tuple[str, int | None, str], tuple[float, Spot]] = {}
    for step in (step for one in found for step in one.steps if step.spot.content and step.spot.what != "entity"):
        place = (step.spot.path, step.spot.line, step.spot.content)
        if place not in best or best[place][0] < step.energy:
            best[place] = (step.energy, step.spot)
    ranked = sorted(best.items(), key=lambda item: (-item[1][0], item[0][0], item[0][1] or 0))
    spots = [spot for _, (_, spot) in ranked]
    heads = [f"## {' > '.join([spot.title, *spot.heading])}\n{spot.path}:{spot.line}\n\n" for spot in spots]
    fitted = fit(
        (Ranked(place, energy, neighbor=False) for place, (_, (energy, _)) in enumerate(ranked)),
        lambda place: spots[place].content,
        lambda _place, _others: False,
        budget=budget,
        limit=None,
        shares=Shares(),
        overhead=lambda place: len(heads[place]),
    )
    return "\n\n".join(
        heads[item.atom] + (fitted.cut if fitted.cut is not None else spots[item.atom].content) for item in fitted.taken
    )


def mermaid(found: Sequence[Activation]) -> str:
    """Return all trails as a Mermaid flowchart, one part for each seed."""
    lines = ["flowchart LR"]
    for one in found:
        if not one.steps:
            continue
        lines.append(f'  subgraph s{one.seed_rank}["seed {one.seed_rank}: {_mermaid_text(one.steps[0].spot.title)}"]')
        for number, step in enumerate(one.steps):
            text = _mermaid_text(_label(step.spot))
            shape = f'(["{text}"])' if step.spot.what == "entity" else f'["{text}"]'
            lines.append(f"    s{one.seed_rank}n{number}{shape}")
        for number, step in enumerate(one.steps):
            if step.parent is not None:
                label = _mermaid_text(f"{step.kind} {step.energy:.3f}")
                lines.append(f'    s{one.seed_rank}n{step.parent} -- "{label}" --> s{one.seed_rank}n{number}')
        lines.append("  end")
    return "\n".join(lines)


def _label(spot: Spot) -> str:
    text = snippet(spot, 60)
    return f"{spot.title}: {text}" if text else spot.title


def _mermaid_text(text: str) -> str:
    """Return text as Mermaid takes it between quotes: everything that could be markup as a character's number."""
    plain = " ".join(harmless(text).split())
    return "".join(char if char.isalnum() or char in " .,:-…" else f"#{ord(char)};" for char in plain)


_WIDTH, _HEIGHT, _ACROSS, _DOWN = 320, 140, 480, 170


def canvas(found: Sequence[Activation]) -> str:
    """Return all trails as JSON Canvas (jsoncanvas.org): a column for each depth, a row for each trail."""
    import json

    nodes: list[dict[str, object]] = []
    edges: list[dict[str, object]] = []
    top = 0
    for one in found:
        rows: dict[int, int] = {}  # step -> the row of the first trail through it
        for row, trail in enumerate(one.trails):
            for number in trail.steps:
                rows.setdefault(number, row)
        for number, step in enumerate(one.steps):
            name = f"s{one.seed_rank}n{number}"
            spot = step.spot
            place = f"{spot.relpath}:{spot.line}\n\n" if spot.relpath else ""
            node = {
                "id": name,
                "type": "text",
                "x": step.depth * _ACROSS,
                "y": top + rows[number] * _DOWN,
                "width": _WIDTH,
                "height": _HEIGHT,
                "text": f"**{spot.title}** {step.energy:.3f}\n{place}{snippet(spot, 160)}",
            }
            nodes.append(node | ({"color": "5"} if step.parent is None else {}))
            if step.parent is not None:
                edges.append(
                    {
                        "id": f"{name}e",
                        "fromNode": f"s{one.seed_rank}n{step.parent}",
                        "fromSide": "right",
                        "toNode": name,
                        "toSide": "left",
                        "label": f"{step.kind} {step.energy:.3f}",
                    }
                )
        top += (len(one.trails) + 1) * _DOWN
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent=1)
