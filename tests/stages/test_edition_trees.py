"""Trees of 2024 and 2026 as the challenges leave them: found, evaluated, and every number of
their summaries."""

import itertools
import json
import re
import shutil
from pathlib import Path

import pytest
from support import ROOT, cli, csv_rows, ok, refused

from privacy_eval import wings
from privacy_eval.numbers.cells import interval_of
from privacy_eval.numbers.report_data import read_report_data
from privacy_eval.numbers.report_sources import ReportSources
from privacy_eval.products.freshness import NOTE
from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import Results, folds_of, galleries, line_of

EDITIONS = {"vpc2024": ("tree2024", "asv_orig"), "vpc2026_track1": ("tree2026", "asv_ssl")}
WORDS = {"original": "original", "anonymized": "anon"}

Rows = set[tuple[str, ...]]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    shutil.unpack_archive(ROOT / "tests/data/golden/editions/trees.tar.xz", folder)
    return folder


@pytest.fixture
def tree(trees: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of the tree of a protocol."""
    shutil.copytree(trees / EDITIONS[getattr(request, "param", "vpc2024")][0], tmp_path / "tree")
    return tmp_path / "tree"


def evaluated(tree: Path, conf: str, *options: object) -> Results:
    common = ("--tree", tree, "--results", "exp", "--conf", conf, *options)
    for verb in ("privacy-metrics", "collect"):
        ok(cli("stage", verb, *common))
    return read_results(tree / "exp" / "privacy_eval" / "results.json")


def eers(results: Results, system: str, asv_model: str) -> Rows:
    """Rows of `results*.csv`, as printed there."""
    return {
        (c.data_set, c.split, c.gender, WORDS[c.enrollment], WORDS[c.trial], rounded(eer))
        for v in results.verification
        for c, eer in [(v.condition, v.by_variant()["challenge"]["eer_speechbrain"])]
        if (c.system, c.asv_model) == (system, asv_model)
    }


def rounded(rate: float) -> str:
    return str(round(100 * rate, 3))


def table(path: Path, *, skip: int = 0) -> list[dict[str, str]]:
    return csv_rows(path)[skip:]


def expected_eers(path: Path) -> Rows:
    columns = ("dataset", "split", "gender", "enrollment", "trial", "EER")
    return {tuple(row[c] for c in columns) for row in table(path)}


@pytest.mark.parametrize(("tree", "conf"), [(c, c) for c in EDITIONS], indirect=["tree"])
def test_every_number_of_the_summaries(tree: Path, conf: str) -> None:
    results, original = evaluated(tree, conf), EDITIONS[conf][1]
    assert results.systems == ["toy"]
    found = eers(results, "toy", "original")
    assert found == expected_eers(tree / "exp" / original / "results_toy.csv")
    found = eers(results, "toy", "anonymized")
    assert found == expected_eers(tree / "exp/asv_anon_toy/results_toy.csv")
    rates = {
        (c.data_set, c.split, WORDS[c.trial], rounded(r.find("wer")["value"]))
        for r in results.recognition
        for c in [r.condition]
    }
    rows = table(tree / "exp/asr/results_toy.csv")
    expected = {(r["dataset"], r["split"], r["asr"], r["WER"]) for r in rows}
    present = {path.name.split("_")[0] for path in (tree / "exp/asr").iterdir() if path.is_dir()}
    assert rates == {row for row in expected if row[0] in present}
    emotion = {
        (c.data_set, c.split, WORDS[c.trial]): e for e in results.emotion for c in [e.condition]
    }
    rows = table(tree / "exp/ser/results_toy.csv", skip=1)
    assert len(rows) == len(emotion) == 4
    for row in rows:
        record = emotion[row["dataset"], row["split"], row["ser"]]
        assert len(folds_of(record)) == 5
        for name in row.keys() - {"", "dataset", "split", "ser"}:
            assert 100 * record.values()[name.lower()] == pytest.approx(float(row[name]), abs=1e-9)


def test_other_layouts_give_the_same_numbers(tree: Path) -> None:
    """VoicePAT's `cosine_out`; two systems that share the model trained on original speech."""
    exp = tree / "exp"
    for model in ("asv_orig", "asv_anon_toy"):
        (exp / model / "cosine_out").mkdir()
        for folder in list((exp / model).iterdir()):
            if folder.is_dir() and folder.name != "cosine_out":
                folder.rename(exp / model / "cosine_out" / folder.name)
    other = exp / "asv_anon_other_toy"
    shutil.copytree(exp / "asv_anon_toy", other)
    for folder in [*other.glob("cosine_out/*"), *exp.glob("asv_orig/cosine_out/*_toy")]:
        new = folder.with_name(folder.name.replace("_toy", "_other_toy"))
        if folder.parents[1].name == "asv_orig":
            shutil.copytree(folder, new)
        else:
            folder.rename(new)
    results = evaluated(tree, "vpc2024")
    assert results.systems == ["other_toy", "toy"]
    for system in results.systems:
        found = eers(results, system, "original")
        assert found == expected_eers(exp / "asv_orig/results_toy.csv")
        found = eers(results, system, "anonymized")
        assert found == expected_eers(exp / "asv_anon_toy/results_toy.csv")
    only = evaluated(tree, "vpc2024", "--anon-suffix", "_toy")
    assert only.systems == ["toy"]
    both = evaluated(tree, "vpc2024", "--anon-suffix", "_toy", "--anon-suffix", "_other_toy")
    assert both.systems == results.systems
    for folder in (tree / "data").glob("*_toy"):  # as in a collection of submissions
        shutil.rmtree(folder)
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024", "--anon-suffix", "_toy")
    done = cli("stage", "privacy-metrics", *common, "--anon-suffix", "_typo")
    assert done.code == 2 and "'_typo'" in done.err and done.err.rstrip().endswith("_toy")
    assert cli("stage", "privacy-metrics", *common).code == 0


def collection(tree: Path) -> Path:
    """Three teams' systems of one suffix: one complete, one as in the challenge's zip, one with
    scores of its attacker only; the speech recognition and scores of original speech above them."""
    exp = tree / "exp"
    for folder in (tree / "data").glob("*_toy"):
        shutil.rmtree(folder)
    shutil.copytree(exp, exp / "red" / "first")
    zipped = exp / "green" / "result_for_submission_toy" / "exp"
    shutil.copytree(exp / "red" / "first", zipped)
    for folder in [*zipped.glob("asv_orig/*"), *zipped.glob("asr/*")]:
        if folder.is_dir() and not folder.name.endswith("_toy"):
            shutil.rmtree(folder)
    shutil.move(exp / "asv_anon_toy", exp / "blue" / "asv_anon_toy")
    for path in [*exp.glob("asv_orig/*_toy"), *exp.glob("asr/*_toy"), exp / "ser"]:
        shutil.rmtree(path)
    for path in (exp / "blue").glob("asv_anon_toy/*"):
        if path.is_dir() and path.name.count("_toy") < 2:
            shutil.rmtree(path)
    return exp


@pytest.mark.wing("organizers")
def test_submissions_of_many_teams(tree: Path) -> None:
    """Each is a system set of its own; what is the same for all is beside them."""
    summary = (tree / "exp/asv_anon_toy/results_toy.csv").read_text()
    exp = collection(tree)
    options = ("--tree", tree, "--results", "exp", "--conf", "vpc2024", "--format", "json")
    teams = [word for team in ("blue", "green", "red") for word in ("--confirm", team)]
    for names_of_teams, status in ((teams, "ready"), ([], "incomplete")):  # the same scores
        checked = cli("stage", "check", *options, *names_of_teams).out
        rows = {row["team"]: row for row in json.loads(checked)}
        names = ["blue/toy", "green/toy", "red/first/toy"]
        assert [name for name in sorted(rows) if name] == names
        assert {rows[name]["status"] for name in names} == {status}
    assert [rows[name]["expected"] for name in names] == [8, 24, 24]
    results = evaluated(tree, "vpc2024")
    assert results.systems == names and not results.not_evaluated
    (tree / "expected.csv").write_text(summary)
    for name in names:
        found = eers(results, name, "anonymized")
        expected = expected_eers(tree / "expected.csv")
        is_complete = name != "blue/toy"
        assert found == {row for row in expected if is_complete or row[3:5] == ("anon", "anon")}
    original = {c.condition.system for c in results.verification if c.condition.is_original}
    assert original == set(names)
    decoded = {(r.condition.system, r.condition.trial) for r in results.recognition}
    both = {(name, speech) for name in names[1:] for speech in WORDS}
    assert decoded == both | {(names[0], "original")}
    assert {e.condition.system for e in results.emotion} == set(names[1:])
    shutil.rmtree(exp / "asv_orig")
    shutil.rmtree(exp / "asr")
    shutil.move(exp / "blue/asv_anon_toy", exp / "blue/asv_of_ours")
    table_of_all = json.loads(cli("stage", "check", *options, *teams).out)
    assert not any("original speech" in row["problem"] for row in table_of_all)
    (green,) = (row for row in table_of_all if row["team"] == "green/toy")
    assert (green["status"], green["expected"]) == ("ready", 20)
    (blue,) = (row for row in table_of_all if row["team"] == "blue")
    assert (blue["status"], blue["conditions"]) == ("incomplete", 0)
    assert blue["file"] == str(exp / "blue") and "no scores" in blue["problem"]
    done = cli("stage", "privacy-metrics", *options[:-2])
    assert done.code == 0 and f"warning: {exp / 'blue'}: no scores" in done.err
    assert cli("stage", "collect", *options[:-2]).code == 0
    (line,) = (exp / "privacy_eval/left_out.txt").read_text().splitlines()
    assert line.startswith("blue: no scores")  # red has those of original speech
    for folder in exp.glob("red/first/asv_*/libri_*_enrolls-libri_*_trials_[fm]"):
        shutil.rmtree(folder)
    table_of_all = json.loads(cli("stage", "check", *options, *teams).out)
    assert any("original speech" in row["problem"] for row in table_of_all if not row["team"])
    (red,) = (row for row in table_of_all if row["team"] == "red/first/toy")
    assert (red["status"], red["expected"]) == ("ready", 16)


def test_results_of_a_suffix_above_the_only_team_that_has_it(tree: Path) -> None:
    exp = tree / "exp"
    shutil.move(exp / "asv_anon_toy", exp / "red" / "asv_anon_toy")
    results = evaluated(tree, "vpc2024")
    assert results.systems == ["red/toy"] and len(results.verification) == 24
    assert len(results.emotion) == 4


@pytest.mark.parametrize("tree", ["vpc2026_track1"], indirect=True)
def test_four_languages_with_an_attacker_each(tree: Path) -> None:
    """Track 2: the trial sets of Track 1 by other names."""
    exp = tree / "exp"
    rows: Rows = set()
    for lang, epochs in (("en", 4), ("de", 10), ("fr", 10), ("es", 10)):
        for folder in [*(tree / "data").glob("libri_*"), *exp.glob("asv_*/libri_*")]:
            model = folder.parent.name
            if model == "asv_anon_toy":
                model = f"asv_anon_track2_{epochs}_{lang}_toy"
            new = folder.parents[1] / model / folder.name.replace("libri", lang)
            shutil.copytree(folder, new)
        for model in ("asv_ssl", "asv_anon_toy"):
            expected = expected_eers(exp / model / "results_toy.csv")
            rows |= {(lang, *row[1:], model) for row in expected}
    results = evaluated(tree, "vpc2026_track2")
    assert results.systems == ["toy"]
    models = {"original": "asv_ssl", "anonymized": "asv_anon_toy"}
    found = {(*row, models[m]) for m in models for row in eers(results, "toy", m)}
    assert found == rows and len(rows) == 48


@pytest.mark.wing("utility")
@pytest.mark.parametrize("tree", list(EDITIONS), indirect=True)
def test_word_errors_of_transcripts(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the challenge's `wer`, its numbers; with it, intervals besides."""
    conf = "vpc2026_track1" if (tree / "exp/asv_ssl").is_dir() else "vpc2024"
    shutil.rmtree(tree / "exp/ser")
    for folder in (tree / "exp/asr").glob("IEMOCAP*"):
        shutil.rmtree(folder)
    common = ("--tree", tree, "--results", "exp", "--conf", conf)
    rated = {r.condition.name: r for r in evaluated(tree, conf).recognition}
    assert len(rated) == 4 and not any("low" in r.find("wer") for r in rated.values())
    with monkeypatch.context() as patch:
        for module in ("stages.privacy_metrics", "utility.transcripts"):
            patch.setattr(f"privacy_eval.{module}.can_align", lambda: False)
        done = cli("stage", "privacy-metrics", *common, "--bootstrap", 40)
        assert done.code == 0 and "intervals of word error rates need kaldialign" in done.err
    done = cli("stage", "privacy-metrics", *common, "--bootstrap", 40)
    assert done.code == 0 and "kaldialign" not in done.err
    assert cli("stage", "collect", *common).code == 0
    results = read_results(tree / "exp/privacy_eval/results.json")
    for record in results.recognition:
        row, line = record.find("wer"), line_of(record)
        assert row["low"] < line.wer == row["value"] < row["high"]
        assert line == line_of(rated[record.condition.name])
        assert sum(record.facts["speakers"].words) == line.words
    rows = csv_rows(tree / "exp/privacy_eval/results.csv")
    assert all(row["low"] for row in rows if row["metric"].startswith("wer"))
    data = read_report_data(ReportSources((tree / "exp/privacy_eval/results.json",)))
    for split in ("dev", "test"):
        (one,) = data.trade_offs[split]
        assert one["low"] is not None
        bounds = {m: interval_of(of) for m, of in one["utility"].items() if interval_of(of)}
        mean = one["utility"]["wer"]  # its replicates are those that the record's interval is of
        assert mean["replicates"] is not None
        assert bounds == {"wer": interval_of(mean["parts"][0])}
    for path in (tree / "exp/asr").glob("*/wer"):
        path.unlink()
    done = cli("stage", "collect", *common)
    assert done.code == 0  # the transcripts are evaluated already
    for record in evaluated(tree, conf).recognition:
        assert line_of(record) == line_of(rated[record.condition.name])
        assert "low" not in record.find("wer")
        assert "text" in str(record.provenance["inputs"])
    text = tree / "exp/asr/libri_dev_asr_toy/text"
    text.write_text(text.read_text().replace("\n", " MORE\n", 1))
    refused(cli("stage", "collect", *common), "libri_dev_asr_toy")
    text.write_text(text.read_text() + "unknown-1 A\n")
    refused(cli("stage", "privacy-metrics", *common), "unknown-1")


def test_transcripts_without_the_wing_that_counts_their_words(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rates that are there are collected; the set without one is named, and so are records."""
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    rated = {r.condition.name for r in evaluated(tree, "vpc2024").recognition}
    (tree / "exp/asr/libri_dev_asr_toy/wer").unlink()
    others = {wing.name: wing for wing in wings.installed() if wing.name != "utility"}
    monkeypatch.setattr(wings, "_found", lambda: (others, {"utility": "no module"}))
    (tree / f"exp/privacy_eval/records/toy/.recognition-libri_dev_asr{NOTE}").touch()
    done = ok(cli("stage", "privacy-metrics", *common, "--bootstrap", 40))
    assert "intervals of word error rates: not installed: none of" in done.err
    ok(cli("stage", "collect", *common))
    results = read_results(tree / "exp/privacy_eval/results.json")
    (missing,) = rated - {r.condition.name for r in results.recognition}
    left_out = (tree / "exp/privacy_eval/left_out.txt").read_text()
    assert f"toy {missing}: what counts its word errors is not installed" in left_out
    assert "of a stage that is not installed: recognition" in left_out


@pytest.mark.wing("utility")
def test_empty_hypotheses_count_as_the_variant_of_the_tree(tree: Path) -> None:
    """The challenge's script counts an empty hypothesis as a word: as a substitution."""
    (tree / "exact.yaml").write_text("extends: vpc2024\nvariant: exact\n")
    folder = tree / "exp/asr/libri_dev_asr_toy"
    (folder / "wer").unlink()
    text = folder / "text"
    text.write_text("".join(f"{line.split()[0]}\n" for line in text.read_text().splitlines()))
    utterances = len(text.read_text().split())
    counts = {}
    for conf in ("vpc2024", "exact.yaml"):
        common = ("--tree", tree, "--results", "exp", "--conf", conf)
        done = ok(cli("stage", "privacy-metrics", *common))
        assert f"empty hypotheses: {utterances}" in done.err
        other = "challenge" if conf == "exact.yaml" else "exact"
        assert f"wer --variant {other}: 100.00 %" in done.err
        assert cli("stage", "collect", *common).code == 0
        results = read_results(tree / "exp/privacy_eval/results.json")
        lines = {r.condition.name: line_of(r) for r in results.recognition}
        counts[conf] = lines["ASR-libri_dev_asr_toy"]
    assert counts["vpc2024"].substitutions == utterances
    assert counts["exact.yaml"].substitutions == 0
    assert {line.wer for line in counts.values()} == {1.0}


def leave_vectors(tree: Path) -> None:
    """Vectors of the male trial sets and the enrollment sets, as the challenge leaves them."""
    golden = ROOT / "tests/data/golden/speaker_vectors"
    for model, split in itertools.product(("asv_orig", "asv_anon_toy"), ("dev", "test")):
        for name in (f"libri_{split}_enrolls", f"libri_{split}_trials_m"):
            for suffix, matrix in (("", "float64"), ("_toy", "transposed")):
                folder = tree / f"exp/{model}/cosine_out/emb_xvect/{name}{suffix}/utt-level"
                folder.mkdir(parents=True)
                shutil.copy(golden / matrix / "speaker_vectors.pt", folder)
                lines = (tree / f"data/{name}{suffix}/utt2spk").read_text().splitlines()
                ids = [*(line.split()[0] for line in lines), "x", "y", "z"][:24]
                text = "".join(f"{u} {row}\n" for row, u in enumerate(ids))
                (folder / "id2idx").write_text(text)


@pytest.mark.wing("disclosure")
def test_vectors_that_are_left_are_compared_by_cosine(tree: Path) -> None:
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    for verb in ("similarity", "identification"):
        done = cli("stage", verb, *common)
        assert done.code == 0 and "does not apply" in done.out and "emb_xvect" in done.out
    leave_vectors(tree)
    for verb, made in (("similarity", 4), ("identification", 8)):
        done = ok(cli("stage", verb, *common))
        assert f"{made} up to date (" in done.out
    results = evaluated(tree, "vpc2024")
    assert {(s.condition.split, s.condition.asv_model) for s in results.similarity} == {
        (split, model) for split in ("dev", "test") for model in WORDS
    }
    assert all(s.provenance["backend"] == "cosine" for s in results.similarity)
    data = tree / "data/libri_dev_trials_m"
    emb = tree / "exp/asv_orig/cosine_out/emb_xvect"
    original, anonymized = (
        emb / f"libri_dev_trials_m{s}/utt-level/speaker_vectors.pt" for s in ("", "_toy")
    )
    words = ("--original", original, "--anonymized", anonymized, "--utt2spk", data / "utt2spk")
    alone = json.loads(
        cli(
            "similarity", *words, "--backend", "cosine", "--format", "json", "--variant", "both"
        ).out
    )
    (ours,) = (
        s
        for s in results.similarity
        if (s.condition.name, s.condition.asv_model) == (data.name, "original")
    )
    for variant in ("challenge", "exact"):
        assert ours.values(variant)["deid"] == alone[variant]["deid"]
    enrolls = (emb / "libri_dev_enrolls/utt-level/speaker_vectors.pt").parent
    (enrolls / "id2idx").unlink()
    refused(cli("stage", "identification", *common), "id2idx")


def stage_7(tree: Path) -> dict[tuple[str, str], list[object]]:
    """Run voice similarity and identification; their numbers by system and condition."""
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    for verb in ("similarity", "identification"):
        ok(cli("stage", verb, *common))
    results = evaluated(tree, "vpc2024")
    numbers: dict[tuple[str, str], list[object]] = {
        (s.condition.system, f"{s.condition.name} {s.condition.asv_model}"): [s.by_variant()]
        for s in results.similarity
    }
    for i in results.identification:
        numbers[i.condition.system, f"{i.condition.name} {i.condition.asv_model}"] = [
            galleries(i)["value"].tolist()
        ]
    return numbers


@pytest.mark.wing("disclosure")
def test_vectors_in_the_folders_of_teams(tree: Path) -> None:
    """Two teams of one suffix; the vectors of original speech are in the shared folder above."""
    leave_vectors(tree)
    exp, emb = tree / "exp", "asv_orig/cosine_out/emb_xvect"
    alone = stage_7(tree)
    assert len(alone) == 12
    shutil.rmtree(exp / "privacy_eval")
    for folder in (tree / "data").glob("*_toy"):
        shutil.rmtree(folder)
    red, green = exp / "red", exp / "green/result_for_submission_toy/exp"
    shutil.move(exp / "asv_anon_toy", red / "asv_anon_toy")
    for path in [*(exp / "asv_orig").glob("*_toy"), *(exp / emb).glob("*_toy")]:
        shutil.move(path, red / path.relative_to(exp))
    shutil.copytree(red, green)
    for path in green.rglob("*_toy/utt-level/id2idx"):  # other vectors
        first, *others, last = (line.split()[0] for line in path.read_text().splitlines())
        lines = (f"{u} {row}\n" for row, u in enumerate((first, *others[::-1], last)))
        path.write_text("".join(lines))
    together = stage_7(tree)
    assert {system for system, _ in together} == {"red/toy", "green/toy"}
    of_red, of_green = (
        {name: n for (system, name), n in together.items() if system == f"{team}/toy"}
        for team in ("red", "green")
    )
    assert of_red == {name: numbers for (_, name), numbers in alone.items()}
    assert of_green.keys() == of_red.keys() and of_green != of_red
    shutil.rmtree(exp / "privacy_eval")
    shutil.rmtree(red)  # the vectors of green are nowhere else
    assert {n: v for (_, n), v in stage_7(tree).items()} == of_green
    shutil.copytree(green / "asv_anon_toy", red / "asv_anon_toy")
    shutil.rmtree(red / "asv_anon_toy/cosine_out")  # never those of another team
    of_red = {name: n for (system, name), n in stage_7(tree).items() if system == "red/toy"}
    assert not any("_toy" in name for name in of_red)


@pytest.mark.wing("organizers")
def test_check_finds_what_is_missing(tree: Path) -> None:
    options = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    done = cli("stage", "check", *options)
    assert done.code == 0 and "24/24" in done.out
    (tree / "exp/asv_anon_toy/libri_dev_enrolls_toy-libri_dev_trials_f_toy/scores").unlink()
    done = cli("stage", "check", *options)
    assert "in part: 23 of 24" in done.out
    assert (
        "libri_dev_enrolls_toy-libri_dev_trials_f_toy"
        in cli("stage", "check", *options, "--details").out
    )


@pytest.mark.wing("organizers")
def test_damaged_tables_are_named(tree: Path) -> None:
    path = tree / "exp/ser/results_folds_toy.csv"
    path.write_text(path.read_text().replace("47.917", "nan", 1))
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    assert cli("stage", "privacy-metrics", *common).code == 0
    refused(cli("stage", "collect", *common), f"{path}:2")
    results = read_results(tree / "exp/privacy_eval/results.json")
    assert results.verification and not results.not_evaluated
    assert [name for name, (line,) in results.failed.items() if f"{path}:2" in line]
    rows = json.loads(cli("stage", "check", *common, "--format", "json").out)
    (row,) = (row for row in rows if row["team"])
    assert (row["status"], row["file"], row["line"]) == ("error", str(path), 2)
    ok(cli("stage", "collect", *common, "--allow-missing"))
    results = read_results(tree / "exp/privacy_eval/results.json")
    assert any("results_folds_toy.csv" in line for line in results.not_evaluated)
    path.unlink()
    path.symlink_to(ROOT / "README.md")
    done = cli("stage", "collect", *common)
    assert done.code == 1 and "README.md" in done.err + str(path)
    assert "results_folds_toy.csv" in done.err


@pytest.mark.wing("utility")
@pytest.mark.parametrize(
    "errors", ["0 / 1, 0 ins, 0 del, 0 sub", "0 / {words}, 0 ins, 0 del, 0 sub"]
)
@pytest.mark.wing("organizers")
def test_word_error_rates_are_compared_with_their_transcripts(tree: Path, errors: str) -> None:
    pytest.importorskip("kaldialign", reason="the extra wer is not installed")
    wer = tree / "exp/asr/libri_dev_asr_toy/wer"
    words = re.search(r"/ (\d+),", wer.read_text())
    wer.write_text(f"%WER 0.00 [ {errors.format(words=words[1])} ]\n")
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    done = cli("stage", "check", *common)
    assert done.code == 1 and "contradicts its transcripts" in done.out
    assert cli("stage", "privacy-metrics", *common).code == 0
    done = cli("stage", "collect", *common)
    assert done.code == 1 and f"{wer.parent}: %WER 0.00" in done.err
    assert "contradicts its transcripts: %WER " in done.err
    assert cli("stage", "collect", *common, "--allow-missing").code == 0
    results = read_results(tree / "exp/privacy_eval/results.json")
    names = [r.condition.name for r in results.recognition]
    assert "ASR-libri_dev_asr_toy" not in names and "ASR-libri_dev_asr" in names


@pytest.mark.wing("organizers")
def test_word_counts_are_compared_with_those_of_other_sets(tree: Path) -> None:
    """Without transcripts, in a remark: decoders may skip utterances."""
    folder = tree / "exp/asr/libri_dev_asr_toy"
    (folder / "text").unlink()
    (folder / "wer").write_text("%WER 0.00 [ 0 / 1, 0 ins, 0 del, 0 sub ]\n")
    words = re.search(r"/ (\d+),", (tree / "exp/asr/libri_dev_asr/wer").read_text())
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    remark = f"ASR-libri_dev_asr_toy: 1 words, most have {words[1]}"
    assert remark in cli("stage", "check", *common).out
    assert cli("stage", "privacy-metrics", *common).code == 0
    assert f": toy {remark}" in cli("stage", "collect", *common).err
    rows = [r for r in read_results(tree / "exp/privacy_eval/results.json").recognition]
    assert "ASR-libri_dev_asr_toy" in {r.condition.name for r in rows}


@pytest.mark.wing("utility")
def test_damaged_transcripts_leave_out_their_rate(tree: Path) -> None:
    """Else a team could keep a rate from being compared with them."""
    pytest.importorskip("kaldialign", reason="the extra wer is not installed")
    (tree / "exp/asr/libri_dev_asr_toy/text").write_text("\0\n")
    common = ("--tree", tree, "--results", "exp", "--conf", "vpc2024")
    assert cli("stage", "privacy-metrics", *common).code == 1
    assert cli("stage", "collect", *common).code == 1
    assert cli("stage", "collect", *common, "--allow-missing").code == 0
    results = read_results(tree / "exp/privacy_eval/results.json")
    names = {r.condition.name for r in results.recognition}
    assert "ASR-libri_dev_asr_toy" not in names and "ASR-libri_dev_asr" in names
