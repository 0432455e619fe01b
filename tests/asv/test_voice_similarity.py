"""Voice similarity from x-vectors: numbers, bad sets, and the records of a tree."""

import itertools
import json
import math
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reference_similarity as reference
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    SMALL_PROTOCOL_2022,
    TRIALS,
    SpeechTree,
    changed,
    csv_rows,
    experiment_of,
    import_results_txt,
    lines_to,
    make_planned,
    snapshot,
    speaker_values,
    utterances,
)

from privacy_eval import PrivacyEvalError
from privacy_eval.asv.backend import BackendName, score_matrix
from privacy_eval.asv.voice_similarity import SimilarityResult, files_2020, voice_similarity
from privacy_eval.io.vectors import Vectors
from privacy_eval.metrics import VARIANTS, of_kind, similarity_metrics
from privacy_eval.metrics.similarity import OF_SPEAKER
from privacy_eval.numbers.cells import cells_from_results
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.products.freshness import Outcome, Run
from privacy_eval.report.first_screen import front
from privacy_eval.report.system_tables import system_tables
from privacy_eval.results.challenge_text import to_results_txt
from privacy_eval.results.json_store import read_results, to_json
from privacy_eval.results.measurements import rows_of_values
from privacy_eval.results.outputs import speakers_csv, to_csv, to_speakers_csv
from privacy_eval.results.records import Record, Results
from privacy_eval.stages.access import VECTORS
from privacy_eval.stages.collect import records_of_kind
from privacy_eval.stages.similarity import FOLDER_2020, plan_similarity

# --- numbers

SPOKEN = utterances(("s1", "s2", "s3", "s4", "s5"), 4)


def simulated(
    spoken: dict[str, str] = SPOKEN, *, order: int | None = None, strength: float = 1.0
) -> Vectors:
    """Vectors of a set; `order` seeds another order of every speaker's lines, and other
    vectors."""
    ids = list(spoken)
    if order is not None:
        np.random.default_rng(order).shuffle(ids)
        ids.sort(key=spoken.__getitem__)
    voices = {s: np.random.default_rng(i).normal(size=5) for i, s in enumerate(spoken.values())}
    generator = np.random.default_rng(0 if order is None else order)
    matrix = np.array([strength * voices[spoken[u]] + generator.normal(size=5) for u in ids])
    return Vectors(Path("o.scp" if order is None else "a.scp"), tuple(ids), np.float32(matrix))


def measured(
    folder: Path,
    original: Vectors | None = None,
    anonymized: Vectors | None = None,
    spoken: dict[str, str] = SPOKEN,
    **options: Any,
) -> SimilarityResult:
    """The voice similarity of simulated vectors, unless others are given."""
    original = simulated(spoken) if original is None else original
    anonymized = simulated(spoken, order=1) if anonymized is None else anonymized
    options = {"backend": "cosine", **options}
    return voice_similarity(original, anonymized, utt2spk(folder, spoken), **options)


def utt2spk(folder: Path, spoken: dict[str, str] = SPOKEN) -> Path:
    return lines_to(folder / "utt2spk", (f"{u} {s}" for u, s in spoken.items()))


