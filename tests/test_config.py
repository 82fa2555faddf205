"""Settings: flags, then the environment, then memoria.toml, then defaults; nothing unknown passes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria import config
from memoria.errors import ConfigError
from tests.conftest import CHECKOUT, Shell


def test_the_order_of_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.load(str(tmp_path))["search.budget"] == 4_000
    (tmp_path / "memoria.toml").write_text("[search]\nbudget = 100\n", encoding="utf-8")
    assert config.load(str(tmp_path))["search.budget"] == 100
    monkeypatch.setenv("MEMORIA_SEARCH_BUDGET", "200")
    assert config.load(str(tmp_path))["search.budget"] == 200


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[search]\nbudgit = 1\n", "line 2: there is no setting 'search.budgit'"),
        ("\n\n[search]\nbudget = 'many'\n", "line 4: search.budget must be a whole number, not 'many'"),
        ("[search]\nbudget = 0\n", "search.budget must be at least 1"),
        ("[search]\nbudget = true\n", "must be a whole number"),
        ("[bm25]\nk1 = nan\n", "bm25.k1 must be a number"),
        ("[ingest]\nextensions = '.md'\n", "must be a list of strings"),
        ("nonsense = 1\n", "line 1: there is no setting 'nonsense'"),
        ("[search\n", "is not valid TOML"),
        ("search = 1\n", "there is no setting 'search'"),
    ],
)
def test_what_can_not_be_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "memoria.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        config.load(str(tmp_path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_wrong_variable_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIA_BM25_B", "much")
    with pytest.raises(ConfigError, match=r"MEMORIA_BM25_B: bm25\.b must be a number"):
        config.load(str(tmp_path))


@given(st.sampled_from(sorted(config.SETTINGS)), st.text(max_size=20))
def test_any_text_is_a_value_or_is_refused(key: str, text: str) -> None:
    try:
        value = config.parse_value(key, text, "here")
    except ConfigError:
        return
    assert type(value) is type(config.SETTINGS[key].default)


def test_the_template_sets_nothing_and_is_right_when_uncommented(tmp_path: Path) -> None:
    path = tmp_path / "memoria.toml"
    path.write_text(config.template(), encoding="utf-8")
    assert config.read_file(str(path)) == {}
    lines = [line.removeprefix("# ") for line in config.template().split("\n")[1:]]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert config.read_file(str(path)) == {key: setting.default for key, setting in config.SETTINGS.items()}


def test_set_keeps_the_rest_of_the_file(shell: Shell) -> None:
    shell.ok("init")
    shell.ok("config", "set", "search.budget", "500")
    shell.ok("config", "set", "bm25.k1", "1.2")
    shell.ok("config", "set", "ingest.extensions", ".md,.org")
    assert shell.ok("config", "get", "search.budget") == "500\n"
    assert shell.ok("config", "get", "ingest.extensions") == ".md,.org\n"
    assert "# memoria.toml:" in (shell.brain / "memoria.toml").read_text(encoding="utf-8")
    assert "bm25.k1\t1.2\t" in shell.ok("config", "list")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["set", "search.budgit", "1"], "did you mean search.budget?"),
        (["set", "search.budget", "x"], "must be a whole number"),
        (["get", "nope"], "there is no setting 'nope'"),
    ],
)
def test_config_mistakes_are_told(shell: Shell, args: list[str], said: str) -> None:
    ran = shell.run("config", *args)
    assert (ran.code, said in ran.err) == (2, True), ran


def test_the_brain_is_found_by_flag_variable_parent_or_home(shell: Shell) -> None:
    shell.write("a.md", "alpha")
    env = {"MEMORIA_BRAIN": ""}
    shell.ok("init", "vault", **env)
    deep = shell.folder / "vault" / "x" / "y"
    deep.mkdir(parents=True)
    assert f"brain\t{shell.folder}/vault\n" in Shell.run(_in(shell, deep), "status", **env).out
    assert "made a brain in" in shell.run("ingest", "a.md", **env).err
    assert (shell.folder / "home" / "data" / "memoria" / "brain.db").exists()
    assert "alpha" in shell.ok("search", "alpha", **env)
    assert shell.run("--brain", "elsewhere", "search", "alpha").code == 1
    shell.ok("--brain", "elsewhere", "ingest", "a.md")
    assert (shell.folder / "elsewhere" / "brain.db").exists()


def _in(shell: Shell, folder: Path) -> Shell:
    other = Shell(folder)
    other.env = {**shell.env}
    return other


def test_every_setting_is_documented() -> None:
    text = (CHECKOUT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for key, setting in config.SETTINGS.items():
        assert f"| `{key}` | {config.shown(setting.default)} | {setting.about} |" in text
