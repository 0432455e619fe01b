"""Names, labels and masks of arrays: missing values are no names, words are no truth values;
arguments of a wrong type are refused by name, not where they happen to break.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import privacy_eval as pe
from privacy_eval import metrics, speaker_bootstrap
from privacy_eval.asv.cosine import unit_vectors
from privacy_eval.attackers.alignment import align
from privacy_eval.compat.zebra import assess
from privacy_eval.disclosure.groups import groups
from privacy_eval.disclosure.linkage import closed_set_linkage, single_out
from privacy_eval.errors import PrivacyEvalError
from privacy_eval.listening.opinions import mean_opinion
from privacy_eval.metrics import Trials, TrialScores, kaldi_eer, similarity_matrix
from privacy_eval.metrics.eer import speaker_eers
from privacy_eval.scale.counts import count_scores
from privacy_eval.utility.emotions import recalls

PEOPLE = list("abcdefgh")
ENROLLED, TRIAL = np.repeat(PEOPLE, 8), np.tile(PEOPLE, 8)
SAME = ENROLLED == TRIAL
SCORES = np.random.default_rng(1).normal(size=64) + 2 * SAME
TRIALS_OF = {"score": SCORES, "label": SAME, "enrolled": ENROLLED, "utterance": TRIAL}
TRIALS = Trials(TRIALS_OF, enrolled_speaker=ENROLLED, trial_speaker=TRIAL)
VECTORS = np.random.default_rng(2).normal(size=(32, 3)).astype(np.float32)
SPEAKER = np.repeat(PEOPLE, 4)
SEX = np.repeat(["f", "m"], 16)


class NaT:
    """What pandas' own missing values are printed as, without pandas."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


NONAMES: list[Any] = [None, float("nan"), NaT("NaT"), NaT("<NA>"), "", "NA", "nan", "None", "null"]


def with_one(names: Any, value: object, row: int = 3) -> list[Any]:
    changed = np.asarray(names).tolist()
    changed[row] = value
    return changed


TAKE_NAMES: dict[str, Callable[[Any], object]] = {
    "enrolled": lambda names: Trials(enrolled_speaker=names(ENROLLED)),
    "tested": lambda names: Trials(trial_speaker=names(TRIAL)),
    "fuse_scores": lambda names: pe.fuse_scores(SCORES[:, None], SAME, ENROLLED, names(TRIAL)),
    "labels": lambda names: pe.infer_attribute(VECTORS, names(SEX), SPEAKER, bootstrap=5),
    "speakers": lambda names: pe.infer_attribute(VECTORS, SEX, names(SPEAKER), bootstrap=5),
    "train_backend": lambda names: pe.train_backend(VECTORS, names(SPEAKER), lda_dim=2),
    "references": lambda names: recalls(names(SEX), SEX),
    "predictions": lambda names: recalls(SEX, names(SEX)),
    "speaker_eers": lambda names: speaker_eers(SCORES, SAME, names(ENROLLED), min_targets=1),
    "tests": lambda names: Trials(utterance=names(TRIAL)),
    "mean_opinion": lambda names: mean_opinion([3, 4] * 16, names(SPEAKER), SEX),
}


@pytest.mark.parametrize("value", NONAMES, ids=repr)
@pytest.mark.parametrize("function", TAKE_NAMES)
def test_a_missing_value_is_no_name(function: str, value: object) -> None:
    with pytest.raises(PrivacyEvalError, match="1 of .* missing .* row 3"):
        TAKE_NAMES[function](lambda names: with_one(names, value))


@pytest.mark.parametrize("function", TAKE_NAMES)
def test_a_masked_name_is_refused(function: str) -> None:
    with pytest.raises(PrivacyEvalError, match="1 .* masked"):
        TAKE_NAMES[function](lambda names: np.ma.array(names, mask=np.arange(names.size) == 3))


def test_codes_below_zero_are_missing_among_codes_from_zero_only() -> None:
    codes = np.searchsorted(PEOPLE, SPEAKER)
    with pytest.raises(PrivacyEvalError, match="4 of 32 speakers are missing .-1."):
        pe.train_backend(VECTORS, np.where(codes == 2, -1, codes), lda_dim=2)  # type: ignore[arg-type]
    assert recalls([1, -1, 1, -1], [1, -1, -1, -1])["uar"] == 0.75


def test_whole_floats_are_their_integers() -> None:
    """A column of numbers becomes one of floats in data frames once a value is missing."""
    codes = 230 + np.searchsorted(PEOPLE, SPEAKER)
    with pytest.warns(UserWarning, match="230.0 is taken for 230"):
        floats = speaker_eers(SCORES[:32], SAME[:32], codes.astype(float), min_targets=1)
    assert floats == speaker_eers(SCORES[:32], SAME[:32], codes, min_targets=1)
    assert Trials(enrolled_speaker=[230.0, "231"]).enrolled_speaker.tolist() == ["230", "231"]


