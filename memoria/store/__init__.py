"""The brain's store: the only part that knows CozoDB."""

from memoria.store.store import Found, Shown, SourceState, Store

__all__ = ["Found", "Shown", "SourceState", "Store"]
