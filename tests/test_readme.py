"""The README tells the truth: its commands are run, and what they print is compared."""

import re
import shutil
import subprocess

import pytest

from tests.conftest import CHECKOUT, NOTES, Shell

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def dialogues() -> list[tuple[str, str]]:
    """Return the commands and what the README says they print, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def test_the_readme_has_examples() -> None:
    assert len(dialogues()) >= 5


def test_the_examples_print_what_the_readme_says(shell: Shell) -> None:
    shutil.copytree(NOTES, shell.folder / "notes")
    bin_ = shell.folder / "bin"
    bin_.mkdir()
    (bin_ / "memoria").write_text(f'#!/bin/sh\nexec {" ".join(shell.command)} "$@"\n', encoding="utf-8")
    (bin_ / "memoria").chmod(0o755)
    if not shutil.which("jq"):  # the examples use of jq only what this does
        script = (
            "import json, sys\nfor hit in map(json.loads, sys.stdin):\n    print(f\"{hit['relpath']}:{hit['line']}\")\n"
        )
        (bin_ / "jq").write_text(f"#!{shell.command[0]}\n{script}", encoding="utf-8")
        (bin_ / "jq").chmod(0o755)
    env = {**shell.env, "PATH": f"{bin_}:{shell.env['PATH']}"}
    for command, expected in dialogues():
        ran = subprocess.run(
            command, shell=True, cwd=shell.folder, env=env, capture_output=True, text=True, check=False
        )
        talk = ran.stderr if "--paths" in command or "ingest" in command else ""  # the summary is left out
        printed = re.sub(r"^made a brain in .*\n", "", talk, flags=re.MULTILINE) + ran.stdout
        assert normal(printed.replace(f"{shell.folder}/", "")) == normal(expected), command


def normal(text: str) -> str:
    return re.sub(r"in \d+\.\d\d s", "in N s", "\n".join(line.rstrip() for line in text.strip().split("\n")))


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)\)", re.sub(r"`[^`\n]*`", "", README))))
)
def test_the_readme_links_to_what_is_there(path: str) -> None:
    assert (CHECKOUT / path).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`|    )make ([a-z]+)\b", README))))
def test_the_readme_names_targets_that_the_makefile_has(target: str) -> None:
    makefile = (CHECKOUT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
