"""Front matter of every shape seen in the wild."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.frontmatter import FrontMatter, day_in, parse, split

TODAY = date(2026, 11, 18)


def read(text: str) -> FrontMatter:
    return parse(text.split("\n"), TODAY)


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("tags: [Rust, \"#Web Dev\"]", ("rust", "web-dev")),
        ("tags:\n  - a/B\n  - c", ("a/b", "c")),
        ("tags: one, two words,three", ("one", "two-words", "three")),
        ("tags: one two", ("one", "two")),
        ("tags: single", ("single",)),
        ("tags:", ()),
        ("tags: null", ()),
        ("tags: ~", ()),
        ("tags: []", ()),
        ("tags: [~, a, a, '']", ("a",)),
        ("tags: 2024", ("2024",)),
        ("tag: x\ntags: [y]", ("y", "x")),
        ("categories: Machine Learning\ntags: [y]", ("y", "machine-learning")),
        ("category: [a, Y]\ntopics: b, c\nkeywords: {x: y}\ntags: [y]", ("y", "a", "b", "c")),
        ("Tags: [x]", ("x",)),
        ("tags: {a: b}", ()),
        ("tags: '#café'", ("café",)),
    ],
)  # fmt: skip
def test_tags_of_every_shape(written: str, tags: tuple[str, ...]) -> None:
    assert read(written).tags == tags


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("title: 2026-03-14", "2026-03-14"),
        ("title: 1984", "1984"),
        ("title: 1.10", "1.10"),
        ("title: yes", "yes"),
        ("title: '  a   b '", "a b"),
        ("title: |\n  two\n  lines", "two lines"),
        ("title:", ""),
        ("title: [a]", ""),
        ('title: "a: b # c"', "a: b # c"),
    ],
)
def test_a_title_is_what_was_written(written: str, title: str) -> None:
    assert read(written).title == title


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("date: 2025-03-14", "2025-03-14"),
        ("date: 2025-03-14T10:00:00Z", "2025-03-14"),
        ("date: 2025-3-4", "2025-03-04"),
        ("date: 2025/03/14", "2025-03-14"),
        ("date: '20250314'", "2025-03-14"),
        ("date: 20250314", "2025-03-14"),
        ("date: March 14, 2025", "2025-03-14"),
        ("date: 14 March 2025", "2025-03-14"),
        ("date: 14.03.2025", "2025-03-14"),
        ("created: 2025-01-02\nupdated: 2025-05-06", "2025-01-02"),
        ("updated: 2025-05-06", "2025-05-06"),
        ("date: soon\ncreated: 2025-01-02", "2025-01-02"),
        ("date: 2099-01-01\ncreated: 2025-01-02", "2025-01-02"),
        ("date: 2099-01-01", None),
        ("date: 2025-02-30", None),
        ("date: [2025-01-01]", None),
        ("date:", None),
    ],
)
def test_dates_of_every_shape_and_never_from_the_future(written: str, day: str | None) -> None:
    assert read(written).date == day


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("journal/2026-02-11.md", "2026-02-11"),
        ("20260211 standup.md", "2026-02-11"),
        ("2026/02/11.md", "2026-02-11"),
        ("2026_02_11-x.md", "2026-02-11"),
        ("log 2027-01-01 then 2026-01-01.md", "2026-01-01"),
        ("build-120260211.md", None),
        ("2026-13-01.md", None),
        ("2026-02.md", None),
    ],
)
def test_dates_in_names(name: str, day: str | None) -> None:
    assert day_in(name, TODAY) == day


def test_aliases_and_buckets() -> None:
    found = read("aliases: [NYC, 'Big Apple']\nbuckets: [Work, Side Projects]\nbucket: home")
    assert found.aliases == ("NYC", "Big Apple")
    assert found.buckets == ("home", "work", "side-projects")
    assert read("aliases: New York").aliases == ("New York",)


def test_other_values_are_fields_with_their_lines() -> None:
    found = read("title: x\nstatus: active\npeople: [Ana, Ben]\nrelationships:\n  - {to: Ana, attitude: 4}\nempty:")
    assert [(field.name, field.value, field.line) for field in found.fields] == [
        ("status", "active", 3),
        ("people", "Ana, Ben", 4),
        ("relationships", "to: Ana; attitude: 4", 5),
    ]


@pytest.mark.parametrize(
    "written",
    [
        "a: [1, 2",
        "a: b: c",
        "\tx: 1",
        "{{title}}",
        "- just\n- a list",
        "only text",
        "a: &x [*x]",
        "x: !!python/object/apply:os.system ['true']\n\ty",
    ],
)
def test_what_is_not_front_matter_is_told_and_left_out(written: str) -> None:
    found = read(written)
    assert found.warning
    assert "\n" not in found.warning
    assert found._replace(warning="") == FrontMatter()


def test_a_tag_of_yaml_builds_nothing(tmp_path: object) -> None:
    found = read(f"x: !!python/object/apply:os.mkdir ['{tmp_path}/made']")
    assert not found.warning
    assert not __import__("os").path.exists(f"{tmp_path}/made")


def test_a_bomb_of_aliases_does_not_go_off() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)
    )
    assert "unfolds" in read(bomb).warning


def test_nesting_without_end_is_told() -> None:
    assert read("a: " + "[" * 5_000).warning


@pytest.mark.parametrize(
    ("text", "lines", "body"),
    [
        ("---\na: 1\n---\nbody", ["a: 1"], 3),
        ("---\n---\nbody", [], 2),
        ("---\na: 1\n...\nbody", ["a: 1"], 3),
        ("--- \na: 1\n---\t\n", ["a: 1"], 3),
        ("---\nnever closed\nbody", [], 0),
        ("body\n---\na: 1\n---", [], 0),
        ("----\na: 1\n----", [], 0),
        ("", [], 0),
    ],
)
def test_where_front_matter_ends(text: str, lines: list[str], body: int) -> None:
    assert split(text.split("\n")) == (lines, body)


@given(st.text(max_size=300))
def test_any_text_is_read_or_told(text: str) -> None:
    found = parse(text.split("\n"), TODAY)
    assert "\n" not in found.warning
    assert all(tag == tag.lower() for tag in found.tags)
    assert found.date is None or found.date <= TODAY.isoformat()


@given(
    st.dictionaries(
        st.sampled_from(["title", "tags", "date", "aliases", "bucket", "x"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates(),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=8,
        ),
    )
)
def test_every_value_that_yaml_can_write_copes(values: dict[str, object]) -> None:
    import yaml

    found = read(yaml.safe_dump(values, allow_unicode=True))
    assert isinstance(found.title, str)
    assert all(isinstance(field.value, str) for field in found.fields)
