"""The mirror: what it holds, that a sync equals a rebuild, and that nothing of anybody else's is in danger."""

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memoria import config
from memoria.brain import Brain
from memoria.config import MIRROR_MARKER
from memoria.ingest import Given
from memoria.mirror import ExtraPage, Mirror, Settings
from memoria.mirror.body import guarded, plain, snippet
from memoria.mirror.manifest import Manifest
from memoria.mirror.names import bundle_name, folder_of, index_path, name_of
from memoria.mirror.navigation import canvas
from memoria.model import Label, source_node
from tests.conftest import CHECKOUT, NOTES, Shell

# Names

AWKWARD = ["", ".", "..", "../../x", "/etc/passwd", "CON", "con.txt", "a/b", "a_b", "a:b", "a?b", "日本", "中国",
           "Rust", "rust", "nul", "straße", "strasse", "x.md", "name.", " name ", "#[[x]]", "a|b^c", "e\u0301", "é",
           "_untagged",
           "x" * 400, "日" * 200, "\x00\x1b[31m", "COM1", "ﬁ", "fi", "a b", "a\u00a0b", "a//b", "con/aux"]  # fmt: skip
texts = st.one_of(st.text(max_size=40), st.sampled_from(AWKWARD))
labels = st.one_of(
    texts, st.text(alphabet="ab./_:AÄäß#-", min_size=1, max_size=12), st.lists(texts, max_size=3).map("/".join)
)
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def is_portable(part: str) -> bool:
    return (
        0 < len(part.encode()) <= 130
        and part not in (".", "..")
        and not part.endswith((".", " "))
        and not part.startswith((".", " "))
        and not RESERVED.match(part)
        and not re.search(r"[\x00-\x1f<>:\"\\|?*\[\]^]", part)
    )


@given(labels, labels, texts)
def test_every_name_is_one_that_every_disk_takes(bucket: str, tag: str, title: str) -> None:
    path = f"{folder_of(bucket, tag)}/{bundle_name(title, 'seed', bucket, tag)}.md"
    parts = path.split("/")
    assert parts[0].startswith("@")
    assert parts[1].startswith("#")
    assert all(map(is_portable, parts))
    assert not any("#" in part for part in parts[2:])
    assert len(os.fsencode(folder_of(bucket, tag))) < 400
    assert is_portable(index_path("tag", tag).rsplit("/", 1)[1])


@given(labels, labels, labels, labels)
def test_different_labels_have_different_folders_even_where_case_does_not_count(a: str, b: str, c: str, d: str) -> None:
    one, other = folder_of(a, b), folder_of(c, d)
    assert (one.casefold() == other.casefold()) == ((a, b) == (c, d))


def test_a_label_that_looks_like_the_name_of_another_is_told_apart() -> None:
    taken = folder_of("x", "a:b").split("/#")[1]
    assert folder_of("x", taken) != folder_of("x", "a:b")


