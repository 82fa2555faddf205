"""The quick lane: a search whose options are plain does not need Typer to be understood.

Anything out of the ordinary (help, completion, abbreviations, an option that is not listed here, a mistake) is left to
Typer. A test holds this table against Typer's own, and both lanes against each other on generated command lines.
"""

from typing import Any

FLAGS = {
    "--json": "as_json",
    "--strict": "strict",
    "--no-walk": "no_walk",
    "--activate": "activate",
    "--explain": "explain",
    "--context": "context",
    "--paths": "paths",
    "-0": "null",
    "--null": "null",
    "--no-dream-tags": "no_dream_tags",
    "--no-touch": "no_touch",
    "-q": "quiet",
    "--quiet": "quiet",
    "-v": "verbose",
    "--verbose": "verbose",
}
NUMBERS = {"--budget": "budget", "-b": "budget", "--limit": "limit", "-n": "limit"}
TEXTS = {"--since": "since", "--until": "until", "--split": "split"}
LISTS = {
    "--bucket": "bucket",
    "--tag": "tag",
    "--any-tag": "any_tag",
    "--not-tag": "not_tag",
    "--path": "path",
    "--source": "source",
}


def parse(argv: list[str]) -> tuple[str | None, dict[str, Any]] | None:
    """Return the brain's folder and the search's options, or None where Typer has to look."""
    brain = None
    rest = argv
    if rest[:1] == ["--brain"] and len(rest) > 1:
        brain, rest = rest[1], rest[2:]
    if rest[:1] != ["search"]:
        return None
    options: dict[str, Any] = {}
    words: list[str] = []
    given = iter(rest[1:])
    for word in given:
        if word == "--":
            words += given
        elif word == "-" or not word.startswith("-"):
            words.append(word)
        elif word in FLAGS:
            options[FLAGS[word]] = True
        else:
            name, equals, value = word.partition("=")
            if not equals:
                value = next(given, "-")
            if value.startswith("-") or (equals and not name.startswith("--")):
                return None
            if name in NUMBERS and value.isascii() and value.isdigit() and int(value) > 0:
                options[NUMBERS[name]] = int(value)
            elif name in TEXTS:
                options[TEXTS[name]] = value
            elif name in LISTS:
                options.setdefault(LISTS[name], []).append(value)
            else:
                return None
    return (brain, {"query": words, **options}) if words else None


def run(argv: list[str]) -> bool:
    """Run a plain search; False where Typer has to look."""
    from memoria import config

    if config.environment("_MEMORIA_COMPLETE"):
        return False
    parsed = parse(argv)
    if parsed is None:
        return False
    from memoria.cli.searching import run as search
    from memoria.cli.session import Session

    brain, options = parsed
    session = Session(brain).hear(quiet=options.pop("quiet", False), verbose=options.pop("verbose", False))
    search(session, options.pop("query"), **options)
    return True
