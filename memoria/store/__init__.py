"""The brain's store: the only part that knows CozoDB."""

from memoria.store.store import Found, Seen, Shown, SourceState, Spread, Store

__all__ = ["Found", "Seen", "Shown", "SourceState", "Spread", "Store"]