@given(texts, st.tuples(labels, labels, labels), st.tuples(labels, labels, labels))
def test_a_bundle_is_called_as_no_other_is(title: str, one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    names = {bundle_name(title, *one).casefold(), bundle_name(title, *other).casefold()}
    assert len(names) == (1 if one == other else 2)


def test_letters_stay_and_accents_are_composed() -> None:
    assert name_of("Cafe\u0301 frio: 铁观音?") == "Café_frio_铁观音"
    assert len(name_of("é" * 200).encode()) == 100
    assert folder_of("work", "project/harbor") == "@work/#project/harbor"


# Bodies

MARKS = ["#", "# h", "---", "***", "===", "```", "~~~", "````py", "> ", "- ", "1. ", "    ", "\n", "\n\n", "[[", "]]",
         "[[a]]", "[[a|b]]", "![[a#b]]", "[t](a.md)", "[t](https://x.org)", "[a]: b.md", "`", "``", "\\", "|", "|---|",
         "^key", " ^abc", "%%", "$$", "<!--", "-->", "<script>", "<pre>", "</pre>", "text", "*", "_", "\t", "\r", "$",
         "[", "]", "(", "<details>"]  # fmt: skip
bodies = st.lists(st.sampled_from(MARKS), max_size=14).map("".join)
KINDS = st.sampled_from(["text", "code", "table", "turn", "heading", "properties"])
PARSER = MarkdownIt("commonmark").enable("table")
ESCAPES = MarkdownIt("commonmark").disable("text_join")


def on_a_page(*written: str) -> str:
    parts = [f"## [{'ab' * 6}] x\n\n`a.md:1` ^{'ab' * 6}\n\n{body}" for body in written]
    return "# T\n\nway\n\n" + "\n\n---\n\n".join(parts) + "\n\n---\n\n## [end] x\n"


@given(bodies, KINDS)
@settings(max_examples=400)
def test_no_body_breaks_the_page(body: str, kind: str) -> None:
    page = on_a_page(guarded(body, kind, lambda _: ""), "plain")
    tokens = PARSER.parse(page)
    tops = [token.tag for token in tokens if token.type == "heading_open" and token.level == 0]
    assert [tag for tag in tops if tag in ("h1", "h2")] == ["h1", "h2", "h2", "h2"]
    assert sum(token.type == "hr" for token in tokens) == 2
    outside_code = re.sub(r"(`+)(?!`)[^\n]+?(?<!`)\1(?!`)", "", guarded(body, kind, lambda _: ""))
    if not outside_code.startswith(("`", "~")):
        assert not re.search(r"(?<![A-Za-z0-9`])\^abc$", outside_code.replace("\\^", ""), re.MULTILINE)


def wikilinks(text: str) -> list[str]:
    """Return the targets of the links that Obsidian sees: not in code, not escaped."""
    found = []
    for token in ESCAPES.parse(text):
        shown = "".join(
            "\0" if child.type == "text_special" else child.content if child.type == "text" else "\1"
            for child in token.children or ()
        )
        found += re.findall(r"\[\[([^\[\]|\0]+)[^\[\]\0]*\]\]", shown)
    return found


@given(bodies)
@settings(max_examples=400)
def test_a_click_never_makes_a_stray_note(body: str) -> None:
    shown = guarded(body, "text", lambda _: "")
    assert not wikilinks(shown)
    for token in PARSER.parse(shown):
        for child in token.children or ():
            assert child.type != "link_open" or str(child.attrs["href"]).startswith("https:")


@given(bodies)
def test_only_links_to_bundles_are_made(body: str) -> None:
    assert set(wikilinks(guarded(body, "text", lambda _: "Bundle_1"))) <= {"Bundle_1"}


def test_links_lead_to_bundles() -> None:
    known = {"harbor": "Harbor_1", "notes/sea.md": "Sea_2"}
    text = (
        "[[harbor]], [[harbor#Plan|the plan]], ![[harbor]], [sea](notes/sea.md#x), [[none]], ![i](i.png), `[[harbor]]`"
    )
    assert guarded(text, "text", lambda name: known.get(name, "")) == (
        "[[Harbor_1|harbor]], [[Harbor_1|the plan]], [[Harbor_1|harbor]], [[Sea_2|sea]], none, i, `[[harbor]]`"
    )
    assert guarded("| [[harbor\\|h]] |", "table", lambda name: known.get(name, "")) == "| [[Harbor_1\\|h]] |"


def test_what_a_body_says_stays_readable() -> None:
    assert guarded("# One\n\ntext", "text", str) == "### One\n\ntext"
    assert guarded("```py\nx = 1\n```", "code", str) == "```py\nx = 1\n```"
    assert guarded("    indented", "code", str) == "```\n    indented\n```"
    assert guarded("> ```\n> x\nafter\n```", "code", str).startswith("````\n")
    assert guarded("a <!-- b --> c", "text", str) == "a <!-- b --> c"


@given(st.one_of(bodies, st.text()))
def test_snippets_and_titles_are_one_harmless_line(text: str) -> None:
    for line in (snippet(text), plain(text)):
        assert "\n" not in line
        assert not re.search(r"\[\[|\]\]|%%|\$\$|[#^|<>`]", line)
    assert len(snippet(text)) <= 73


# What is mirrored


def tree(folder: Path) -> dict[str, bytes]:
    """Return all files that are not hidden."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(".")
    }


def mirrored(shell: Shell) -> Path:
    return shell.brain / "mirrored_brain"


def properties(data: bytes) -> dict[str, Any]:
    loaded = yaml.safe_load(data.decode().split("---\n")[1])
    assert isinstance(loaded, dict)
    return loaded


def bundles(folder: Path) -> dict[str, bytes]:
    return {path: data for path, data in tree(folder).items() if path.startswith("@")}


def test_the_example_is_what_the_sample_notes_give(vault: Shell) -> None:
    example = CHECKOUT / "mirrored_brain.example"
    assert (example / MIRROR_MARKER).exists()
    assert tree(mirrored(vault)) == tree(example), "make example rewrites it"


def test_properties_are_flat_and_true(vault: Shell) -> None:
    for path, data in bundles(mirrored(vault)).items():
        found = properties(data)
        assert {"source", "bucket", "tag", "page", "atoms", "tags"} <= found.keys()
        assert all(not isinstance(value, dict) for value in found.values())
        assert (NOTES / found["source"]).exists()
        assert path.startswith(f"{folder_of(found['bucket'], found['tag'])}/")
        keys = re.findall(r"^## \[([0-9a-f]{12})\]", data.decode(), re.MULTILINE)
        assert len(keys) == found["atoms"]
        assert all(re.search(rf"^`.*\^{key}$", data.decode(), re.MULTILINE) for key in keys)
        assert str(vault.folder) not in data.decode()


def test_every_atom_stands_under_each_of_its_buckets_and_tags_and_links_lead_somewhere(vault: Shell) -> None:
    expected: dict[str, set[tuple[str, str]]] = {}
    for source in map(json.loads, vault.ok("sources", "--json").splitlines()):
        shown = [json.loads(line) for line in vault.ok("show", source["path"], "--json").splitlines()]
        for atom in shown:
            expected[atom["key"]] = {(b, t) for b in atom["buckets"] for t in atom["tags"] or ["_untagged"]}
    found: dict[str, set[tuple[str, str]]] = {}
    pages = tree(mirrored(vault))
    names = {Path(path).name.removesuffix(".md") for path in pages}
    for path, data in pages.items():
        if path.endswith(".md"):
            text = data.decode()
            for target in re.findall(
                r"(?<!`)\[\[([^\]|\\]+)", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
            ):
                assert target in names, (path, target)
            if path.startswith("@"):
                said = properties(data)
                for key in re.findall(r"^## \[([0-9a-f]{12})\]", text, re.MULTILINE):
                    found.setdefault(key, set()).add((said["bucket"], said["tag"]))
    assert {key: places for key, places in found.items() if key in expected} == expected
    assert found.keys() == expected.keys()


def test_large_notes_have_pages(shell: Shell) -> None:
    shell.write("notes/big.md", "---\ntags: [t]\n---\n" + "\n\n".join(f"## S{n}\n\nParagraph {n}." for n in range(250)))
    shell.write("notes/wide.md", "# Wide\n\n" + "\n\n".join(f"## W{n}\n\n" + "ü" * 1900 for n in range(180)))
    shell.ok("ingest", "notes")
    pages = bundles(mirrored(shell))
    big = sorted(path for path in pages if "/big_" in path)
    assert [properties(pages[path])["atoms"] for path in big] == [100, 100, 50]
    assert re.fullmatch(r".*/big_[0-9a-f]{12}\.md", big[0])
    assert [path.rsplit("_", 1)[1] for path in big[1:]] == ["2.md", "3.md"]
    assert f"[[{Path(big[1]).stem}|next]]" in pages[big[0]].decode()
    assert f"[[{Path(big[0]).stem}|previous]]" in pages[big[1]].decode()
    wide = [data for path, data in pages.items() if "/Wide_" in path]
    assert len(wide) > 1
    assert all(len(data) <= 300_000 for data in wide)
    order = [
        number
        for path in big
        for number in map(int, re.findall(r"^Paragraph (\d+)", pages[path].decode(), re.MULTILINE))
    ]
    assert order == list(range(250))


def test_links_to_notes_are_off_unless_asked_for(shell: Shell) -> None:
    note = shell.write("notes/a b.md", "text")
    shell.ok("ingest", "notes", MEMORIA_MIRROR_LINK="file")
    assert f"(<file://{str(note).replace(' ', '%20')}>)" in "".join(
        map(bytes.decode, bundles(mirrored(shell)).values())
    )
    shell.ok("mirror", MEMORIA_MIRROR_LINK="obsidian")
    assert "(<obsidian://open?path=%2F" in "".join(map(bytes.decode, bundles(mirrored(shell)).values()))
    shell.ok("mirror")
    assert not any(str(shell.folder).encode() in data for data in tree(mirrored(shell)).values())
    assert shell.run("mirror", MEMORIA_MIRROR_LINK="web").code == 2


def test_navigation(vault: Shell) -> None:
    home = (mirrored(vault) / "Home.md").read_text()
    assert "40 notes, 213 atoms" in home
    assert "```mermaid\n" in home
    assert "Recent dreams" not in home
    loaded = json.loads((mirrored(vault) / "Tags.canvas").read_text())
    ids = {node["id"] for node in loaded["nodes"]}
    assert ids
    assert all({edge["fromNode"], edge["toNode"]} <= ids for edge in loaded["edges"])
    assert yaml.safe_load((mirrored(vault) / "Bundles.base").read_text())["views"]
    atoms: dict[str, set[str]] = {}
    for data in bundles(mirrored(vault)).values():
        keys = re.findall(r"^## \[([0-9a-f]{12})\]", data.decode(), re.MULTILINE)
        atoms.setdefault(properties(data)["tag"], set()).update(keys)
    for tag in map(json.loads, vault.ok("tags", "--json").splitlines()):
        index = (mirrored(vault) / index_path("tag", tag["name"])).read_text()
        assert properties(index.encode())["notes"] == tag["notes"]
        assert f"· {len(atoms[tag['name']])} atom" in index


# In step


def rebuilt(brain: Brain, folder: Path) -> dict[str, bytes]:
    """Return a mirror that was made from nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    brain.sync_mirror(str(folder))
    return tree(folder)


TITLES = ["Alpha", "beta", "Gamma ray", "alpha", "a/b"]
PLACES = ["a.md", "b.md", "x/a.md", "x/c d.md", "y/beta.md", "y/z/a.md"]


@st.composite
def notes(draw: st.DrawFn) -> str:
    front = ["---"]
    if title := draw(st.sampled_from(["", *TITLES])):
        front.append(f"title: {title}")
    if tags := draw(st.lists(st.sampled_from(["t", "t/u", "Ü:x", "con"]), max_size=2, unique=True)):
        front.append(f"tags: {json.dumps(tags, ensure_ascii=False)}")
    if bucket := draw(st.sampled_from(["", "", "work", "a:b"])):
        front.append(f"bucket: {json.dumps(bucket)}")
    if draw(st.booleans()):
        front.append("date: 2026-01-0" + draw(st.sampled_from("123")))
    links = draw(st.lists(st.sampled_from([*TITLES, "a", "x/a", "beta", "../a", "c d"]), max_size=2))
    body = [f"Text {draw(st.integers(0, 3))} [[{link}]] and #inline." for link in links]
    body += [f"## Head {n}\n\nMore words." for n in range(draw(st.integers(0, 2)))]
    return "\n".join([*front, "---", "", *body, ""])


edits = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(PLACES), notes()),
        st.tuples(st.just("remove"), st.sampled_from(PLACES), st.just("")),
        st.tuples(st.just("rename"), st.sampled_from(PLACES), st.sampled_from(PLACES)),
        st.tuples(st.just("dream"), st.sampled_from(PLACES), st.sampled_from(["t", "dreamy"])),
        st.tuples(st.just("wake"), st.sampled_from(PLACES), st.just("")),
        st.tuples(st.just("other root"), st.sampled_from(PLACES), notes()),
        st.tuples(st.just("spoil"), st.integers(0, 50).map(str), st.sampled_from(["edit", "delete", "empty", "touch"])),
    ),
    min_size=1,
    max_size=5,
)