@pytest.mark.parametrize("backend", ["cosine", "euclidean"])
@pytest.mark.parametrize("order", [1, 2])
def test_numbers_are_those_of_a_second_implementation(
    backend: BackendName, order: int, tmp_path: Path
) -> None:
    """The anonymized set's lines stand in another order."""
    original, anonymized = simulated(), simulated(order=order)
    assert original.ids != anonymized.ids
    similarity = voice_similarity(original, anonymized, utt2spk(tmp_path), backend=backend)

    def scores(first: Vectors, second: Vectors) -> dict[tuple[str, str], float]:
        matrix = score_matrix(first.matrix, 1, second.matrix, backend=backend)
        pairs = itertools.product(first.ids, second.ids)
        return dict(zip(pairs, matrix.ravel().tolist(), strict=True))

    of = {"o": original, "a": anonymized}
    sets = {kind: scores(of[kind[0]], of[kind[1]]) for kind in ("oo", "oa", "aa")}
    assert (similarity.n_utterances, similarity.left_out) == (20, 0)
    assert similarity.speakers == ("s1", "s2", "s3", "s4", "s5")
    for variant in VARIANTS:
        expected = reference.similarity(sets, SPOKEN, original.ids, variant, anonymized.ids)
        # The second implementation adds the slope of `challenge` in exact fractions.
        precision = 1e-9 if variant == "exact" else 1e-6
        for name, value in similarity_metrics(similarity.by_variant[variant]).items():
            assert value == pytest.approx(getattr(expected, name), abs=precision), (variant, name)
        for kind in ("oo", "oa", "aa"):
            cells = getattr(expected, kind).cells
            rows = [[cells[a, b] for b in similarity.speakers] for a in similarity.speakers]
            values = getattr(similarity.by_variant[variant], kind).values
            assert values == pytest.approx(np.array(rows), abs=precision)


def test_arrays_vectors_and_mappings_have_the_same_matrices(tmp_path: Path) -> None:
    """The anonymized vectors of a mapping stand in another order."""
    original, anonymized = simulated(), simulated(order=1)
    named = [SPOKEN[u] for u in original.ids]
    rows = anonymized.matrix[anonymized.rows(original.ids, "test")]
    want = measured(tmp_path, original, replace(anonymized, ids=original.ids, matrix=rows))
    by_id = {u: anonymized.matrix[n].tolist() for n, u in enumerate(anonymized.ids)}
    for found in (
        voice_similarity(original.matrix.tolist(), rows.astype(float), named),
        voice_similarity(original, dict(zip(original.ids, rows, strict=True)), SPOKEN),
        voice_similarity(original, by_id, named, variants=["exact"]),
        voice_similarity(original, anonymized, str(utt2spk(tmp_path)), variants=["exact"]),
    ):
        assert found.speakers == ("s1", "s2", "s3", "s4", "s5")
        assert [*found.by_variant][-1] == "exact"
        for kind in ("oo", "oa", "aa"):
            values = (getattr(x.by_variant["exact"], kind).values for x in (found, want))
            assert next(values) == pytest.approx(next(values), abs=1e-12)
    assert "5 speakers, 20 utterances" in repr(want) and "<table>" in want._repr_html_()
    rows_of = {(row["variant"], row["metric"]): row["value"] for row in want.to_rows()}
    assert rows_of["exact", "deid"] == want.by_variant["exact"].deid
    assert rows_of["challenge", "gvd_db"] == want.by_variant["challenge"].gvd_db


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"anonymized": np.ones((19, 5))}, "anonymized vectors: no vector for 1 ids .*: 19"),
        ({"anonymized": np.eye(20)}, "dimensions"),
        ({"original": np.full((20, 5), np.nan)}, "20 original vectors .* NaN"),
        ({"original": [[1, 2], [3]]}, "not all of one dimension"),
        ({"original": [1.0, 2.0]}, "must be the rows of an array"),
        ({"speakers": ["a"] * 19}, "19 speakers for 20 original vectors"),
        ({"speakers": ["a"] * 20}, "one speaker only"),
        ({"speakers": ["a"] * 19 + ["b"]}, "1 speakers have a single utterance.*: b"),
        ({"speakers": ["a", None] * 10}, "10 of 20 speakers are missing"),
    ],
)
def test_arrays_that_cannot_be_compared(changed: dict[str, Any], message: str) -> None:
    arrays = {"original": simulated().matrix, "anonymized": simulated(order=1).matrix}
    given = {**arrays, "speakers": [*SPOKEN.values()], **changed}
    with pytest.raises(PrivacyEvalError, match=message):
        voice_similarity(**given)


