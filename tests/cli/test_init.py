"""init: a recipe of one's own, which runs what is installed."""

import re
from pathlib import Path

import pytest
from support import cli, command, refused, run_program, snapshot

from privacy_eval.protocol.protocol import bundled, load_protocol

FILES = {"run.sh", "path.sh", "cmd.sh", "protocol.yaml"}


@pytest.mark.parametrize("conf", bundled())
def test_a_new_recipe_evaluates_by_its_own_protocol(conf: str, tmp_path: Path) -> None:
    own = tmp_path / "it's mine"
    assert cli("init", own, "--conf", conf).code == 0
    assert {path.name for path in own.iterdir()} == FILES
    assert load_protocol(str(own / "protocol.yaml")) == load_protocol(conf)
    run = run_program(own / "run.sh", "--tree", "no/such/folder", cwd=tmp_path)
    assert run.code == 1 and "no/such/folder: no such folder; --tree" in run.err
    script = (own / "run.sh").read_text()
    editions = {name: "2024" if name >= "vpc2024" else "2020" for name in bundled()}
    assert f"recipes/vpc{editions[conf]}/run.sh" in script and "demo" not in script


def test_the_examples_in_the_new_protocol_are_valid(tmp_path: Path) -> None:
    assert cli("init", tmp_path / "own").code == 0
    path = tmp_path / "own/protocol.yaml"
    path.write_text(re.sub(r"^# (\w+: )", r"\1", path.read_text(), flags=re.M))
    protocol = load_protocol(str(path))
    assert (protocol.name, protocol.variant, protocol.splits) == ("mine", "exact", ("test",))


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_exists_is_not_written_to(kind: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    if kind == "folder":
        own.mkdir()
        (own / "thesis.tex").write_text("years of work")
    elif kind == "file":
        own.write_text("years of work")
    else:
        own.symlink_to(tmp_path / "nowhere")
    before = snapshot(tmp_path)
    refused(cli("init", own), f"{own}: exists and is not an empty folder")
    assert snapshot(tmp_path) == before


def test_an_empty_current_folder_gets_a_recipe(tmp_path: Path) -> None:
    run = command("init", ".", "--demo", cwd=tmp_path)
    assert run.code == 0 and "next: ./run.sh\n" in run.err
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_an_unknown_protocol_is_wrong_usage(tmp_path: Path) -> None:
    refused(cli("init", tmp_path / "own", "--conf", "vpc2021"), "vpc2020, vpc2022", code=2)
    assert list(tmp_path.iterdir()) == []