def act(brain: Brain, notes: Path, what: str, name: str, value: str) -> None:
    """Do one edit, of the notes, of what the dream left, or of the mirror itself."""
    path = notes / name
    if what in ("write", "other root"):
        path = notes.parent / "other" / name if what == "other root" else path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value, encoding="utf-8")
    elif what == "remove":
        path.unlink(missing_ok=True)
    elif what == "rename" and path.exists() and name != value:
        (notes / value).parent.mkdir(parents=True, exist_ok=True)
        path.rename(notes / value)
    elif what in ("dream", "wake") and brain.exists:
        with brain.writing() as store:
            number = store.source_ids([str(path)]).get(str(path))
            if number is not None:
                place = store.outlines([number])[number][:1]
                nodes = [source_node(number), *(source_node(number) + one.ordinal for one in place)]
                batch = store.batch()
                shown, _ = store.show_source(number)
                for node in nodes[-1:]:
                    kept = [label for label in shown.labels.get(node, []) if label.origin != "dream"]
                    batch.drop_labels(node, shown.labels.get(node, []))
                    batch.put_labels(node, [*kept, *([Label("tag", value, "dream")] if what == "dream" else [])])
                links = store.links(nodes)
                store.write(batch, now=1)
                assert len(store.links(nodes)) in (0, len(links))
    elif what == "spoil":
        files = sorted((notes.parent / "brain" / "mirrored_brain").rglob("*.*"))
        files = [file for file in files if file.is_file() and not file.name.startswith(".")]
        if files:
            spoil(files[int(name) % len(files)], value)