def test_speakers_from_the_least_protected_on(tmp_path: Path) -> None:
    """One speaker is left as he is, all others are replaced by noise."""
    spoken = utterances(("s1", "s2", "s3", "s4", "s5"), 8)  # linkability needs 20 pairs
    original = simulated(spoken, strength=4.0)
    generator = np.random.default_rng(5)
    matrix = generator.normal(size=original.matrix.shape).astype(np.float32)
    own = [i for i, u in enumerate(original.ids) if spoken[u] == "s3"]
    matrix[own] = original.matrix[own]
    anonymized = Vectors(Path("a"), original.ids, matrix)
    similarity = measured(tmp_path, original, anonymized, spoken, backend="euclidean")
    speakers = similarity.speaker_results
    assert speakers[0]["speaker"] == "s3"
    assert {s["speaker"] for s in speakers} == set(spoken.values())
    assert [s["deid"] for s in speakers] == sorted(s["deid"] for s in speakers)
    assert speakers[0]["deid"] < 0.5 < speakers[-1]["deid"] <= 1
    assert speakers[0]["linkability"] == max(s["linkability"] or 0.0 for s in speakers)
    assert speakers[0]["evidence"] == max(s["evidence"] for s in speakers)
    exact = similarity.by_variant["exact"]
    number = similarity.speakers.index("s3")
    assert speakers[0]["similarity_oa"] == exact.oa.values[number, number]
    text = speakers_csv(({}, s) for s in speakers)
    rows = csv_rows(text)
    assert [r["speaker"] for r in rows] == [s["speaker"] for s in speakers]
    assert float(rows[0]["deid"]) == speakers[0]["deid"]


@pytest.mark.parametrize("seed", [1, 2, 8])
def test_speakers_and_their_set_stand_side_by_side_in_one_variant(
    seed: int, tmp_path: Path, tree: SpeechTree
) -> None:
    """A set's DeID is within the range of its speakers' in the variant that is named; in the
    other one it may be outside: with these voices, that of the challenge is for one seed."""
    similarity = measured(tmp_path, anonymized=simulated(order=seed, strength=0.3))
    made(tree)
    results = stored(tree)
    metrics = {v: similarity_metrics(s) for v, s in similarity.by_variant.items()}
    (record,) = results.similarity
    rows = (*similarity.to_rows(), *similarity.speaker_rows())
    record = replace(record, rows=rows)
    results = replace(results, similarity=(record,))
    deid = [*speaker_values(record, "deid").values()]
    assert similarity.speakers_variant == "exact"
    outside = {v for v, m in metrics.items() if not min(deid) <= m["deid"] <= max(deid)}
    assert outside == ({"challenge"} if seed == 8 else set())
    ((_, sentences),) = front(ReportData(results, cells_from_results(results))).answers
    (worst,) = (s for s in sentences if s.startswith("Least protected"))
    shares = [float(text) for text in re.findall(r"(-?[\d.]+) %", worst)]
    assert shares == [round(100 * v, 1) for v in (min(deid), metrics["exact"]["deid"])]
    assert "(variant exact)" in worst
    data = ReportData(results, cells_from_results(results))
    (table,) = (t for t in system_tables(data, "anon", "") if t.name == "speakers")
    *speakers, whole = (row[-len(OF_SPEAKER) :] for row in table.rows)
    assert whole[:2] == ("all", f"{100 * metrics['exact']['deid']:.1f}")
    assert float(speakers[0][1]) <= float(whole[1]) and "variant exact" in table.caption
    rows = csv_rows(to_speakers_csv(results))
    assert {row["variant"] for row in rows} == {"exact"}


def test_linkability_of_few_pairs_is_none(tmp_path: Path) -> None:
    """With 7 utterances a speaker has 42 pairs of its own; 8 give 56."""
    for each, known in ((7, False), (8, True)):
        spoken = utterances(("s1", "s2", "s3"), each)
        actual = measured(tmp_path, spoken=spoken).speaker_results
        assert [s["linkability"] is not None for s in actual] == [known] * 3
        rows = csv_rows(speakers_csv(({}, s) for s in actual))
        assert [r["linkability"] != "" for r in rows] == [known] * 3


