"""What follows from changed notes, once they are in the store: facts, and edges."""

from memoria.graph import explicit, facts
from memoria.store.writer import StoreWriter


def settle(store: StoreWriter, now: int) -> None:
    """Settle all that is unsettled: a killed writer's notes, too. Done twice, it changes nothing."""
    pending = store.unsettled()
    if pending:
        facts.settle(store, pending, now)
        explicit.settle(store)
