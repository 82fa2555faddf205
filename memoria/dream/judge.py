"""What people think of the tags that dreams gave."""

from collections.abc import Sequence

from memoria.errors import NotFoundError
from memoria.model import source_node
from memoria.store.dreams import DreamStore
from memoria.store.writer import StoreWriter
from memoria.text import terms


def judge(store: StoreWriter, tag: str, verdict: str, sources: Sequence[int] | None, *, now: int) -> int:
    """Accept or reject a tag on these notes, or everywhere; return on how many notes that changed something.

    An accepted tag counts as one of people from now on; a rejected one never comes back.

    Raises:
        NotFoundError: no dream gave that tag, or not to that note.

    """
    view = DreamStore(store)
    given = {source for source, tags in view.tags().items() if any(name == tag for name, _, _ in tags)}
    accepted = {source for source, name, before in view.verdicts() if source and name == tag and before == "accepted"}
    everywhere = sources is None
    wanted = given | accepted if sources is None else set(sources)
    judged = sorted(wanted & (given if verdict == "accepted" else given | accepted))
    if not judged and not (everywhere and verdict == "rejected") and not (everywhere and _banned(view, tag)):
        raise NotFoundError(
            f"no dream gave #{tag} to {'that note' if not everywhere else 'any note'}",
            hint="memoria tags --by-note shows which",
        )
    verdicts = [(source, tag, verdict, now) for source in judged]
    if everywhere and (verdict == "rejected" or _banned(view, tag)):
        verdicts.append((0, tag, verdict, now))
    view.put_verdict(
        verdicts,
        gone=[(source, tag) for source in judged],
        labels=[(source_node(source), tag) for source in judged] if verdict == "accepted" else [],
        label_names=[(tag, " ".join(terms(tag)))],
    )
    return len(judged)


def _banned(view: DreamStore, tag: str) -> bool:
    return (0, tag, "rejected") in view.verdicts()
