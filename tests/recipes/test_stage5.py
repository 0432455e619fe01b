"""What a participant does: `run.sh --stage 5` after anonymization, to the end."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import (
    MODEL,
    ODD_NAME,
    REAL_TREE,
    ROOT,
    Run,
    SpeechTree,
    assert_golden,
    cli,
    csv_rows,
    lines_to,
    metrics_of,
    needs_real_tree,
    ok,
    refused,
    run_program,
    snapshot,
    times,
)

from privacy_eval.metrics import VARIANTS

RUN = ROOT / "recipes" / "vpc2020" / "run.sh"


def recipe(tree: Path, *more: object) -> Run:
    run = run_program("env", "-u", "KALDI_ROOT", RUN, "--tree", tree, *more, cwd=ROOT)
    assert "Traceback" not in run.err
    return run


def after_anonymization(folder: Path) -> Path:
    """A tree in which the challenge's scripts left what they leave: the system B1 of the
    demo, marked `_anon`, and no results folder."""
    assert cli("demo-tree", folder, "--speakers", 4, "--utterances", 6).code == 0
    shutil.rmtree(folder / "exp/B1")
    shutil.rmtree(folder / "exp/B2")
    for path in (*(folder / "data").iterdir(), *(folder / MODEL).iterdir()):
        if path.name.endswith("_B2"):
            shutil.rmtree(path)
        elif path.name.endswith("_B1"):
            renamed = path.with_name(path.name.removesuffix("_B1") + "_anon")
            path.rename(renamed)
            scp = renamed / "xvector.scp"
            if scp.exists():
                scp.write_text(scp.read_text().replace(f"{path.name}/", f"{renamed.name}/"))
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = after_anonymization(tmp_path_factory.mktemp("stage5") / f"a {ODD_NAME}")
    names = {p.name for p in (folder / "data").iterdir() if p.name.endswith("_anon")}
    assert names == {
        f"{name}_{split}_{kind}_anon"
        for name, last in (("libri", ""), ("vctk", "_all"))
        for split in ("dev", "test")
        for kind in ("enrolls", f"trials_f{last}", f"trials_m{last}")
    } | {"train_clean_360_anon"}
    return folder


@pytest.fixture(scope="module")
def evaluated(tree: Path) -> Path:
    """The tree after a run without the stages that draw, which take most of the time: the
    README's test runs them."""
    run = ok(recipe(tree, "--stage", 5, "--stop-stage", 9))
    assert "score files: 48 up to date (48 new)" in run.out
    assert "voice similarities: 12 up to date (12 new); " in run.out
    assert run.err.rstrip().endswith("Done")
    return tree


def test_from_anonymized_speech_to_tables(evaluated: Path) -> None:
    results = evaluated / "exp/results-anon"
    assert len(list(results.glob("ASV-*/scores"))) == 36
    out = evaluated / "exp/privacy_eval"
    plain = json.loads((out / "results.json").read_text())
    assert (len(plain["verification"]), len(plain["similarity"])) == (36 + 12, 12)
    assert [r["attacker"] for r in plain["verification"]].count("words") == 12
    assert {r["system"] for r in plain["verification"]} == {"anon"}
    attacks = [r["attack_model"] for r in plain["verification"]]
    assert {a: attacks.count(a) for a in attacks} == {
        "original": 12,
        "ignorant": 12 + 12,
        "lazy-informed": 12,
    }
    assert plain["not_evaluated"] == []
    assert {p.name for p in (out / "tables").rglob("anon_asv*.tex")} >= {
        "anon_asv_dev.tex",
        "anon_asv_test.tex",
        "anon_asv.tex",
    }
    for pattern in ("anon_voice.*", "anon_speakers.*"):
        assert list((out / "tables").rglob(pattern))
    assert len(csv_rows(out / "speakers.csv")) == 12 * 4
    assert len(list((out / "similarity_matrices_DeID_Gvd").iterdir())) == 12


