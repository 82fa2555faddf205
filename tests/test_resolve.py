"""From what a person or a link writes to what the store knows."""

import json
from itertools import pairwise

import pytest

from memoria.links import Resolver
from memoria.model import Source
from tests.conftest import Shell


def source(number: int, relpath: str, title: str = "", aliases: tuple[str, ...] = (), root: str = "/r") -> Source:
    title = title or relpath.rsplit("/", 1)[-1].removesuffix(".md")
    return Source(
        number, f"{root}/{relpath}", root, relpath, title, aliases, "", 0, 0, None, "file", "file", "", 1, 0, 0
    )


NOTES = [
    source(1, "index.md", "Home"),
    source(2, "projects/harbor.md", "Harbor", ("The Port",)),
    source(3, "people/tomas-brandt.md", "Tomás Brandt"),
    source(4, "a/todo.md"),
    source(5, "b/todo.md"),
    source(6, "b/c/deep.md"),
    source(7, "todo.md", root="/other"),
]
RESOLVER = Resolver(NOTES)


@pytest.mark.parametrize(
    ("target", "origin", "found"),
    [
        ("harbor", 1, 2),  # file name
        ("HARBOR", 1, 2),  # whatever the case
        ("projects/harbor", 1, 2),  # path
        ("projects/harbor.md", 1, 2),
        ("../projects/harbor.md", 3, 2),  # path from the note's own folder
        ("/projects/harbor.md", 3, 2),
        ("The port", 3, 2),  # alias
        ("Tomás Brandt", 1, 3),  # title
        ("tomas brandt", 1, 3),  # accents and case
        ("todo", 4, 4),  # of several, the nearest
        ("todo", 6, 5),
        ("todo", 7, 7),
        ("a/todo", 6, 4),
        ("Home", 2, 1),
        ("nowhere", 1, None),
        ("projects/nowhere", 1, None),
        ("../../etc/passwd", 1, None),
        ("", 1, None),
    ],
)
def test_links_resolve(target: str, origin: int, found: int | None) -> None:
    resolved = RESOLVER.resolve(target, NOTES[origin - 1])
    assert (resolved.id if resolved else None) == found


def test_a_link_resolves_when_its_note_appears(shell: Shell) -> None:
    shell.write("notes/a.md", "see [[Later]]")
    shell.ok("ingest", "notes")
    (link,) = json.loads(shell.ok("show", "notes/a.md", "--json"))["links"]
    assert link == {"kind": "wikilink", "target": "Later", "path": None}
    assert "1 links lead to notes that are not there" in shell.run("doctor").out
    shell.write("notes/sub/later.md", "# Something else\n")
    shell.ok("ingest")
    (link,) = json.loads(shell.ok("show", "notes/a.md", "--json"))["links"]
    assert link["path"].endswith("sub/later.md")


def test_show_takes_a_key_its_beginning_a_path_a_title_or_an_alias(vault: Shell) -> None:
    atoms = [json.loads(line) for line in vault.ok("show", "projects/harbor.md", "--json").splitlines()]
    key = atoms[1]["key"]
    assert json.loads(vault.ok("show", key, "--json"))["content"] == atoms[1]["content"]
    assert json.loads(vault.ok("show", key[:8].upper(), "--json"))["key"] == key
    assert vault.ok("show", "Harbor", "--json") == vault.ok("show", "notes/projects/harbor.md", "--json")
    alone = vault.ok("show", key, "-C", "0")
    assert atoms[1]["content"] in alone
    assert atoms[0]["content"] not in alone
    around = vault.ok("show", key)
    assert all(atom["content"] in around for atom in atoms[:3])


def test_an_ambiguous_beginning_is_listed(shell: Shell) -> None:
    for number in range(400):
        shell.write(f"notes/{number}.md", f"note number {number}")
    shell.ok("ingest", "notes")
    keys = sorted(json.loads(line)["key"] for line in shell.ok("search", "note", "-n", "400", "--json").splitlines())
    prefix = next((a[:4] for a, b in pairwise(keys) if a[:4] == b[:4]), None)
    if prefix is None:
        pytest.skip("no two keys begin alike")
    ran = shell.run("show", prefix)
    assert ran.code == 1
    assert f"'{prefix}' fits 2 things" in ran.err
    assert "note number" in ran.err


def test_an_unknown_name_is_told_with_near_ones(vault: Shell) -> None:
    ran = vault.run("show", "Harbor plans")
    assert ran.code == 1
    assert "nothing is called 'Harbor plans'" in ran.err
    assert "Harbor" in ran.err.split("did you mean")[1]
