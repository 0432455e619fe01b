"""What anonymization costs: files that stage 4 leaves or others state, rows, tables."""

import json
import math
import resource
import shutil
import time
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, Run, cli, csv_rows, lines_to, ok, refused, snapshot

from privacy_eval import PrivacyEvalError
from privacy_eval.io.schema import to_plain
from privacy_eval.results.json_store import read_results
from privacy_eval.results.measurements import Measurements
from privacy_eval.results.record_files import record_text
from privacy_eval.speech.audio import AudioReader
from privacy_eval.speech.trees.anonymize import McAdams, anonymize_data
from privacy_eval.speech.trees.costs import (
    Costs,
    Meter,
    Part,
    cost_rows,
    read_costs,
    this_machine,
)
from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech

soundfile = pytest.importorskip("soundfile", reason="audio needs the extra speech")

#: By hand: 2 and 6 s of speech in 4 and 6 s, of which the processor worked 1 and 3 s.
STATED: dict[str, Any] = {
    "machine": "a cluster",
    "peak_memory_mib": 512,
    "parts": [
        {"length": "under 3 s", "recordings": 1, "speech_seconds": 2, "wall_seconds": 4}
        | {"processor_seconds": 1},
        {"length": "3 to 10 s", "recordings": 1, "speech_seconds": 6, "wall_seconds": 6}
        | {"processor_seconds": 3},
    ],
}


def stated(path: Path, **changes: object) -> Path:
    path.write_text(yaml.safe_dump({**STATED, **changes}))
    return path


def values(rows: Any) -> dict[tuple[str, str], float]:
    return {(row["duration"], row["metric"]): row["value"] for row in rows}


def test_factors_are_those_computed_by_hand(tmp_path: Path) -> None:
    costs = read_costs(stated(tmp_path / "costs.yaml"))
    rows = list(cost_rows([costs, costs], machine="m"))
    found = values(rows)
    assert found["under 3 s", "wall_factor"] == 2 and found["3 to 10 s", "wall_factor"] == 1
    assert found["all", "wall_factor"] == 10 / 8 and found["all", "processor_factor"] == 4 / 8
    assert found["all", "speech_hours"] == 2 * 8 / 3600  # of both files
    assert found["all", "peak_memory"] == 512 and ("under 3 s", "peak_memory") not in found
    assert {row["n_utterances"] for row in rows if row["duration"] == "all"} == {4}