def test_one_variant_alone(tmp_path: Path) -> None:
    both = measured(tmp_path)
    for variant in VARIANTS:
        one = measured(tmp_path, variants=[variant])
        assert list(one.by_variant) == [variant]
        assert similarity_metrics(one.by_variant[variant]) == similarity_metrics(
            both.by_variant[variant]
        )
        assert len(one.speaker_results) == 5
        assert set(one.arrays()) == {"speakers", *(f"{variant}_{k}" for k in ("oo", "oa", "aa"))}


def test_the_failure_of_a_variant_is_its_own(tmp_path: Path) -> None:
    """The last speaker of one side is the first of the other: by position it has no pair of its
    own."""
    spoken = utterances(("s1", "s2"), 2)
    original, anonymized = simulated(spoken), simulated(spoken, order=1)
    rows = [2, 3, 0, 1]
    ids = tuple(anonymized.ids[row] for row in rows)
    turned = Vectors(anonymized.path, ids, anonymized.matrix[rows])
    result = measured(tmp_path, original, turned, spoken)
    assert list(result.by_variant) == ["exact"]
    assert "one order" in result.failed["challenge"]
    whole = measured(tmp_path, original, anonymized, spoken)
    for kind in ("oo", "oa", "aa"):
        expected = getattr(whole.by_variant["exact"], kind).values
        assert getattr(result.by_variant["exact"], kind).values == pytest.approx(expected)
    with pytest.raises(PrivacyEvalError, match="variant challenge: .* one order"):
        measured(tmp_path, original, turned, spoken, variants=("challenge",))


def test_anonymized_voices_that_are_all_the_same(tmp_path: Path) -> None:
    """G_VD of nothing left is -inf, which every output holds."""
    original = simulated()
    same = Vectors(Path("a"), original.ids, np.ones_like(original.matrix))
    similarity = measured(tmp_path, original, same, backend="euclidean")
    assert similarity.by_variant["exact"].gvd_db == -math.inf
    assert similarity.by_variant["exact"].aa.d_diag == 0
    text = files_2020(similarity.by_variant["exact"])["gain_of_voice_distinctiveness"]
    assert text == b"Gain of voice distinctiveness : -inf\n"
    assert speakers_csv(({}, s) for s in similarity.speaker_results).count("\n") == 6


# --- bad sets


def only(vectors: Vectors, ids: Sequence[str]) -> Vectors:
    return Vectors(vectors.path, tuple(ids), vectors.matrix[vectors.rows(ids, "x")])


def without(vectors: Vectors, *left_out: str) -> Vectors:
    return only(vectors, [u for u in vectors.ids if u not in left_out])


def test_utterances_without_a_vector(tmp_path: Path) -> None:
    original, anonymized = simulated(), simulated(order=1)
    for pair, where in (
        ((original, without(anonymized, "s1-u0", "s2-u3")), "a.scp"),
        ((without(original, "s1-u0", "s2-u3"), anonymized), "o.scp"),
    ):
        with pytest.raises(PrivacyEvalError) as error:
            measured(tmp_path, *pair)
        assert str(error.value).startswith(f"{where}: no vector for 2 ids of {tmp_path}/utt2spk: s")
        assert "s1-u0, s2-u3 (" in str(error.value) and "--allow-missing" in str(error.value)
        similarity = measured(tmp_path, *pair, allow_missing=True)
        assert (similarity.left_out, similarity.n_utterances) == (2, 18)
        assert len(similarity.speakers) == 5


def test_leaving_out_also_means_speakers_with_one_utterance_left(tmp_path: Path) -> None:
    original, anonymized = simulated(), simulated(order=1)
    less = without(anonymized, "s2-u0", "s2-u1", "s2-u2")
    similarity = measured(tmp_path, original, less, allow_missing=True)
    rest = {u: s for u, s in SPOKEN.items() if s != "s2"}
    of_rest = only(anonymized, [u for u in anonymized.ids if u in rest])
    alone = measured(tmp_path, only(original, list(rest)), of_rest, rest)
    assert (similarity.left_out, similarity.speakers) == (4, alone.speakers)
    for variant in VARIANTS:
        assert similarity_metrics(similarity.by_variant[variant]) == similarity_metrics(
            alone.by_variant[variant]
        )