def spoil(file: Path, how: str) -> None:
    if how == "edit":
        file.write_bytes(file.read_bytes() + b"mine")
    elif how == "delete":
        file.unlink()
    elif how == "empty":
        file.write_bytes(b"")
    else:
        os.utime(file)


@given(st.lists(edits, min_size=1, max_size=4))
@settings(max_examples=40)
def test_a_sync_equals_a_rebuild_whatever_happened(tmp_path_factory: pytest.TempPathFactory, rounds: Any) -> None:
    folder = tmp_path_factory.mktemp("vault")
    brain = Brain(str(folder / "brain"), config.load(str(folder / "brain")))
    for number, round_ in enumerate(rounds):
        (folder / "notes").mkdir(exist_ok=True)
        (folder / "other").mkdir(exist_ok=True)
        for what, name, value in round_:
            act(brain, folder / "notes", what, name, value)
        brain.ingest([str(folder / "notes"), str(folder / "other")], Given(), mirror=number % 2 == 0)
        brain.sync_mirror()
        mirror = folder / "brain" / "mirrored_brain"
        now = {path: data for path, data in tree(mirror).items() if not path.endswith(".bak")}
        assert now == rebuilt(brain, folder / "again")
        assert not brain.check_mirror()
        marker = (mirror / MIRROR_MARKER).read_bytes()
        assert brain.sync_mirror().written == 0
        assert (mirror / MIRROR_MARKER).read_bytes() == marker
    shutil.rmtree(folder)