def test_voice_similarities_survive_export_and_import(evaluated: Path, tmp_path: Path) -> None:
    out = evaluated / "exp/privacy_eval"
    text = (out / "results.txt").read_text()
    assert text.count("De-Identification : ") == text.count("voice distinctiveness : ") == 12
    common = ("--system", "anon", "--out", tmp_path / "r.json")
    assert cli("import", out / "results.txt", *common).code == 0
    lines = text.splitlines(keepends=True)
    told = "".join(line for line in lines if "caveat: " not in line)  # of numbers of trials
    assert cli("export", tmp_path / "r.json").out == told
    assert cli("export", out / "results.json").out == text


def test_scores_are_the_same_in_a_chosen_results_folder(evaluated: Path, tmp_path: Path) -> None:
    """Asked for before it is there."""
    options = ("--stage", 5, "--stop-stage", 5, "--nj", 1, "--out", tmp_path)
    run = ok(recipe(evaluated, *options, "--results", "exp/results-mine"))
    assert "score files: 48 up to date (48 new)" in run.out
    one, two = (snapshot(evaluated / "exp" / f"results-{name}") for name in ("anon", "mine"))
    assert one == two


def test_a_changed_set_rebuilds_only_its_products(evaluated: Path, tmp_path: Path) -> None:
    tree = tmp_path / "t"
    shutil.copytree(evaluated, tree)
    shutil.rmtree(tree / "exp/results-mine", ignore_errors=True)
    folder = tree / MODEL
    changed = folder / "xvect_vctk_dev_trials_f_all_anon/xvector.ark"
    other = folder / "xvect_vctk_test_trials_f_all_anon/xvector.ark"
    changed.write_bytes(changed.read_bytes()[:-96] + other.read_bytes()[-96:])
    common = ("--tree", tree, "--results", "exp")
    scores = list((tree / "exp/results-anon").glob("ASV-*/scores"))
    before = times(scores)
    assert cli("stage", "collect", *common).code == 1
    run = cli("stage", "asv-scores", *common)
    assert run.out.startswith("score files: 48 up to date (4 new)")
    written = {p.parent.name for p in scores if p.stat().st_mtime_ns != before[p]}
    # The last utterance is of the common texts: the other two are the same as before.
    assert written == {
        f"ASV-vctk_dev_enrolls{mark}-vctk_dev_trials_f_common_anon" for mark in ("", "_anon")
    }
    run = cli("stage", "similarity", *common)
    # The last utterance is of one of the two sets that were cut out.
    assert run.out.startswith("voice similarities: 12 up to date (2 new)")
    run = cli("stage", "identification", *common)
    assert run.out.startswith("identifications: 36 up to date (4 new)")
    assert cli("stage", "privacy-metrics", *common).code == 0
    assert cli("stage", "collect", *common).code == 0


