"""The brain's store: the only part that knows CozoDB."""

from memoria.store.store import Content, Found, Seen, Shown, SourceState, Store

__all__ = ["Content", "Found", "Seen", "Shown", "SourceState", "Store"]