def test_vectors_of_unknown_speakers(tmp_path: Path) -> None:
    """An error, unless the vectors are those of a larger set."""
    known = {u: s for u, s in SPOKEN.items() if s != "s5"}
    vectors = simulated(), simulated(order=1)
    with pytest.raises(PrivacyEvalError, match=r"o.scp: 4 utterances have no speaker in .*utt2spk"):
        measured(tmp_path, *vectors, known)
    similarity = measured(tmp_path, *vectors, known, part=True)
    assert (similarity.speakers, similarity.left_out) == (("s1", "s2", "s3", "s4"), 0)


@pytest.mark.parametrize(
    ("spoken", "message"),
    [
        (
            {**utterances(("s1", "s2"), 2), "s3-u0": "s3", "s4-u0": "s4"},
            r"utt2spk: 2 speakers have a single utterance, .*: s3, s4 \(--allow-missing leaves",
        ),
        (utterances(("s1",), 4), r"utt2spk: one speaker only; voice similarity compares"),
    ],
)
def test_sets_that_cannot_be_compared(spoken: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match=message):
        measured(tmp_path, spoken=spoken)


def test_vectors_that_cannot_be_compared(tmp_path: Path) -> None:
    original = simulated()

    def others(matrix: np.ndarray, path: str = "a", prefix: str = "") -> Vectors:
        return Vectors(Path(path), tuple(prefix + u for u in original.ids), np.float32(matrix))

    strange, narrow = others(original.matrix, prefix="x"), others(original.matrix[:, :4])
    same, huge = others(np.ones((20, 5)), "o"), others(3e38 * np.sign(original.matrix))
    with pytest.raises(PrivacyEvalError, match="no utterance to compare"):
        measured(tmp_path, original, strange, part=True, allow_missing=True)
    with pytest.raises(PrivacyEvalError, match=r"^o, a.scp: original speakers are indisting"):
        measured(tmp_path, same)
    with pytest.raises(PrivacyEvalError, match=r"^o.scp, a: .* of 5 dimensions, .* of 4"):
        measured(tmp_path, original, narrow)
    with pytest.raises(PrivacyEvalError, match=r"^o.scp, a: scores are not finite"):
        measured(tmp_path, original, huge, backend="euclidean")


# --- a tree

NAME = f"anon {TRIALS}"


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> SpeechTree:
    tree = SpeechTree(tmp_path / "a tree")
    for path in tree.all_scores.values():
        lines_to(path, ["s1 s1-u0 1"])
    return tree


def made(tree: SpeechTree, *, job: tuple[int, int] = (1, 1), **o: bool) -> Outcome:
    return make_planned(plan_similarity, experiment_of(tree, **o), (), Run(job))


def collected(tree: SpeechTree, **options: bool) -> tuple[list[Record], list[str]]:
    return records_of_kind(experiment_of(tree, **options), "similarity")


def files(tree: SpeechTree) -> list[Path]:
    return [p for p in (tree.root / "out").rglob("*") if p.is_file()]


COUNTED = ("n_speakers", "n_utterances", "utterances_left_out")