def test_a_link_follows_its_note(shell: Shell) -> None:
    shell.write("notes/a.md", "See [[Target]].")
    shell.ok("ingest", "notes")
    page = next(iter(bundles(mirrored(shell))))
    assert b"See Target." in bundles(mirrored(shell))[page]
    shell.write("notes/b.md", "---\ntitle: Target\n---\ntext")
    shell.ok("ingest")
    first = re.search(rb"\[\[(Target_\w+)\|Target\]\]", bundles(mirrored(shell))[page])
    shell.write("notes/b.md", "---\ntitle: Target\ntags: [moved]\n---\ntext")
    shell.ok("ingest")
    second = re.search(rb"\[\[(Target_\w+)\|Target\]\]", bundles(mirrored(shell))[page])
    assert first
    assert second
    assert first[1] != second[1]
    assert any(second[1].decode() in path for path in tree(mirrored(shell)))
    (shell.folder / "notes/b.md").unlink()
    shell.ok("ingest")
    assert b"See Target." in bundles(mirrored(shell))[page]


def test_a_sync_writes_only_what_changed(vault: Shell) -> None:
    before = {path: (mirrored(vault) / path).stat().st_mtime_ns for path in tree(mirrored(vault))}
    note = vault.folder / "notes/recipes/marmelada.md"
    note.write_text(note.read_text() + "\nOne more line.\n")
    vault.ok("ingest")
    changed = [
        path for path in tree(mirrored(vault)) if (mirrored(vault) / path).stat().st_mtime_ns != before.get(path)
    ]
    assert all("Marmelada" in path or path == "Home.md" for path in changed), changed
    assert "in step" in vault.ok("mirror")