@pytest.mark.parametrize("missing", [None, float("nan"), "NA", ""])
def test_a_group_that_is_missing_is_no_group(missing: Any) -> None:
    group_of = dict(zip(PEOPLE, [*"ffffmmm", missing], strict=True))
    report = groups(TRIALS, group_of, bootstrap=9)
    assert {name: of["within"].n_speakers for name, of in report.groups.items()} == {"f": 4, "m": 3}


def test_groups_of_whole_floats() -> None:
    codes = np.searchsorted(PEOPLE, ENROLLED), np.searchsorted(PEOPLE, TRIAL)
    group_of: Any = {float(n): "fm"[n % 2] for n in range(8)}
    trials = Trials(TRIALS_OF, enrolled_speaker=codes[0], trial_speaker=codes[1])
    report = groups(trials, group_of, bootstrap=9)
    assert [of["within"].n_speakers for of in report.groups.values()] == [4, 4]


TAKE_NUMBERS: dict[str, Callable[[Any], object]] = {
    "evaluate": lambda mask: pe.evaluate(mask(SCORES[SAME]), SCORES[~SAME]),
    "nontarget": lambda mask: pe.evaluate(SCORES[SAME], mask(SCORES[~SAME])),
    "lists of masked rows": lambda mask: align("shift", [mask(SCORES), mask(SCORES)], [SCORES] * 2),
    "from_labels": lambda mask: TrialScores.from_labels(mask(SCORES), SAME),
    "labels": lambda mask: TrialScores.from_labels(SCORES, mask(SAME)),
    "fusion": lambda mask: pe.fuse_scores(mask(SCORES[:, None]), SAME, ENROLLED, TRIAL),
    "truth of fusion": lambda mask: pe.fuse_scores(SCORES[:, None], mask(SAME), ENROLLED, TRIAL),
    "trials": lambda mask: Trials(score=mask(SCORES)),
    "counts": lambda mask: count_scores(mask(SCORES[SAME]), SCORES[~SAME]),
    "identification": lambda mask: closed_set_linkage(mask(SCORES.reshape(8, 8)), range(8), [2]),
    "own": lambda mask: closed_set_linkage(SCORES.reshape(8, 8), mask(np.arange(8)), [2]),
    "singling_out": lambda mask: single_out(
        mask(SCORES.reshape(8, 8)), SCORES.reshape(8, 8, 1), range(8)
    ),
    "similarity": lambda mask: similarity_matrix(
        mask(np.eye(8, dtype=np.float32)), np.arange(8) // 2
    ),
    "speaker numbers": lambda mask: similarity_matrix(
        np.eye(8, dtype=np.float32), mask(np.arange(8) // 2)
    ),
    "vectors": lambda mask: pe.infer_attribute(mask(VECTORS), SEX.tolist(), SPEAKER.tolist()),
    "train_backend": lambda mask: pe.train_backend(mask(VECTORS), SPEAKER.tolist(), lda_dim=2),
    "score_matrix": lambda mask: pe.score_matrix(mask(VECTORS), 1, VECTORS, backend="cosine"),
    "trial vectors": lambda mask: pe.score_matrix(VECTORS, 1, mask(VECTORS), backend="cosine"),
    "unit_vectors": lambda mask: unit_vectors(mask(VECTORS)),
    "strongest": lambda mask: pe.strongest(mask(SCORES[:2]), np.ones((2, 3))),
    "ratings": lambda mask: mean_opinion(mask(SCORES), ENROLLED, TRIAL),
}


@pytest.mark.parametrize("function", TAKE_NUMBERS)
def test_masked_numbers_are_refused(function: str) -> None:
    """NumPy drops the mask, and the value below it counts."""

    def mask(values: np.ndarray[Any, Any]) -> Any:
        return np.ma.array(values, mask=np.arange(values.size).reshape(values.shape) == 1)

    with pytest.raises(PrivacyEvalError, match=r"[12] .* masked"):
        TAKE_NUMBERS[function](mask)


def test_an_array_without_masked_values_is_one() -> None:
    given = np.ma.array(SCORES[SAME], mask=False)
    assert pe.evaluate(given, SCORES[~SAME]) == pe.evaluate(SCORES[SAME], SCORES[~SAME])


def test_missing_scores_of_data_frames() -> None:
    """A column of objects, as old data frames have where a value is missing."""
    for value in (None, NaT("<NA>")):
        with pytest.raises(PrivacyEvalError, match="target scores .* 1 of 2 are missing.* row 1"):
            pe.evaluate([1.0, value], [0.0])
    with pytest.raises(PrivacyEvalError, match="1 of 2 target scores are not finite"):
        pe.evaluate([1.0, float("nan")], [0.0])


TRUTHS = [
    (True, False),
    ("True", "False"),
    (1, 0),
    (1.0, 0.0),
    ("1", "0"),
    (1, -1),
    ("target", "nontarget"),
    ("TARGET", "NonTarget"),
    ("tgt", "imp"),
    ("target", "impostor"),
    ("mated", "non-mated"),
    ("same", "different"),
    ("genuine", "impostor"),
]


@pytest.mark.parametrize("words", TRUTHS, ids=str)
def test_one_rule_for_truth(words: tuple[object, object]) -> None:
    labels = [words[not same] for same in SAME]
    assert TrialScores.from_labels(SCORES, labels).n_target == 8
    assert Trials(label=labels).is_target.tolist() == SAME.tolist()
    own = speaker_eers(SCORES, labels, ENROLLED, min_targets=1)
    assert own == speaker_eers(SCORES, SAME, ENROLLED, min_targets=1)
    fused, expected = (
        pe.fuse_scores(SCORES[:, None], truth, ENROLLED, TRIAL) for truth in (labels, SAME)
    )
    assert fused.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ([2, 0], "'2'"),
        ([0.5, 1], "'0.5'"),
        (["spoof", "bonafide"], "'bonafide', 'spoof'"),
        ([None, True], "'None'"),
        ([1, float("nan")], "'nan'"),
        ([1, ""], "''"),
        ([-1, 0], "'-1'"),
        (["-1", "-1"], "'-1'"),
    ],
)
def test_other_truth_is_refused_with_its_names(labels: list[Any], named: str) -> None:
    with pytest.raises(PrivacyEvalError, match=f"is_target must be true or false, .* not {named}"):
        TrialScores.from_labels([1.0, 0.0], labels)
    with pytest.raises(PrivacyEvalError, match=named):
        pe.fuse_scores([[1.0], [0.0]], labels, ["a", "b"], ["a", "a"])


