"""How names in running text are kept: by hash, and speakers as terms of their own."""

from _blake2 import blake2b  # what hashlib gives, without the OpenSSL that importing hashlib loads
from functools import lru_cache

from memoria.text import phrase_keys

MENTION_BUCKETS = 1_024
SPEAKER = ">"  # begins the terms by which a chat turn's speaker is found; no word of a text begins so


def phrase_hash(key: str) -> int:
    """Return the number under which a phrase is kept."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")


@lru_cache(maxsize=50_000)
def phrase_hashes(phrase: str) -> tuple[int, ...]:
    """Return the numbers of a phrase and of the phrases inside it; a vault names the same things again and again."""
    return tuple(map(phrase_hash, phrase_keys(phrase)))
