"""Where the brain is and how it is set: flags, then MEMORIA_*, then memoria.toml, then defaults.

The only reader of the environment.
"""

import math
import os
from contextlib import suppress
from typing import Any, NamedTuple

from memoria.errors import ConfigError, UsageError

CONFIG_NAME = "memoria.toml"
STORE_NAME = "brain.db"
MIRROR_NAME = "mirrored_brain"
MIRROR_MARKER = ".memoria-mirror"  # in a mirror's folder: what it holds; and nobody takes it for notes


class Setting(NamedTuple):
    """One thing that can be set."""

    default: Any
    about: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()


# Every setting stands here once: `config list` prints this table, and docs/configuration.md is checked against it.
SETTINGS: dict[str, Setting] = {
    "search.budget": Setting(4_000, "characters of text that a search returns", 1),
    "bm25.k1": Setting(1.5, "how soon a repeated word stops counting", 0),
    "bm25.b": Setting(0.75, "how much a long atom is held back, 0 to 1", 0, 1),
    # A constant, so that one ingest never changes another note's numbers.
    "bm25.average_length": Setting(70.0, "words of an atom that counts as neither long nor short", 1),
    "bm25.title_weight": Setting(2.0, "how many times a title's words count", 0),
    "walk.boost_labels": Setting(2.0, "factor for atoms whose tags or buckets hold a word of the query", 0),
    "walk.harvest_top": Setting(3, "anchors whose tags, links and names lead to neighbors", 1),
    "walk.ignore": Setting(("inbox", "_untagged"), "tags and buckets that lead nowhere"),
    "walk.share": Setting(0.3, "share of the budget that neighbors may use", 0),
    "activate.seeds": Setting(5, "atoms that activation begins from", 1),
    "activate.max_depth": Setting(5, "steps that a trail may have", 0),
    "activate.min_activation": Setting(0.005, "energy that a step must pass on, and more", 0),
    "activate.tag_sim_floor": Setting(0.15, "what an edge counts whose tags do not fit the query, 0 to 1", 0, 1),
    "activate.max_branches": Setting(3, "neighbors that a node passes energy on to", 1),
    "facts.hand": Setting(0.9, "how sure a fact is that was stated by hand, 0 to 1", 0, 1),
    "facts.field": Setting(0.8, "the same, of front matter and fields", 0, 1),
    "facts.relation": Setting(0.7, "the same, of relation lines", 0, 1),
    "facts.inferred": Setting(0.5, "the same, of what was inferred", 0, 1),
    "facts.single": Setting(
        (
            "status",
            "type",
            "owner",
            "state",
            "stage",
            "lead",
            "email",
            "phone",
            "birthday",
            "address",
            "employer",
        ),
        "predicates of which one fact holds at a time",
    ),
    "facts.confirm_uses": Setting(3, "uses that confirm a fact", 1),
    "recall.anchors": Setting(3, "entities that a recall begins from", 1),
    "recall.hops": Setting(2, "how far it goes from there", 1, 6),
    "recall.per_entity": Setting(10, "facts of each entity, the surest first", 1),
    "recall.facts": Setting(30, "facts in all", 1),
    "recall.cache_seconds": Setting(60.0, "how long a process remembers the answer to a query", 0),
    "ingest.extensions": Setting((".md", ".markdown", ".txt"), "endings of the files that are notes"),
    "ingest.ignore": Setting((), "patterns, as in .gitignore, that are never ingested"),
    "ingest.max_megabytes": Setting(64, "a larger file is reported and left out", 1),
    "mirror.enabled": Setting(True, "keep mirrored_brain in step with what is ingested"),  # noqa: FBT003
    "mirror.link": Setting(
        "none", "how bundles link to their notes: none, file or obsidian", choices=("none", "file", "obsidian")
    ),
    "store.wait": Setting(10.0, "seconds to wait for another writer", 0),
}


Config = dict[str, Any]  # setting -> its value, every setting present