def test_every_way_in_and_out_is_followed(shell: Shell) -> None:
    shell.ok("ingest", "-", "--source", "radio", stdin="Berth 12 is closed.")
    assert any("radio_" in path for path in bundles(mirrored(shell)))
    shell.write("notes.jsonl", '{"text": "From a line", "source": "line"}\n')
    shell.ok("ingest", "--jsonl", "notes.jsonl")
    assert any("line_" in path for path in bundles(mirrored(shell)))
    shell.ok("forget", "radio", "--yes")
    assert not any("radio_" in path for path in bundles(mirrored(shell)))
    shell.ok("ingest", "-", "--source", "quiet", "--no-mirror", stdin="Unheard.")
    assert not any("quiet_" in path for path in bundles(mirrored(shell)))
    assert shell.run("mirror", "--check").code == 1
    assert "behind" in shell.ok("status")
    assert "the mirror is behind" in shell.ok("doctor")
    report = json.loads(shell.ok("mirror", "--json"))
    assert (report["schema"], report["notes"]) == ("memoria.mirror/1", 2)
    assert shell.run("mirror", "--check").code == 0
    assert "in step" in shell.ok("status")


def test_no_mirror_where_none_is_wanted(shell: Shell) -> None:
    shell.write("notes/a.md", "text")
    shell.ok("init")
    shell.ok("config", "set", "mirror.enabled", "false")
    shell.ok("ingest", "notes")
    assert not mirrored(shell).exists()
    assert "off" in shell.ok("status")


def test_the_brain_hides_store_and_mirror_from_git(shell: Shell) -> None:
    shell.ok("ingest", "-", stdin="text")
    assert (shell.brain / ".gitignore").read_text().split() == ["/brain.db*", "/mirrored_brain/"]
    own = shell.write("own/.gitignore", "mine\n")
    shell.ok("--brain", "own", "ingest", "-", stdin="text")
    assert own.read_text() == "mine\n"


# Dreams


def dream_on(shell: Shell, name: str, tag: str, *, atom: bool) -> None:
    brain = Brain(str(shell.brain), config.load(str(shell.brain)))
    with brain.writing() as store:
        number = store.source_ids([str(shell.folder / name)])[str(shell.folder / name)]
        node = source_node(number) + (store.outlines([number])[number][0].ordinal if atom else 0)
        batch = store.batch()
        batch.put_labels(node, [Label("tag", tag, "dream")])
        store.write(batch, now=1)


def test_a_dream_tag_places_what_people_left_untagged_and_links_what_they_tagged(shell: Shell) -> None:
    shell.write("notes/bare.md", "Nothing said.\n\n# Second\n\nPart.")
    shell.write("notes/tagged.md", "---\ntags: [boats]\n---\nSaid.")
    shell.ok("ingest", "notes")
    dream_on(shell, "notes/bare.md", "tide", atom=True)
    dream_on(shell, "notes/tagged.md", "tide", atom=False)
    shell.ok("mirror")
    paths = sorted(bundles(mirrored(shell)))
    assert [path.rsplit("_", 1)[0] for path in paths] == [
        "@inbox/#_untagged/Second", "@inbox/#boats/tagged", "@inbox/#tide/Second",
    ]  # fmt: skip
    page = bundles(mirrored(shell))[paths[2]].decode()
    assert "dream: tide" in page
    assert properties(page.encode())["tags"] == []
    assert properties(page.encode())["dream_tags"] == ["tide"]
    index = (mirrored(shell) / index_path("tag", "tide")).read_text()
    assert (
        f"## Dreamed\n\nNotes that have other tags; the dream found this one in them.\n\n- [[{Path(paths[1]).stem}|"
        in index
    )