def test_records_and_the_files_of_2020(tree: SpeechTree) -> None:
    outcome = made(tree)
    assert (outcome.made, outcome.failed, outcome.missing) == ([NAME], {}, {})
    ((record,), stale) = collected(tree)
    assert stale == []
    of = record.condition
    assert (of.system, of.name, of.gender) == ("anon", TRIALS, "f")
    assert [record.facts[name] for name in COUNTED] == [4, 12, 0]
    assert set(record.by_variant()) == set(VARIANTS)
    for values in record.by_variant().values():
        assert tuple(values) == tuple(of_kind("matrices"))
        assert values["deid"] == pytest.approx(1 - values["d_diag_oa"] / values["d_diag_oo"])
        assert values["gvd_db"] == pytest.approx(
            10 * math.log10(values["d_diag_aa"] / values["d_diag_oo"])
        )
    assert len(speaker_values(record, "deid")) == 4
    plain = json.dumps(record.provenance, default=dict)
    assert str(tree.root) not in plain
    assert f"data/{TRIALS}/utt2spk" in plain and f"{MODEL}/xvect_{TRIALS}_anon" in plain
    folder = tree.root / "out" / FOLDER_2020 / TRIALS
    deid, gain = map(record.by_variant()["challenge"].get, ("deid", "gvd_db"))
    files = snapshot(folder)
    assert files.pop("DeIDentification") == f"De-Identification : {deid!r}\n".encode()
    line = f"Gain of voice distinctiveness : {gain!r}\n"
    assert files.pop("gain_of_voice_distinctiveness") == line.encode()
    assert len(files) == 3
    curves = np.load(tree.root / "out/records/anon" / f"similarity-{TRIALS}.npz")
    for kind, name in (("oo", "osp_osp"), ("oa", "osp_psp"), ("aa", "psp_psp")):
        matrix = np.load(folder / f"similarity_matrix_{name}.npy")
        assert matrix.shape == (4, 4)
        assert np.array_equal(matrix, curves[f"challenge_{kind}"])
    assert curves["speakers"].tolist() == ["s1", "s2", "s3", "s4"]


