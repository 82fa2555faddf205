"""Folding the log of uses into the store."""

import os

from memoria.scoring import DAY_SECONDS, USE_AT_BIRTH, USE_LISTED, USE_OPENED, decayed
from memoria.store import uselog
from memoria.store.dreams import DreamStore
from memoria.store.writer import StoreWriter

BOOSTS = {uselog.LISTED: USE_LISTED, uselog.OPENED: USE_OPENED}


def used(value: float, at: int, when: int, boost: float) -> float:
    """Return the use of something at the time `when`, after one more use: it fades, and grows, up to 1."""
    return min(1.0, decayed(value, (when - at) / DAY_SECONDS) + boost)


def fold_in(store: StoreWriter, path: str) -> int:
    """Fold the uses that were noted beside the store into it; return how many atoms were used.

    A log that was folded in and not removed (the process was killed in between) is not counted twice.
    """
    if not (os.path.exists(path + ".used") or os.path.exists(path + ".used.folding")):
        return 0
    aside = uselog.take(path)
    if not aside:
        return 0
    log, uses = uselog.read(aside)
    if not uses or store.meta().get("used") == log:
        uselog.drop(aside)
        return 0
    view = DreamStore(store)
    keys = {key for _, _, some in uses for key in some}
    births = view.births(keys)
    state = {key: (USE_AT_BIRTH, births[key], 0) for key in births} | view.uses(births)
    for when, what, some in sorted(uses, key=lambda use: use[0]):
        for key in some:
            if key in state:
                value, at, count = state[key]
                state[key] = (used(value, at, when, BOOSTS[what]), max(at, when), count + 1)
    view.put_uses(((key, *values) for key, values in sorted(state.items())), log)
    uselog.drop(aside)
    return len(state)