def find_brain(flag: str | None) -> str:
    """Return the brain's folder: --brain, MEMORIA_BRAIN, the nearest parent with a memoria.toml, the user's own."""
    named = flag or os.environ.get("MEMORIA_BRAIN")
    if named:
        if any("\ud800" <= char <= "\udfff" for char in named):
            raise UsageError(f"the brain {named!a} has a name that is not UTF-8", hint="name another with --brain")
        return os.path.abspath(os.path.expanduser(named))
    try:
        folder = os.getcwd()
    except FileNotFoundError:
        folder = os.sep
    while True:
        if os.path.isfile(os.path.join(folder, CONFIG_NAME)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return user_brain()
        folder = parent


def user_brain() -> str:
    """Return the folder of the user's own brain."""
    from platformdirs import user_data_dir

    return user_data_dir("memoria", appauthor=False)


def user_state() -> str:
    """Return the folder for what a person's own programs remember of their use: the history of searches."""
    from platformdirs import user_state_dir

    return user_state_dir("memoria", appauthor=False)


def load(brain: str) -> Config:
    """Return the settings in force in `brain`.

    Raises:
        ConfigError: a setting is unknown or has an unusable value.

    """
    values = {key: setting.default for key, setting in SETTINGS.items()}
    values.update(read_file(os.path.join(brain, CONFIG_NAME)))
    for key in SETTINGS:
        name = "MEMORIA_" + key.replace(".", "_").upper()
        text = os.environ.get(name)
        if text is not None:
            values[key] = parse_value(key, text, name)
    return values


def read_file(path: str) -> dict[str, Any]:
    """Return what a memoria.toml sets, checked."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{path} can't be read ({error.strerror})") from error
    # A file of comments, as `init` makes it, needs no TOML parser: 5 ms of every search.
    if all(not line.strip() or line.lstrip().startswith(b"#") for line in data.split(b"\n")):
        return {}
    import tomllib

    try:
        loaded = tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path} line {line} is not UTF-8", hint="save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", hint="mend that line, or delete the file") from error
    found = {}
    for key, value in _flatten(loaded):
        where = f"{path} line {_line_of(data.decode('utf-8-sig'), key)}"
        found[key] = check(key, value, where)
    return found


def parse_value(key: str, text: str, where: str) -> Any:
    """Return `text` as a value of the setting `key`.

    Raises:
        ConfigError: the setting is unknown, or the text is not such a value.

    """
    setting = _known(key, where)
    value: Any = text
    if isinstance(setting.default, tuple):
        value = [part.strip() for part in text.strip("[]").replace('"', "").split(",") if part.strip()]
    elif isinstance(setting.default, bool):
        value = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)
    elif isinstance(setting.default, (int, float)):
        try:
            value = int(text.replace("_", "")) if isinstance(setting.default, int) else float(text)
        except ValueError:
            value = text
    return check(key, value, where)


def check(key: str, value: Any, where: str) -> Any:
    """Return `value` in the setting's own type.

    Raises:
        ConfigError: the setting is unknown, or can't have this value.

    """
    setting = _known(key, where)
    default = setting.default
    wanted = {bool: "true or false", int: "a whole number", float: "a number", tuple: "a list of strings"}.get(
        type(default), "text"
    )
    right = {
        bool: lambda: isinstance(value, bool),
        int: lambda: isinstance(value, int) and not isinstance(value, bool),
        float: lambda: isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value),
        tuple: lambda: isinstance(value, list) and all(isinstance(item, str) for item in value),
        str: lambda: isinstance(value, str),
    }[type(default)]()
    if not right:
        raise ConfigError(f"{where}: {key} must be {wanted}, not {value!r}")
    if setting.least is not None and value < setting.least:
        raise ConfigError(f"{where}: {key} must be at least {setting.least:g}, not {value!r}")
    if setting.most is not None and value > setting.most:
        raise ConfigError(f"{where}: {key} must be at most {setting.most:g}, not {value!r}")
    if setting.choices and value not in setting.choices:
        raise ConfigError(f"{where}: {key} must be one of {', '.join(setting.choices)}, not {value!r}")
    return type(default)(value)


def _known(key: str, where: str) -> Setting:
    setting = SETTINGS.get(key)
    if setting is None:
        from difflib import get_close_matches

        near = get_close_matches(key, SETTINGS, 1)
        raise ConfigError(
            f"{where}: there is no setting {key!r}",
            hint=f"did you mean {near[0]}?" if near else "memoria config list names them all",
        )
    return setting


def _flatten(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = prefix + name
        if isinstance(value, dict) and key not in SETTINGS:
            found += _flatten(value, key + ".") or [(key, value)]
        else:
            found.append((key, value))
    return found


def _line_of(text: str, key: str) -> int:
    section, _, name = key.rpartition(".")
    here = ""
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith("["):
            here = bare.strip("[] ")
        name_here = bare.split("=")[0].replace('"', "").replace("'", "").strip()
        full = f"{here}.{name_here}" if here else name_here
        if full == key or (here == key and bare.startswith("[")):
            return number
    return next((n for n, line in enumerate(text.split("\n"), 1) if (name or section) in line), 1)


def set_value(brain: str, key: str, text: str) -> Any:
    """Write one setting into memoria.toml and return its value; everything else in the file stays set."""
    import tomllib

    import tomli_w

    value = parse_value(key, text, "config set")
    path = os.path.join(brain, CONFIG_NAME)
    read_file(path)  # an unusable file is not written over
    try:
        with open(path, "rb") as file:
            old = file.read().decode("utf-8-sig")
    except FileNotFoundError:
        old = ""
    table: dict[str, Any] = tomllib.loads(old)
    section, _, name = key.rpartition(".")
    table.setdefault(section, {})[name] = list(value) if isinstance(value, tuple) else value
    head = "".join(line + "\n" for line in old.split("\n") if line.startswith("#"))
    try:
        os.makedirs(brain, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{brain} can't be made ({error.strerror})", hint="name another place with --brain") from error
    write_whole(path, head + ("\n" if head else "") + tomli_w.dumps(table))
    return value


def template() -> str:
    """Return a memoria.toml that sets nothing and names everything."""
    lines = ["# memoria.toml: take the # off a line to change it. `memoria config list` shows what is in force."]
    section = ""
    for key, setting in SETTINGS.items():
        table, _, name = key.rpartition(".")
        if table != section:
            section = table
            lines.append(f"\n# [{table}]")
        value = list(setting.default) if isinstance(setting.default, tuple) else setting.default
        shown = str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
        lines.append(f"# {name} = {shown}  # {setting.about}")
    return "\n".join(lines) + "\n"


def shown(value: Any) -> str:
    """Return a value as people write it."""
    if isinstance(value, (list, tuple)):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_whole(path: str, text: str) -> None:
    """Write a file so that it is never half there."""
    draft = f"{path}.{os.getpid()}.new"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            os.remove(draft)
        raise UsageError(f"{path} can't be written ({error.strerror})") from error


def environment(name: str) -> str:
    """Return a variable of the environment, or ""."""
    return os.environ.get(name, "")
