"""Import of the results files of 2022, 2024 and 2026."""

import re
import shutil
from pathlib import Path

import pytest
from support import ANON, PUBLISHED_FILES, ROOT, SUMMARY, averages_of, cli, csv_rows, ok, refused

from privacy_eval.metrics.eer import eer_percent
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import Results, folds_of, line_of

RANKS = [
    (edition, path.name)
    for edition in ("vpc2024", "vpc2026_track1", "vpc2026_track2")
    for path in sorted((PUBLISHED_FILES / edition).glob("result_for_rank*"))
]
SUMMARIES_2022 = [
    ("vpc2022", f"RESULTS_summary_{s}") for s in "mcadams tts_joint_hifigan tts_old_c".split()
]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    shutil.unpack_archive(ROOT / "tests/data/golden/editions/trees.tar.xz", folder)
    return folder


def imported(path: Path, conf: str, out: Path, *options: object) -> Results:
    ok(cli("import", path, "--system", "X", "--conf", conf, "--out", out, *options))
    return read_results(out)


#: Kinds of values by the columns of a summary.
COLUMNS = {"EER": "eer_speechbrain", "WER": "wer", "UAR": "uar"}
WORDS = {"original": "original", "anon": "anonymized"}


def check_rank(results: Results, text: str) -> None:
    """Every number of a `result_for_rank*` is the value of one record, and no record has others."""
    expected: list[tuple[tuple[str, ...], str, float]] = []
    header: list[str] = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["dataset"]:
            header = words
        elif words and words[0] not in ("----", "mean"):
            n_identity = next(n for n, name in enumerate(header) if name.isupper() or "_" in name)
            cells = words[-len(header) :]
            identity = tuple(WORDS.get(cell, cell) for cell in cells[:n_identity])
            expected += [
                (identity, COLUMNS.get(name, name.lower()), float(cell))
                for name, cell in zip(header[n_identity:], cells[n_identity:], strict=True)
            ]
    read = []
    for record in results.records():
        c = vars(record.condition)
        names = ("data_set", "split", "gender", "enrollment", "trial")
        identity = tuple(c[name] for name in names if c[name])
        for values in record.by_variant().values():
            read += [(identity, key, pytest.approx(100 * value)) for key, value in values.items()]
    assert len(read) == len(expected) > 0
    assert sorted(expected) == sorted(read, key=lambda entry: (*entry[:2], entry[2].expected))


@pytest.mark.parametrize(
    ("conf", "file"),
    [
        ("vpc2024", "tree2024/exp/results_summary/result_for_rank_toy"),
        ("vpc2024", "tree2024/exp/results_summary/eval_anon_toy/results_anon.txt"),
        ("vpc2026_track1", "tree2026/exp/results_summary/track1/result_for_rank_toy"),
    ],
)
def test_every_value_of_a_summary_is_imported(
    conf: str, file: str, trees: Path, tmp_path: Path
) -> None:
    results = imported(trees / file, conf, tmp_path / "r.json", "--anon-suffix", "_toy")
    check_rank(results, (trees / file).read_text())


def test_values_belong_to_their_attack_models(trees: Path, tmp_path: Path) -> None:
    """The same heading holds original speech in 2024, lazy-informed attacks in 2026."""
    file = trees / "tree2024/exp/results_summary/result_for_rank_toy"
    results = imported(file, "vpc2024", tmp_path / "a.json")
    eers = {
        (c.attack_model, c.split, c.gender): v.by_variant()["challenge"]["eer_speechbrain"]
        for v in results.verification
        for c in (v.condition,)
    }
    assert eers["original", "dev", "f"] == 0.09375
    assert eers["semi-informed", "test", "m"] == 0.25
    assert len(eers) == 8
    rates = {
        (r.condition.trial, r.condition.split): r.find("wer")["value"] for r in results.recognition
    }
    assert rates["anonymized", "test"] == pytest.approx(0.18118, abs=1e-12)
    [uar] = [e for e in results.emotion if e.condition.name == "SER-IEMOCAP_test_anon"]
    assert (
        uar.values()["uar"] == pytest.approx(0.470832, abs=1e-12) and "acc_sad" not in uar.values()
    )
    by_title = averages_of(results)
    eer = by_title["Weighted average EER (SpeechBrain) test anon"]
    assert eer == pytest.approx((28.125 + 25) / 2)
    assert by_title["Average WER test anon"] == pytest.approx(18.118)

    file = trees / "tree2026/exp/results_summary/track1/result_for_rank_toy"
    results = imported(file, "vpc2026_track1", tmp_path / "b.json")
    attacks = {v.condition.attack_model for v in results.verification}
    assert attacks == {"lazy-informed", "semi-informed"}