def test_without_speech_or_processor_time_there_is_no_factor() -> None:
    silent = Costs("m", (Part(3, 0, 1, 1, "under 3 s"), Part(1, 2, 1)))
    found = values(cost_rows([silent]))
    assert ("under 3 s", "wall_factor") not in found
    assert found["all", "wall_factor"] == 1  # 2 s of speech in 2 s
    assert ("all", "processor_factor") not in found and ("any", "wall_factor") not in found


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["any", "under 3 s", "3 to 10 s", "over 10 s"]),
            st.integers(1, 99),
            st.floats(0, 1e6),
            st.floats(0, 1e6),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_rows_are_sums_by_length_however_files_are_divided(parts: list[Any]) -> None:
    """Against a second implementation; one file of all parts, and a file of each."""
    every = [Part(n, speech, wall, length=length) for length, n, speech, wall in parts]
    found = values(cost_rows([Costs("m", tuple(every))]))
    assert found == pytest.approx(values(cost_rows([Costs("m", (part,)) for part in every])))
    for length, of in groupby(sorted(parts), key=lambda part: part[0]):
        group = list(of)
        speech, wall = (sum(part[i] for part in group) for i in (2, 3))
        if length != "any":
            assert found[length, "wall_hours"] * 3600 == pytest.approx(wall)
            assert ((length, "wall_factor") in found) == (speech > 0)
    assert found["all", "speech_hours"] * 3600 == pytest.approx(sum(part[2] for part in parts))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machine": 3}, "machine: expected text"),
        ({"machine": ""}, "machine"),
        ({"machine": "x\u202ey"}, "machine"),
        ({"machine": "x" * 201}, "200 characters"),
        ({"parts": []}, "parts: expected at least one"),
        ({"parts": "all"}, "parts: expected a list"),
        ({"peak_memory_mib": 0}, "peak_memory_mib"),
        ({"peak_memory_mib": -1}, "peak_memory_mib"),
        ({"host": "mine"}, "unknown entry 'host'"),
        ({"parts": [{**STATED["parts"][0], "speech_seconds": -1}]}, r"parts\[0\]: speech_seconds"),
        ({"parts": [{**STATED["parts"][0], "recordings": 0}]}, "recordings: 0"),
        ({"parts": [{**STATED["parts"][0], "recordings": 1.5}]}, "whole number"),
        ({"parts": [{**STATED["parts"][0], "wall_seconds": math.inf}]}, "wall_seconds"),
        ({"parts": [{**STATED["parts"][0], "length": "short"}]}, "any or under 3 s"),
        ({"parts": [{"recordings": 1}]}, "'speech_seconds' is missing"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(PrivacyEvalError, match=rf"costs\.yaml.*{named}"):
        read_costs(stated(tmp_path / "costs.yaml", **changes))


def test_the_example_of_the_docs_is_read(tmp_path: Path) -> None:
    text = (
        (ROOT / "docs/speech.md").read_text().partition("```yaml\nmachine")[2].partition("```")[0]
    )
    (tmp_path / "costs.yaml").write_text(f"machine{text}")
    found = values(cost_rows([read_costs(tmp_path / "costs.yaml")]))
    assert found["all", "wall_factor"] == pytest.approx((90 + 900) / (260 + 8640))
    assert ("all", "processor_factor") not in found


def test_a_file_that_is_no_yaml_or_no_mapping_is_named(tmp_path: Path) -> None:
    for text in ("{", "- 1", "", "a: 1\na: 2"):
        (tmp_path / "costs.yaml").write_text(text)
        with pytest.raises(PrivacyEvalError, match=r"costs\.yaml"):
            read_costs(tmp_path / "costs.yaml")


def test_the_machine_is_described_without_names_of_host_and_user() -> None:
    import getpass
    import platform

    text = this_machine()
    assert "cores" in text and f"Python {platform.python_version()}" in text
    assert platform.node() not in text and getpass.getuser() not in text.split()


def test_a_meter_measures_the_processor_time_and_memory_of_commands(tmp_path: Path) -> None:
    """Against what the command says of itself."""
    import subprocess
    import sys

    say = "import resource as r; u = r.getrusage(r.RUSAGE_SELF); print(u.ru_utime, u.ru_maxrss)"
    work = f"x = bytearray(300 << 20); sum(range(3_000_000)); {say}"
    meter = Meter(tmp_path / ".x.seconds")
    spoken = meter.run(lambda: subprocess.check_output([sys.executable, "-c", work]), lambda: [1.5])
    user, memory = map(float, spoken.split())
    meter.run(lambda: time.sleep(0.05), lambda: [12.0])
    meter.write()
    costs = read_costs(meter.path)
    short, long = costs.parts
    assert (short.length, long.length) == ("under 3 s", "over 10 s")
    assert short.processor_seconds is not None and long.processor_seconds is not None
    assert short.processor_seconds >= user and long.wall_seconds >= 0.05
    of_self = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert costs.peak_memory_mib is not None and costs.peak_memory_mib >= memory / 1024 >= 300
    assert costs.peak_memory_mib <= max(of_self, of_children) / 1024


def test_what_stage_4_writes_is_read_again(tmp_path: Path) -> None:
    """Also numbers that YAML takes for text."""
    costs = Costs("m", (Part(1, 1e-05, 5e-05, 1e-06, "under 3 s"),), 1.0)
    (tmp_path / ".x.seconds").write_bytes(record_text(costs))
    assert read_costs(tmp_path / ".x.seconds") == costs
    (tmp_path / ".x.seconds").write_text('{"machine": ')
    with pytest.raises(PrivacyEvalError, match=r"\.x\.seconds"):
        read_costs(tmp_path / ".x.seconds")


def test_of_a_length_that_cannot_be_told_nothing_is_kept(tmp_path: Path) -> None:
    def unknown() -> list[float]:
        raise PrivacyEvalError("no length")

    meter = Meter(tmp_path / ".x.seconds")
    meter.path.write_text("of an earlier run")
    assert meter.run(lambda: 3, unknown) == 3
    meter.write()
    assert not meter.path.exists()


def test_recordings_of_length_0_are_counted_without_a_factor(tmp_path: Path) -> None:
    data, out = tmp_path / "silent", tmp_path / "silent_anon"
    data.mkdir()
    soundfile.write(data / "a-1.wav", [], 16000, subtype="PCM_16")
    lines_to(data / "wav.scp", [f"a-1 {data / 'a-1.wav'}"])
    lines_to(data / "utt2spk", ["a-1 a"])
    anonymize_data(data, out, AudioReader(data), McAdams()).raise_failed()
    found = values(cost_rows([read_costs(out / "wav/.a.seconds")]))
    assert found["under 3 s", "speech_hours"] == 0 and found["all", "wall_hours"] > 0
    assert ("under 3 s", "wall_factor") not in found and ("all", "wall_factor") not in found


class Tree:
    """A tree of simulated speech."""

    def __init__(self, root: Path) -> None:
        self.root, self.out = root, root / "exp/privacy_eval"

    def run(self, verb: str, *more: object) -> Run:
        where = ("--tree", self.root, "--results", "exp", "--conf", "protocol.yaml")
        return cli("stage", verb, *where, "--allow-outside", *more)

    def scored(self) -> None:
        for verb in ("subsets", "xvectors", "train-backend", "asv-scores", "privacy-metrics"):
            ok(self.run(verb, *(["--anonymized"] if verb == "subsets" else [])))

    def rows(self) -> list[dict[str, str]]:
        ok(self.run("costs"))
        ok(self.run("collect"))
        return [row for row in csv_rows(self.out / "results.csv") if row.get("duration")]


@pytest.fixture(scope="module", name="speech")
def _speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree whose speech has been anonymized and attacked."""
    folder = tmp_path_factory.mktemp("speech")
    source = folder / "tree/simulated"  # copies hold it, too
    write_demo_speech(source, DemoSpeech(speakers=4, training=16, utterances=4, seconds=1.0))
    words = ["data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk"]
    words += ["--training", source / "training", "--training-utt2spk", source / "training_utt2spk"]
    ok(cli(*words, "--model", source / "extractor", "--out", folder / "tree"))
    tree = Tree(folder / "tree")
    ok(tree.run("anonymize", "--anonymizer", "mcadams"))
    tree.scored()
    return folder / "tree"


@pytest.fixture(name="tree")
def _tree(speech: Path, tmp_path: Path) -> Tree:
    return Tree(Path(shutil.copytree(speech, tmp_path / "tree")))


def test_stage_4_keeps_costs_that_become_rows_and_a_table(tree: Tree, tmp_path: Path) -> None:
    rows = tree.rows()
    every = [json.loads(path.read_text()) for path in tree.root.rglob("wav/.*.seconds")]
    assert len(every) == 4 + 4 + 16  # speakers of the sets
    wall = sum(part["wall_seconds"] for of in every for part in of["parts"])
    found = {(r["duration"], r["metric"]): r for r in rows}
    assert {r["n_utterances"] for r in rows} == {str(16 + 64)}
    assert {r["source"] for r in rows} == {"measured"}
    assert float(found["all", "wall_factor"]["value"]) == pytest.approx(wall / 80)  # of 1 s each
    assert found["under 3 s", "wall_factor"]["value"] == found["all", "wall_factor"]["value"]
    results = tree.out / "results.json"
    ok(cli("tables", "--results", results, "--out", tmp_path / "tables"))
    assert "Real-time factor" in (tmp_path / "tables/tables.csv").read_text()


def test_a_run_that_makes_nothing_keeps_costs_and_results(tree: Tree) -> None:
    tree.rows()
    before = snapshot(tree.root)
    left = {p: p.read_bytes() for p in tree.root.rglob(".*.seconds")}
    ok(tree.run("anonymize", "--anonymizer", "mcadams"))
    tree.rows()
    assert snapshot(tree.root) == before
    (tree.out / ".results.privacy_eval.json").unlink()
    for note in tree.out.rglob(".costs.privacy_eval.json"):
        note.unlink()
    tree.rows()
    assert {p: p.read_bytes() for p in left} == left
    assert (tree.out / "results.json").read_bytes() == before["exp/privacy_eval/results.json"]


def test_costs_make_nothing_else_out_of_date(tree: Tree) -> None:
    for path in tree.root.rglob("wav/.*.seconds"):
        of = json.loads(path.read_text())
        of["parts"][0]["wall_seconds"] = 7.0
        path.write_text(json.dumps(of))
    assert "24 up to date\n" in tree.run("anonymize", "--anonymizer", "mcadams").out
    for verb in ("xvectors", "asv-scores", "privacy-metrics"):
        assert "new)" not in ok(tree.run(verb)).out
    assert "(1 new)" in ok(tree.run("costs")).out


def test_a_command_for_folders_gives_one_number(tree: Tree) -> None:
    for path in tree.root.glob("data/*_anon"):
        shutil.rmtree(path)
    ok(tree.run("anonymize", "--anonymizer", "cp {in}/wav.scp {out}"))
    (part,) = read_costs(tree.root / "data/speech_enrolls_anon/.seconds").parts
    assert (part.length, part.recordings, part.speech_seconds) == ("any", 8, 8.0)


def test_costs_of_an_unsigned_tree_are_stated_not_measured(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another_user"))
    ok(tree.run("costs"))
    (record,) = (json.loads(p.read_text()) for p in tree.out.rglob("records/*/costs.json"))
    assert {row["source"] for row in record["rows"]} == {"stated"}


def test_a_file_states_costs_in_a_tree(tree: Tree) -> None:
    for path in tree.root.rglob(".*seconds"):
        path.unlink()
    file = stated(tree.root / "data/anonymization_cost_anon.yaml")
    rows = tree.rows()
    assert {r["machine"] for r in rows} == {"a cluster"} and {r["source"] for r in rows} == {
        "stated"
    }
    file.write_text(yaml.safe_dump(to_plain(Costs("m", (Part(2, 0, 1),)))))
    assert "length 0" in ok(tree.run("costs")).err
    file.unlink()
    file.symlink_to("/etc/hostname")
    where = ("--tree", tree.root, "--results", "exp", "--conf", "protocol.yaml")
    assert cli("stage", "costs", *where).code == 1
    ok(tree.run("collect", "--allow-missing"))
    assert not read_results(tree.out / "results.json").rows


def test_a_faulty_file_of_costs_is_a_remark_and_all_other_numbers_stay(tree: Tree) -> None:
    def others() -> list[dict[str, str]]:
        rows = (r for r in csv_rows(tree.out / "results.csv") if not r.get("duration"))
        return [{name: text for name, text in row.items() if text} for row in rows]

    tree.rows()
    before = others()
    damaged = next(tree.root.rglob("wav/.*.seconds"))
    file = tree.root / "data/anonymization_cost_anon.yaml"
    for path, content in ((damaged, b"{"), (damaged, b"\xff"), (file, b"machine: 3"), (file, b"")):
        path.write_bytes(content)
        run = ok(tree.run("costs"))
        assert "costs left out: data/" in run.err and path.name in run.err
        assert {row["source"] for row in tree.rows()} == {"measured"}
        assert others() == before and not (tree.out / "failed").exists()
    results = read_results(tree.out / "results.json")
    (record,) = (r for r in results.rows if r.remarks)
    assert "2 files of costs left out" in record.remarks[0]
    assert str(tree.root) not in record.remarks[0]
    for path in tree.root.rglob("wav/.*.seconds"):
        path.unlink()
    assert not tree.rows() and others() == before


def test_anonymized_speech_from_elsewhere_brings_its_file(tree: Tree, tmp_path: Path) -> None:
    write_demo_speech(tmp_path / "s", DemoSpeech(speakers=4, training=0, utterances=4, seconds=1.0))
    speech, copy = tmp_path / "s/speech", tmp_path / "copy"
    shutil.copytree(speech, copy)
    words = ["data-dir", "--original", speech, "--utt2spk", tmp_path / "s/speech_utt2spk"]
    words += ["--anonymized", copy, "--model", tree.root / "exp/models/asv"]
    stated(copy / "anonymization_cost.yaml", peak_memory_mib="much")
    refused(cli(*words, "--out", tmp_path / "new"), "anonymization_cost.yaml", "peak_memory_mib")
    assert not (tmp_path / "new").exists()
    stated(copy / "anonymization_cost.yaml")
    ok(cli(*words, "--out", tmp_path / "new"))
    assert read_costs(tmp_path / "new/data/anonymization_cost_anon.yaml").machine == "a cluster"


def test_the_picture_names_the_factor_of_one_machine() -> None:
    plane = pytest.importorskip("privacy_eval.report.figures.plane")
    rows = [
        {"metric": "wall_factor", "duration": "all", "system": s, "value": v, "machine": m}
        for s, v, m in (("B1", 0.0374, "a"), ("B2", 1.0, "a"), ("B2", 2.0, "b"))
    ]
    rows.append({**rows[0], "duration": "under 3 s", "value": 9.0})
    data = SimpleNamespace(measurements=Measurements.of(rows))
    drawn = plane.Plane(data, "test", ({"system": "B1"}, {"system": "B2"}), ("wer",))
    assert [drawn.factor(name) for name in drawn.names] == [" (0.037\u00d7)", ""]