def test_pages_that_others_wrote_are_part_of_it(shell: Shell) -> None:
    shell.ok("ingest", "-", stdin="text")
    brain = Brain(str(shell.brain), config.load(str(shell.brain)))
    with brain.reading() as store:
        pages = [ExtraPage("dreams/2026-01-01.md", "# First night\n"), ExtraPage("dreams/2026-01-02.md", "# Second\n")]
        options: dict[str, Any] = {"brain": brain.folder, "wait": 1}
        Mirror(brain.mirror_path, Settings(), lambda _: pages).sync(store, **options)
        home = (mirrored(shell) / "Home.md").read_text()
        assert "## Recent dreams\n\n- [[2026-01-01|First night]]\n- [[2026-01-02|Second]]" in home
        assert (mirrored(shell) / "dreams/2026-01-01.md").read_text() == "# First night\n"
        Mirror(brain.mirror_path, Settings(), lambda _: pages[1:]).sync(store, **options)
        assert not (mirrored(shell) / "dreams/2026-01-01.md").exists()
        assert Mirror(brain.mirror_path, Settings()).sync(store, **options).removed == 1
        assert "dreams" not in (mirrored(shell) / "Home.md").read_text()
        assert not (mirrored(shell) / "dreams").exists()


# Safety


def test_folders_of_others_are_refused(vault: Shell) -> None:
    vault.write("full/precious.txt", "mine")
    (vault.folder / "link").symlink_to(vault.folder / "full")
    (vault.folder / "home").mkdir(exist_ok=True)
    for folder in ("/", "~", ".", "notes", "full", "link", "brain", "full/precious.txt", str(vault.folder.parent)):
        before = {
            path: path.read_bytes() for path in vault.folder.rglob("*") if path.is_file() and "brain" not in path.parts
        }
        ran = vault.run("mirror", "--to", folder)
        assert (ran.code, "can't hold the mirror" in ran.err, ran.out) == (2, True, ""), folder
        assert before == {path: path.read_bytes() for path in before}
    vault.ok("mirror", "--to", "new/place")
    assert tree(vault.folder / "new/place") == tree(mirrored(vault))
    (vault.folder / "empty").mkdir()
    vault.ok("mirror", "--to", "empty", "--full")


def test_an_ingest_counts_even_if_its_mirror_is_refused(shell: Shell) -> None:
    shell.write("notes/a.md", "Berth twelve.")
    shell.write("brain/mirrored_brain/precious.txt", "mine")
    ran = shell.run("ingest", "notes")
    assert ran.code == 0
    assert "1 new" in ran.out
    assert len([line for line in ran.err.splitlines() if "the mirror is not in step" in line]) == 1
    assert "precious" not in shell.ok("search", "berth")
    assert (mirrored(shell) / "precious.txt").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_one_sentence(vault: Shell) -> None:
    mirrored(vault).chmod(0o500)
    try:
        ran = vault.run("ingest", "-", stdin="text")
    finally:
        mirrored(vault).chmod(0o700)
    assert (ran.code, "Traceback" in ran.err) == (0, False)


def test_what_a_person_edited_is_set_aside(vault: Shell) -> None:
    page = next(mirrored(vault).rglob("SQLite_*.md"))
    right = page.read_bytes()
    page.write_bytes(right + b"\nmy own words\n")
    os.utime(next(mirrored(vault).rglob("Lantern_*.md")))  # touched, not edited
    ran = vault.run("mirror")
    assert "you edited this page" in ran.err
    assert page.read_bytes() == right
    assert b"my own words" in page.with_name(page.name + ".bak").read_bytes()
    assert len(list(mirrored(vault).rglob("*.bak"))) == 1
    page.write_bytes(b"again")
    vault.ok("mirror", "--full")
    assert len(list(mirrored(vault).rglob("*.bak"))) == 2
    assert page.read_bytes() == right
    home = mirrored(vault) / "Home.md"
    home.write_text("mine")
    vault.ok("ingest", "-", stdin="one more")
    assert "one more" not in home.read_text()
    assert home.with_name("Home.md.bak").read_text() == "mine"