def test_minus_one_beside_zero_and_one_is_refused() -> None:
    with pytest.raises(PrivacyEvalError, match="'-1'"):
        TrialScores.from_labels([1.0, 0.0, 0.5], [1, 0, -1])


def functions_of_scores() -> dict[str, Callable[..., Any]]:
    actual: dict[str, Callable[..., Any]] = {}
    for module in pkgutil.iter_modules(metrics.__path__):
        of_module = importlib.import_module(f"privacy_eval.metrics.{module.name}")
        for name, function in inspect.getmembers(of_module, inspect.isfunction):
            first = next(iter(inspect.signature(function).parameters.values()), None)
            takes = "" if first is None else str(first.annotation)
            if takes in ("TrialScores", "TrialScores | Replicates") and name[0] != "_":
                actual[name] = function
    return actual


@pytest.mark.parametrize("name", functions_of_scores())
def test_metrics_need_labelled_scores(name: str) -> None:
    rates = {"miss_rate": {"false_alarm": 0.1}, "miss_rates": {"false_alarm": [0.1]}}
    options = {"min_dcf": {"p_target": 0.5}, **rates}.get(name, {})
    with pytest.raises(TypeError, match="expected scores as TrialScores"):
        functions_of_scores()[name]([1, 2, 3], **options)


def test_all_metrics_are_covered() -> None:
    assert {"zebra", "kaldi_eer", "score_metrics", "det_curve"} <= set(functions_of_scores())


@pytest.mark.parametrize("scores", [["1", "2"], [1, "2"], [b"1"], [None], [1j], [{}]])
def test_scores_are_numbers(scores: list[Any]) -> None:
    for make in (
        lambda: TrialScores(scores, [0.5]),
        lambda: TrialScores([0.5], scores),
        lambda: TrialScores.from_labels(scores, [True] * len(scores)),
    ):
        with pytest.raises(PrivacyEvalError, match="must be numbers"):
            make()


def test_integer_scores_are_numbers() -> None:
    assert kaldi_eer(TrialScores([1, 3], [0, 2])).value == 0.5


def test_statistic_must_return_named_values() -> None:
    def bootstrap(statistic: Callable[..., Any]) -> object:
        trials = metrics.Trials(
            score=[2.0, 0.0, 1.0, 3.0],
            label=[True, False, False, True],
            enrolled_speaker=["a", "a", "b", "b"],
            trial_speaker=["a", "b", "a", "b"],
        )
        return speaker_bootstrap(trials, statistic=statistic, replicates=2, seed=0)

    assert bootstrap(lambda scores: {"eer": kaldi_eer(scores).value})
    with pytest.raises(TypeError, match="statistic must return metrics by name.* not float"):
        bootstrap(lambda scores: kaldi_eer(scores).value)


def test_the_toolkits_interface_documents_its_default() -> None:
    default = inspect.signature(assess).parameters["variant"].default
    assert default == "challenge" and "The default is `challenge`" in str(assess.__doc__)