def test_csv_files(trees: Path, tmp_path: Path) -> None:
    exp, out = trees / "tree2024/exp", tmp_path / "r.json"
    for model, attack in (("asv_orig", "lazy-informed"), ("asv_anon_toy", "semi-informed")):
        results = imported(exp / model / "results_toy.csv", "vpc2024", out)
        names = {v.condition.attack_model for v in results.verification}
        assert attack in names and len(results.verification) == 12
    assert len(imported(exp / "asr/results_toy.csv", "vpc2024", out).recognition) == 8
    folds = imported(exp / "ser/results_folds_toy.csv", "vpc2024", out).emotion
    means = imported(exp / "ser/results_toy.csv", "vpc2024", out).emotion
    assert {len(folds_of(e)) for e in folds} == {5}
    by_set = {e.condition: e.values() for e in folds}
    for e in means:
        for name, value in e.values().items():
            assert by_set[e.condition][name] == pytest.approx(value, abs=1e-12)
    # 2026 keeps the recall that one speaker has no utterance of, as the mean of four.
    sad = imported(trees / "tree2026/exp/ser/results_toy.csv", "vpc2026_track1", out).emotion
    for e in sad:
        assert by_set[e.condition]["acc_sad"] == pytest.approx(e.values()["acc_sad"], abs=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("anon,50.0,50.0,", "anon,,50.0,", r":13: expected .*UAR"),
        ("anon,50.0,50.0,", "anon,97.0,50.0,", r"fold 2: the UAR is not the mean .* 50.000 %"),
        ("anon,50.0,50.0,", "anon,,,", r":13: expected .*UAR"),
        ("anon,50.0,50.0,", "anon,50.3,151.0,", r":13: expected .*at most 100 %"),
        ("11,IEMOCAP,dev,2,anon", "11,IEMOCAP,dev,6,anon", "the fold 2, 6"),
        ("ACC_ang,ACC_hap", "ACC_ang,ACC_ang", "columns .*each once"),
    ],
)
def test_folds_that_contradict_themselves_are_refused(
    trees: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = (trees / "tree2024/exp/ser/results_folds_toy.csv").read_text()
    assert text.count(old) == 1
    path = tmp_path / "results_folds_toy.csv"
    path.write_text(text.replace(old, new))
    done = cli("import", path, "--system", "X", "--conf", "vpc2024", "--out", tmp_path / "r.json")
    assert done.code == 1
    assert re.search(message, done.err), done.err
    path.write_text("".join(x for x in text.splitlines(True) if not x.startswith("12,")))
    done = cli("import", path, "--system", "X", "--conf", "vpc2024", "--out", tmp_path / "r.json")
    assert done.code == 1 and "has the fold 3" in done.err


def test_a_blank_value_of_a_csv_is_refused(trees: Path, tmp_path: Path) -> None:
    for name in ("asv_orig", "asr"):
        text = (trees / f"tree2024/exp/{name}/results_toy.csv").read_text()
        first, row, rest = text.split("\n", 2)
        path = tmp_path / name / "results_toy.csv"
        path.parent.mkdir()
        path.write_text(f"{first}\n{row.rpartition(',')[0]},\n{rest}")
        done = cli(
            "import", path, "--system", "X", "--conf", "vpc2024", "--out", tmp_path / "r.json"
        )
        assert done.code == 1 and f"{path}:2: expected" in done.err


def test_a_csv_elsewhere_needs_its_asv_model(trees: Path, tmp_path: Path) -> None:
    copy, out = tmp_path / "results.csv", tmp_path / "r.json"
    copy.write_text((trees / "tree2024/exp/asv_orig/results_toy.csv").read_text())
    options = ("import", copy, "--system", "X", "--conf", "vpc2024", "--out", out)
    done = cli(*options)
    assert done.code == 1 and "--attack-model" in done.err and not out.exists()
    assert cli(*options, "--results-folder", ".orig").code == 0
    assert {v.condition.asv_model for v in read_results(out).verification} == {"original"}


def check_summary_of_2022(results: Results, text: str) -> None:
    """Every line but the averages is the value of one record."""
    printed = {}
    for r in results.verification:
        printed[f"{r.condition.name}  EER"] = eer_percent(r.values("challenge")["eer"])
    for w in results.recognition:
        printed[f"{w.condition.name}  %WER"] = f"{100 * line_of(w).wer:.2f}"
    for u in results.utility:
        mean = u.values()["pitch_correlation_mean"]
        printed[f"{u.condition.name}  Pitch_correlation"] = f"{mean:.4f}"
    for s in results.similarity:
        gvd = s.values("challenge")["gvd_db"]
        printed[f"{s.condition.name}  Gain of voice distinctiveness"] = repr(gvd)
    lines = [line for line in text.splitlines() if "verage" not in line]
    form = re.compile(
        r"(\S+  (?:EER|%WER|Pitch_correlation|Gain of [a-z ]+[a-z]))[ :]+(?:mean=)?([^ %]+)"
    )
    matches = [form.match(line) for line in lines]
    assert {m[1]: m[2] for m in matches if m} == printed
    assert len(lines) == len(printed) == len(list(results.records()))


@pytest.mark.parametrize("path", [SUMMARY, ANON], ids=lambda p: p.name)
def test_pitch_correlations_by_chance_are_imported(path: Path, tmp_path: Path) -> None:
    """Lines of the verb `pitch` in place of those of the challenge's script."""
    copy = tmp_path / path.name
    copy.write_text(re.sub("(Pitch_correlation: .*)", r"\1 chance=0.2570", path.read_text()))
    results = imported(copy, "vpc2022", tmp_path / "r.json")
    assert {u.values()["pitch_correlation_chance"] for u in results.utility} == {0.257}
    without = imported(path, "vpc2022", tmp_path / "without.json")
    assert not any("pitch_correlation_chance" in u.values() for u in without.utility)


def test_every_value_of_the_summary_of_2022_is_imported(tmp_path: Path) -> None:
    results = imported(SUMMARY, "vpc2022", tmp_path / "r.json")
    check_summary_of_2022(results, SUMMARY.read_text())
    text = SUMMARY.read_text().splitlines()
    printed = dict(line.split(": ") for line in text if "verage" in line)
    averages = {t: value for t, value in averages_of(results).items() if value is not None}
    assert len(averages) == 12
    for title, value in printed.items():
        assert averages[title] == pytest.approx(float(value), abs=6e-4), title


BROKEN = [
    ("---- ASV_eval results ----", "---- ASV_x results ----", "unknown heading"),
    ("ACC_ang", "ACC_joy", "columns"),
    ("  mean     mean", "  mean     mode", "expected dataset split ser UAR"),
    ("13.542", "13.54x", "expected"),
    ("13.542", "113.542", "100 %"),
    ("3   libri   dev      m", "3   libri   dev      f", ":14: another EER than at"),
    ("3   libri   dev      m", "3   libri   dev      x", "not part of protocol"),
    ("0   libri   dev  original", "0   vctk    dev  original", ""),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN)
def test_other_forms_are_refused(
    old: str, new: str, message: str, trees: Path, tmp_path: Path
) -> None:
    text = (trees / "tree2024/exp/results_summary/result_for_rank_toy").read_text()
    assert old in text
    file = tmp_path / "rank"
    file.write_text(text.replace(old, new, 1))
    done = cli("import", file, "--system", "X", "--conf", "vpc2024", "--out", tmp_path / "r.json")
    assert done.code == 1 and message in done.err and str(file) in done.err
    assert not (tmp_path / "r.json").exists()


# --- published files


@pytest.mark.parametrize(("conf", "name"), [*RANKS, *SUMMARIES_2022])
def test_every_value_of_published_summaries_is_imported(
    conf: str, name: str, tmp_path: Path
) -> None:
    file = PUBLISHED_FILES / conf / name
    check = check_summary_of_2022 if conf == "vpc2022" else check_rank
    check(imported(file, conf, tmp_path / "r.json"), file.read_text())


def test_every_published_value_is_in_the_tables(tmp_path: Path) -> None:
    rows = csv_rows(PUBLISHED_FILES / "published_2024_2026.csv")
    assert (len(rows), len(RANKS)) == (472, 14)
    by_file: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_file.setdefault(row["source"].rsplit(":", 1)[0], []).append(row)
    for source, values in by_file.items():
        out = tmp_path / "r.json"
        results = imported(PUBLISHED_FILES / source, source.split("/")[0], out)
        ok(cli("tables", "--results", out, "--out", tmp_path / "tables"))
        text = "".join(p.read_text() for p in (tmp_path / "tables").rglob("*.csv"))
        printed = {float(cell) for cell in text.replace("\n", ",").split(",") if _is_number(cell)}
        assert {float(row["value_as_printed"]) for row in values} <= printed
        count = len(results.verification) + len(results.recognition)
        assert count + sum(len(e.values()) for e in results.emotion) == len(values)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def test_averages_that_contradict_their_parts_are_refused(tmp_path: Path) -> None:
    text = SUMMARY.read_text()
    path = tmp_path / "RESULTS_summary_mcadams"
    options = ("--system", "S", "--conf", "vpc2022", "--out", tmp_path / "r.json")
    for title in ("Weighted average EER test anon", "Average WER dev orig"):
        line = next(x for x in text.splitlines() if x.startswith(title))
        path.write_text(text.replace(line, f"{title}: 49.999"))
        done = cli("import", path, *options)
        number = text.splitlines().index(line) + 1
        assert done.code == 1 and f"{path}:{number}: {title}: 49.999 is not" in done.err
    path.write_text(text)
    assert cli("import", path, *options).code == 0


def test_a_hull_above_the_eer_and_a_system_without_a_name_are_refused(tmp_path: Path) -> None:
    text = (ROOT / "tests/data/golden/results/vpc2022_results.anon_mcadams").read_text()
    path = tmp_path / "results.txt"
    line = next(x for x in text.splitlines() if "ROCCH-EER" in x)
    path.write_text(text.replace(line, "  ROCCH-EER: 49.793%", 1))
    options = ("--conf", "vpc2022", "--out", tmp_path / "r.json", "--system")
    refused(cli("import", path, *options, "S"), "rocch_eer 0.49793 is above eer")
    path.write_text(text)
    assert cli("import", path, *options, "").code == 1
    assert cli("import", path, *options, "S").code == 0
