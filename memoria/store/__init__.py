"""The brain's store: the only part that knows CozoDB."""

from memoria.store.store import Content, Found, Seen, Shown, SourceState, Spread, Store

__all__ = ["Content", "Found", "Seen", "Shown", "SourceState", "Spread", "Store"]