def test_foreign_files_are_told_and_kept_unless_cleaned(vault: Shell) -> None:
    vault.write("brain/mirrored_brain/.obsidian/app.json", "{}")
    vault.write("brain/mirrored_brain/@code/my thoughts.md", "mine")
    ran = vault.run("mirror")
    assert "not memoria's: brain/mirrored_brain/@code/my thoughts.md" in ran.err
    vault.ok("mirror", "--full")
    assert (mirrored(vault) / "@code/my thoughts.md").read_text() == "mine"
    vault.ok("mirror", "--clean")
    assert not (mirrored(vault) / "@code/my thoughts.md").exists()
    assert (mirrored(vault) / ".obsidian/app.json").exists()
    assert "not memoria's" not in vault.run("mirror").err


def test_nothing_is_written_through_a_link_that_leads_out(shell: Shell) -> None:
    shell.write("notes/x/a.md", "text")
    shell.write("outside/keep.txt", "mine")
    shell.ok("ingest", "notes", "--no-mirror")
    mirrored(shell).mkdir()
    (mirrored(shell) / MIRROR_MARKER).write_text("")
    (mirrored(shell) / "@x").symlink_to(shell.folder / "outside")
    ran = shell.run("mirror")
    assert (ran.code, "symbolic link" in ran.err) == (2, True)
    assert [path.name for path in (shell.folder / "outside").iterdir()] == ["keep.txt"]


def test_a_marker_that_is_broken_or_older_means_a_rebuild(vault: Shell) -> None:
    right = tree(mirrored(vault))
    for broken in (b"", b"{}", b"\xff\xfe", (mirrored(vault) / MIRROR_MARKER).read_bytes()[:2_000]):
        (mirrored(vault) / MIRROR_MARKER).write_bytes(broken)
        vault.ok("mirror")
        assert tree(mirrored(vault)) == right


def test_an_ingest_never_reads_a_mirror(vault: Shell) -> None:
    page = next(iter(bundles(mirrored(vault))))
    vault.ok("mirror", "--to", "notes/copy")
    (vault.folder / "notes/linked.md").symlink_to(vault.folder / "notes/copy/Home.md")
    before = json.loads(vault.ok("status", "--json"))["sources"]
    for path in ("brain/mirrored_brain", f"brain/mirrored_brain/{page}", "notes/copy/@code"):
        ran = vault.run("ingest", path)
        assert ran.code != 0
        assert "it is in a mirror" in ran.err
    vault.ok("ingest")
    assert json.loads(vault.ok("status", "--json"))["sources"] == before


# Killed, and at the same time


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)


@pytest.mark.parametrize("files", [1, 40, 150, 400])
def test_a_sync_that_was_killed_is_completed_by_the_next(shell: Shell, files: int) -> None:
    for number in range(400):
        shell.write(
            f"notes/b{number % 7}/n{number}.md", f"---\ntags: [t{number % 5}]\n---\nText {number} [[n{number - 1}]]."
        )
    shell.ok("ingest", "notes", "--no-mirror")
    process = shell.start("mirror")
    wait_for(lambda: len(list(mirrored(shell).rglob("*_*.md"))) >= files or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    shell.write("notes/b1/n1.md", "Changed, and without a tag.")
    shell.ok("ingest")
    assert not list(mirrored(shell).rglob("*.bak"))
    assert shell.run("mirror", "--check").code == 0
    right = tree(mirrored(shell))
    assert "not memoria's" not in shell.run("mirror").err
    shell.ok("mirror", "--full")
    assert tree(mirrored(shell)) == right


def test_syncs_at_the_same_time_end_in_step(shell: Shell) -> None:
    for number in range(60):
        shell.write(f"notes/n{number}.md", f"Text {number} #t{number % 3}")
    processes = [shell.start("ingest", f"notes/n{number}.md") for number in range(6)]
    processes += [shell.start("mirror", "--full"), shell.start("ingest", "notes"), shell.start("mirror")]
    for process in processes:
        _, complaints = process.communicate()
        assert process.returncode in (0, 1), complaints  # 1: a mirror before there is a brain
    assert shell.run("mirror", "--check").code == 0


def test_an_empty_brain_has_an_empty_map() -> None:
    assert json.loads(canvas(Manifest().totals)) == {"nodes": [], "edges": []}
