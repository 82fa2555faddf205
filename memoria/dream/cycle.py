"""One cycle of the Dreamer: the steps, the diary, and waiting for a quiet moment."""

import json
import os
import time
from collections.abc import Callable, Iterable

from memoria.dream import steps
from memoria.dream.context import Dream, Progress, StoppedError, Writing
from memoria.graph.explicit import settle
from memoria.model import DreamReport, StepReport
from memoria.store.dreams import DreamStore, Stories
from memoria.store.store import Store

STEPS = tuple(steps.STEPS)
BUSY_LOAD = 0.7  # a processor: above, the machine has other things to do
QUIET_SECONDS = 20.0  # without a write to the store
DIARY_CHANGES = 200


def dream(
    store: Store,
    writing: Writing,
    *,
    now: float,
    today: str,
    only: Iterable[str] = (),
    full: bool = False,
    progress: Progress = lambda step, done, total: None,  # noqa: ARG005
    told: Callable[[StepReport], None] = lambda report: None,  # noqa: ARG005
    stopped: Callable[[], bool] = lambda: False,
) -> DreamReport:
    """Dream once. `told` hears what each step did, as soon as it is done."""
    started = time.perf_counter()
    asked = tuple(only)
    if store.unsettled():
        with writing() as writer:
            settle(writer)
    run = Dream(DreamStore(store), writing, now=now, today=today, full=full, progress=progress, stopped=stopped)
    done: list[StepReport] = []
    interrupted = False
    try:
        for step in STEPS:
            if not asked or step in asked:
                run.check_stopped()
                done.append(steps.run(run, step, asked=step in asked))
                told(done[-1])
    except StoppedError:
        interrupted = True
    report = DreamReport(tuple(done), time.perf_counter() - started, interrupted=interrupted)
    if report.changed:
        last = run.store.diary(1)
        page = (last[0][0] + 1 if last else 1, int(now), json.dumps(diary_page(report), ensure_ascii=False))
        with writing() as writer:
            DreamStore(writer).put_stories(Stories(), diary=[page])
    return report


def diary_page(report: DreamReport) -> dict[str, object]:
    """Return what the diary keeps of a dream."""
    return {
        "seconds": round(report.seconds, 3),
        "interrupted": report.interrupted,
        "steps": [
            {
                "step": step.step,
                "seconds": round(step.seconds, 3),
                "notes": step.notes,
                "full": step.full,
                "added": step.added,
                "removed": step.removed,
                "text": step.text,
                "changes": list(step.changes[:DIARY_CHANGES]),
            }
            for step in report.steps
            if step.added or step.removed
        ],
    }


def wait_for_quiet(last_write: Callable[[], float], stopped: Callable[[], bool], *, now: Callable[[], float]) -> bool:
    """Wait until nobody has written for a while and the machine is idle; False if it was stopped."""
    while not stopped():
        quiet_for = now() - last_write()
        if quiet_for >= QUIET_SECONDS and not busy():
            return True
        time.sleep(min(1.0, max(0.1, QUIET_SECONDS - quiet_for)))
    return False


def busy() -> bool:
    """Tell whether the machine has other things to do."""
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1) > BUSY_LOAD
    except (OSError, AttributeError):  # not known here: then it is not
        return False
