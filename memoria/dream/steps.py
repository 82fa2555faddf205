"""The steps of a dream, in order."""

import time
from collections.abc import Callable

from memoria.dream.context import Dream
from memoria.dream.edge_step import dream_edges, dream_salience
from memoria.dream.mention_step import dream_mentions
from memoria.dream.story_step import dream_duplicates, dream_index, dream_storylines
from memoria.dream.tag_step import dream_tags
from memoria.model import StepReport

STEPS: dict[str, Callable[[Dream], StepReport]] = {
    "tags": dream_tags,
    "mentions": dream_mentions,
    "edges": dream_edges,
    "salience": dream_salience,
    "storylines": dream_storylines,
    "duplicates": dream_duplicates,
    "index": dream_index,
}
ONLY_FULL = ("salience", "duplicates")  # of a whole brain: they wait for a full dream, unless they are asked for


def run(dream: Dream, step: str, *, asked: bool) -> StepReport:
    """Run a step; `asked` where it was named."""
    if step in ONLY_FULL and not (dream.ran_full or asked):
        return StepReport(step)
    started = time.perf_counter()
    report = STEPS[step](dream)
    return report._replace(seconds=time.perf_counter() - started)