# --- real speech


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of real speech, scored and evaluated by us."""
    tree = tmp_path_factory.mktemp("real") / "tree"
    shutil.copytree(REAL_TREE, tree)
    for folder in (tree, *tree.rglob("*")):
        folder.chmod(0o755 if folder.is_dir() else 0o644)
    # The protocol's other sets are not in the tree.
    for verb in ("asv-scores", "privacy-metrics", "similarity", "collect"):
        ok(cli("stage", verb, "--tree", tree, "--results", "exp/results-ours"))
    return tree


def expected() -> dict[str, Any]:
    plain: dict[str, Any] = json.loads((REAL_TREE / "expected.json").read_text())
    return plain


@needs_real_tree
def test_scores_of_real_speech_are_kaldis(real: Path) -> None:
    kaldi = {p.parent.name: p for p in (REAL_TREE / "exp/results-kaldi").glob("*/scores")}
    ours = {p.parent.name: p for p in (real / "exp/results-ours").glob("*/scores")}
    assert set(ours) == set(kaldi)
    assert len(ours) == 6
    for name, path in ours.items():
        lines = [line.split() for line in path.read_text().splitlines()]
        wanted = {tuple(x.split()[:2]): float(x.split()[2]) for x in kaldi[name].open()}
        assert len(lines) == len(wanted)
        worst = max(abs(float(score) - wanted[s, u]) for s, u, score in lines)
        assert worst < 3e-4, name


COUNTED = ("n_target", "n_nontarget")


@needs_real_tree
def test_results_of_real_speech(real: Path) -> None:
    out = real / "exp/results-ours/privacy_eval"
    text = (out / "results.txt").read_text()
    for name, wanted in expected()["conditions"].items():
        assert f"{name}\n  EER: {wanted['kaldi_compute_eer_stdout'].strip()}%\n" in text
    plain = json.loads((out / "results.json").read_text())
    records = {r["condition"]: r for r in plain["similarity"]}
    assert set(records) == {"libri_test_trials_f", "libri_test_trials_m"}
    for name, record in records.items():
        wanted = expected()["similarity"][f"{name}_anon"]
        rows = [row for row in record["rows"] if "speaker" not in row]
        found = {v: {r["metric"]: r["value"] for r in rows if r["variant"] == v} for v in VARIANTS}
        for key in ("deid", "gvd_db"):
            assert found["challenge"][key] == pytest.approx(wanted[key], abs=1e-4)
        for key in ("deid", "gvd_db", "d_diag_oo", "d_diag_oa", "d_diag_aa"):
            assert found["exact"][key] == pytest.approx(wanted["exact"][key], abs=1e-4)
        assert record["facts"]["n_speakers"] == wanted["exact"]["speakers"]
        lines = re.search(
            rf"^{name}\n  De-Identification : (\S+)\n  Gain of voice distinctiveness : (\S+)$",
            text,
            re.M,
        )
        assert float(lines[1]) == found["challenge"]["deid"]
        assert float(lines[2]) == found["challenge"]["gvd_db"]
    table = cli("tables", "--results", out / "results.json", "--format", "text")
    assert "libri_test" in table.out


@needs_real_tree
def test_scores_of_kaldi_are_kept(real: Path) -> None:
    common = ("--tree", real, "--results", "exp/results-kaldi")
    before = snapshot(real / "exp/results-kaldi")
    run = ok(cli("stage", "asv-scores", *common))
    assert "score files: 6 external, 30 of 36 missing (" in run.out
    assert "6 score files supplied or edited, used unchanged: kaldi " in run.err
    assert snapshot(real / "exp/results-kaldi") == before


def test_a_tree_without_a_back_end_is_an_error(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path / "t")
    shutil.rmtree(tree.root / "exp/models")
    refused(tree.run("asv-scores"), "no back end for 3 score files: ")
    for path in tree.all_scores.values():
        lines_to(path, ["s1 s1-u0 1"])
    assert tree.run("asv-scores").code == 0  # a tree of scores needs none


@needs_real_tree
def test_evaluation_of_kaldis_scores(tmp_path: Path) -> None:
    """Scores by Kaldi; the expected values are those of independent tools."""
    out = tmp_path / "out"
    options = ("--tree", REAL_TREE, "--results", "exp/results-kaldi", "--out", out)
    for verb in ("privacy-metrics", "collect"):
        ok(cli("stage", verb, *options))
    verification = json.loads((out / "results.json").read_text())["verification"]
    records = {record["condition"]: record for record in verification}
    conditions = expected()["conditions"]
    assert set(records) == set(conditions) and len(records) == 6
    text = (out / "results.txt").read_text()
    for name, wanted in conditions.items():
        record = records[name]
        assert {n: record["facts"][n] for n in COUNTED} == {n: wanted[n] for n in COUNTED}
        for variant, tool in (("challenge", "reference"), ("exact", "exact")):
            of_variant = [row for row in record["rows"] if row["variant"] == variant]
            (tag,) = (row["tag"] for row in of_variant if "tag" in row)
            assert_golden({**metrics_of(record)[variant], "zebra_tag": tag}, wanted[tool])
        assert f"{name}\n  EER: {wanted['kaldi_compute_eer_stdout'].strip()}%\n" in text