CHANGES: dict[str, Callable[[SpeechTree], object]] = {
    "original": lambda t: t.vectors(TRIALS, seed=1),
    "anonymized": lambda t: t.vectors(f"{TRIALS}_anon", seed=1),
    "back end": lambda t: t.backend(BACKEND, seed=1),
    "utt2spk": lambda t: lines_to(
        t.root / f"data/{TRIALS}/utt2spk",
        (f"{u} {s[:1]}{int(s[1]) % 4 + 1}" for u, s in utterances().items()),
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_record_of_other_inputs_is_stale_and_rebuilt(tree: SpeechTree, change: str) -> None:
    made(tree)
    CHANGES[change](tree)
    records, stale = collected(tree)
    assert records == []
    [line] = stale
    assert line.startswith(f"{NAME} (its x-vectors, its back end or the record have changed: ")
    assert made(tree).made == [NAME]
    assert collected(tree)[1] == []
    assert made(tree).current == [NAME]


def test_changes_outside_the_trial_set_rebuild_nothing(tree: SpeechTree) -> None:
    made(tree)
    lines_to(tree.all_scores["oo"], ["s1 s1-u0 2"])
    assert made(tree).current == [NAME]
    tree.vectors(ENROLLS, seed=1)  # whose pseudo-voices are compared with those of the trials
    assert made(tree).made == [NAME]


def test_missing_files_of_a_record_are_rebuilt(tree: SpeechTree) -> None:
    made(tree)
    before = snapshot(tree.root / "out")
    of_2020 = f"{FOLDER_2020}/{TRIALS}/gain_of_voice_distinctiveness"
    for file in (f"records/anon/similarity-{TRIALS}.npz", of_2020):
        (tree.root / "out" / file).unlink()
        assert made(tree).made == [NAME]
        assert snapshot(tree.root / "out") == before


def test_several_systems_have_separate_folders(tmp_path: Path) -> None:
    tree = SpeechTree(tmp_path)
    tree.anonymized("_two")
    for suffix in ("_anon", "_two"):
        folder = f"exp/a{suffix}/results-1{suffix}"
        lines_to(tree.scores(ENROLLS, TRIALS + suffix, folder), ["s u 1"])
    outcome = made(tree)
    assert outcome.made == [f"a_anon {TRIALS}", f"a_two {TRIALS}"]
    folders = {p.relative_to(tmp_path / "out").parts[1] for p in files(tree)}
    assert folders == {"a_anon", "a_two"}
    records, _ = collected(tree)
    assert [r.condition.system for r in records] == ["a_anon", "a_two"]
    assert records[0].by_variant() != records[1].by_variant()


def test_every_results_folder_has_its_model(tmp_path: Path) -> None:
    """The attacker's back end in the one, that of original speech in the other."""
    tree = SpeechTree(tmp_path, protocol=SMALL_PROTOCOL_2022)
    own = "exp/models/user_asv_eval_anon/xvect_01709_1"
    tree.anonymized("_anon", model=own)
    tree.backend(f"{own}/xvect_train_clean_360_anon", seed=5)
    original = tree.scores(ENROLLS, f"{TRIALS}_anon", "exp/results-anon.orig")
    lines_to(original, ["s1 s1-u0 1"])
    assert made(tree).made == [f"{NAME} (.orig)"]  # the other folder is not there
    lines_to(tree.all_scores["oa"], ["s1 s1-u0 1"])
    assert made(tree).made == [NAME]
    records, stale = collected(tree)
    assert [(r.condition.results_folder, r.condition.asv_model) for r in records] == [
        ("", "anonymized"),
        (".orig", "original"),
    ]
    assert [r.provenance["inputs"]["plda"]["path"] for r in records] == [
        f"{own}/xvect_train_clean_360_anon/plda",
        f"{BACKEND}/plda",
    ]
    assert records[0].by_variant() != records[1].by_variant()
    assert {p.relative_to(tmp_path / "out").parts[0] for p in files(tree)} == {
        "records",
        FOLDER_2020,
        f"{FOLDER_2020}.orig",
    }


@pytest.mark.parametrize(
    ("gone", "kind"),
    [
        (f"data/{TRIALS}/utt2spk", "trial sets"),
        (f"{BACKEND}/plda", "back end"),
        (f"{MODEL}/xvect_{TRIALS}/xvector.scp", VECTORS),
        (f"{MODEL}/xvect_{TRIALS}_anon/xvector.scp", VECTORS),
    ],
)
def test_missing_inputs_are_listed(tree: SpeechTree, gone: str, kind: str) -> None:
    made(tree)
    (tree.root / gone).unlink()
    outcome = made(tree)
    assert outcome.missing[NAME].kind == kind
    assert outcome.missing[NAME].where.startswith(gone.removesuffix("/plda"))
    assert outcome.failed == {}
    assert len(collected(tree)[1]) == 1


def test_a_missing_utterance_fails_and_keeps_the_record_before(tree: SpeechTree) -> None:
    made(tree)
    before = snapshot(tree.root / "out")
    tree.vectors(f"{TRIALS}_anon", without=["s1-u2"])
    outcome = made(tree)
    assert re.match(
        rf".*_anon/xvector.scp: no vector for 1 ids of .*data/{TRIALS}/utt2spk: s1-u2",
        outcome.failed[NAME],
    )
    assert snapshot(tree.root / "out") == before
    for _ in range(2):
        allowed = made(tree, allow_missing=True)
        assert allowed.left_out == {NAME: "1 utterances left out"}
    assert allowed.current == [NAME]
    ((record,), stale) = collected(tree, allow_missing=True)
    assert stale == [] and [record.facts[name] for name in COUNTED[1:]] == [11, 1]
    assert list(made(tree).failed) == [NAME]


def test_vectors_of_a_larger_set_give_the_same_numbers(tree: SpeechTree) -> None:
    made(tree)
    before = collected(tree)[0][0].by_variant()
    own = tree.scp(f"{TRIALS}_anon")
    larger = own.parent.with_name("xvect_libri_dev_trials_all_anon")
    own.parent.rename(larger)
    scp = larger / "xvector.scp"
    lines = scp.read_text().replace(own.parent.name, larger.name).splitlines()
    lines_to(scp, [*lines, f"another-u0 {lines[0].split()[1]}"])
    assert made(tree).made == [NAME]
    assert collected(tree)[0][0].by_variant() == before


def test_links_out_of_the_tree(tree: SpeechTree, tmp_path: Path) -> None:
    path = tree.root / f"data/{TRIALS}/utt2spk"
    shutil.move(path, tmp_path / "u")
    path.symlink_to(tmp_path / "u")
    assert "use --allow-outside" in made(tree).failed[NAME]
    assert made(tree, allow_outside=True).made == [NAME]


# --- in results


def stored(tree: SpeechTree) -> Results:
    return Results(tree.protocol, similarity=tuple(collected(tree)[0]))


def test_records_travel_through_results_json(tree: SpeechTree, tmp_path: Path) -> None:
    """What a record holds reads back exactly, infinite values too."""
    made(tree)
    record = stored(tree).similarity[0]
    lost = {"gvd_db": -math.inf, "deid": -math.inf}
    rows = ({**row, "value": lost.get(row["metric"], row["value"])} for row in record.rows)
    infinite = replace(record, rows=tuple(rows))
    results = Results(tree.protocol, similarity=(record, changed(infinite, system="B")))
    path = tmp_path / "results.json"
    path.write_text(to_json(results))
    assert read_results(path) == results
    assert to_json(read_results(path)) == path.read_text()
    plain = json.loads(path.read_text())
    assert plain["metrics"]["deid"]["unit"] == "fraction"
    assert plain["metrics"]["gvd_db"]["unit"] == "dB"
    last = plain["similarity"][1]
    lost = [row["value"] for row in last["rows"] if row["metric"] in ("deid", "gvd_db")]
    assert {*lost} == {"-inf"} and len(lost) == 4 + 4


def test_results_csv_and_txt(tree: SpeechTree) -> None:
    made(tree)
    results = stored(tree)
    record = results.similarity[0]
    rows = [r for r in csv_rows(to_csv(results)) if not r["speaker"]]
    assert [(r["variant"], r["metric"]) for r in rows] == [
        (v, m) for v in record.by_variant() for m in of_kind("matrices")
    ]
    for row in rows:
        assert float(row["value"]) == record.by_variant()[row["variant"]][row["metric"]]
        assert row["name"] == TRIALS and row["unit"]
    text = to_results_txt(results, "anon", "")
    values = record.by_variant()["challenge"]
    assert text == (
        f"{TRIALS}\n  De-Identification : {values['deid']!r}\n"
        f"  Gain of voice distinctiveness : {values['gvd_db']!r}\n"
    )
    again = import_results_txt(text, "r", results.protocol, system="anon")
    assert again.similarity[0].by_variant() == {
        "challenge": {"deid": values["deid"], "gvd_db": values["gvd_db"]}
    }
    assert to_results_txt(again, "anon", "") == text
    exact = replace(results, protocol=replace(results.protocol, variant="exact"))
    assert repr(record.by_variant()["exact"]["deid"]) in to_results_txt(exact, "anon", "")


def test_speakers_csv_of_several_sets(tree: SpeechTree) -> None:
    made(tree)
    results = stored(tree)
    other = changed(results.similarity[0], system="B", gender="m")
    both = replace(results, similarity=(*results.similarity, other))
    rows = csv_rows(to_speakers_csv(both))
    assert [r["system"] for r in rows] == ["anon"] * 4 + ["B"] * 4
    assert [r["speaker"] for r in rows[:4]] == [*speaker_values(other, "deid")]
    assert {r["trial_set"] for r in rows} == {TRIALS}
    assert to_speakers_csv(Results(tree.protocol)).startswith("system,results_folder,trial_set,")


def test_inconsistent_records_are_refused(tree: SpeechTree) -> None:
    made(tree)
    results = stored(tree)
    bad: list[tuple[Any, str]] = [
        ({}, "expected deid or gvd_db"),
        ({"challenge": {}}, "expected deid or gvd_db"),
        ({"challenge": {"deid": 0.5, "x": 1.0}}, "unknown metric 'x'"),
        ({"mine": {"deid": 0.5}}, "unknown value mine deid"),
    ]
    for metrics, message in bad:
        rows = [row for v, of in metrics.items() for row in rows_of_values(of, variant=v)]
        record = replace(results.similarity[0], rows=tuple(rows))
        with pytest.raises(PrivacyEvalError, match=message):
            replace(results, similarity=(record,)).check()
