"""Reading score files and trial keys, and pairing them."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support import lines_to, write

from privacy_eval import PrivacyEvalError
from privacy_eval.io import text_table
from privacy_eval.io.files import digest
from privacy_eval.io.score_formats import SCORE_FORMATS
from privacy_eval.io.scores import read_scores, read_trials, with_speakers
from privacy_eval.io.text_table import Column, split_columns
from privacy_eval.metrics.pairing import check_same_trials, pair, score_table
from privacy_eval.metrics.trials import Trials

Key = tuple[str, str]

#: Ids that run together where only their concatenation is compared, prefixes of each other,
#: around the ends of 8-byte words, longer than the words kept for every row, and not ASCII.
short = st.text("ab-", min_size=1, max_size=4)
sized = st.builds(
    lambda size, end: "a" * (size - 1) + end,
    st.sampled_from([1, 2, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 39, 40]),
    st.sampled_from("ab"),
)
anything = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs"]), min_size=1, max_size=8
)
ids = short | sized | anything
keys = st.tuples(ids, ids)


#: The real factor of the hash, and two under which ids collide.
FACTORS = [text_table._HASH_FACTOR, 0, 1 << 56]


@pytest.fixture(params=FACTORS)
def hashing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids collide, or not."""
    monkeypatch.setattr(text_table, "_HASH_FACTOR", request.param)


def paired(
    tmp_path: Path, scores: str | bytes, trials: str | bytes, *, allow_missing: bool = False
) -> Trials:
    return pair(
        read_scores(write(tmp_path / "scores", scores)),
        read_trials(write(tmp_path / "trials", trials)),
        allow_missing=allow_missing,
    )


def rows_of(result: Trials) -> list[tuple[str, str, float, bool]]:
    return list(
        zip(
            result.enrolled.tolist(),
            result.utterance.tolist(),
            result.score.tolist(),
            result.is_target.tolist(),
            strict=True,
        )
    )


# Reading


SCORES = "s1 u1 1.5\ns1 u2 -2\ns2 u1 3e-2\n"
TRIALS = "s1 u1 target\ns1 u2 nontarget\ns2 u1 nontarget\n"
ROWS = [("s1", "u1", 1.5, True), ("s1", "u2", -2.0, False), ("s2", "u1", 0.03, False)]


def windows(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@pytest.mark.parametrize(
    "spell",
    [
        str.encode,
        windows,
        lambda text: text.replace(" ", "\t").encode(),
        lambda text: text.replace(" ", " \t ").encode(),
        lambda text: text.removesuffix("\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: ("\n" + text.replace("\n", " \n\n \t\n")).encode(),
        lambda text: gzip.compress(text.encode()),
        lambda text: gzip.compress(b"\xef\xbb\xbf" + windows(text)),
    ],
    ids=["plain", "CRLF", "tabs", "mixed", "no end", "BOM", "blank lines", "gzip", "gzip CRLF BOM"],
)
def test_line_formats_and_compression_read_the_same(
    tmp_path: Path, spell: Callable[[str], bytes]
) -> None:
    assert rows_of(paired(tmp_path, spell(SCORES), spell(TRIALS))) == ROWS
    # One file plain, the other not.
    assert rows_of(paired(tmp_path, spell(SCORES), TRIALS)) == ROWS
    assert rows_of(paired(tmp_path, SCORES, spell(TRIALS))) == ROWS


def test_files_record_path_and_digest(tmp_path: Path) -> None:
    scores = read_scores(write(tmp_path / "scores", SCORES))
    trials = read_trials(write(tmp_path / "trials", gzip.compress(TRIALS.encode())))
    assert scores.origins[0][:2] == (tmp_path / "scores", digest(SCORES.encode()))
    # Of the content, so that packing a file changes nothing.
    assert trials.origins[0][:2] == (tmp_path / "trials", digest(TRIALS.encode()))


NUMBERS = [
    "0", "-0", "+1", "1.", ".5", "-.5e1", "1E5", "1e+05", "0000000000000000000000000000000007",
    "0.1", "1e-400", "5e-324", "2.2250738585072011e-308", "1.7976931348623157e308", "-1e300",
    "9007199254740993.5", "123456789012345678901234567890.5", "0." + "1" * 60, "1" * 300 + ".5",
    "0.1000000000000000055511151231257827021181583404541015625", "709.782712893384",
]  # fmt: skip


@pytest.mark.parametrize("together", [True, False])
def test_number_formats_agree_with_float(tmp_path: Path, together: bool) -> None:
    groups = [NUMBERS] if together else [[number] for number in NUMBERS]
    for numbers in groups:
        text = "".join(f"s u{i} {number}\n" for i, number in enumerate(numbers))
        got = read_scores(write(tmp_path / "scores", text)).score
        assert got.tolist() == [float(number) for number in numbers]


NO_NUMBERS = [
    "nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1e400", "-1e999", "1_000", "1__0", "_1",
    "0x10", "0x1p3", "1,5.0", "1e", "e5", "--1", "1-", "1.2.3", "None", "target", "1d5", "1f", "1L",
    "True", "1j", "\u0661\u0662", "\uff11", "1\u00a02", "\u22121", "1\u200b", "'1'", "1;", "#1",
    "nan" + "0" * 40, "1" * 40 + "_0", "1" * 40 + "\u0661", "9" * 310,
]  # fmt: skip


@pytest.mark.parametrize("number", NO_NUMBERS)
def test_other_than_finite_decimal_number_is_refused(tmp_path: Path, number: str) -> None:
    path = write(tmp_path / "scores", f"s1 u1 1\n\ns1 u2 {number}\ns1 u3 2\n")
    message = (
        f"scores:3: expected a finite decimal number as score, "
        f"found {re.escape(repr(number))} .1 such line"
    )
    with pytest.raises(PrivacyEvalError, match=message):
        read_scores(path)


def test_bad_numbers_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "scores", "s u1 nan\ns u2 1\ns u3 inf\ns u4 x\n")
    with pytest.raises(PrivacyEvalError, match="scores:1: .* found 'nan' .3 such lines"):
        read_scores(path)


@pytest.mark.parametrize(
    "label",
    ["tgt", "nontgt", "1", "targe", "targett", "nontargets",
     "target\u00a0", "t" * 40],
)  # fmt: skip
def test_unknown_label_is_refused(tmp_path: Path, label: str) -> None:
    path = write(tmp_path / "trials", f"s1 u1 target\ns1 u2 {label}\n")
    message = f"trials:2: expected the label target or nontarget, found {re.escape(repr(label))}"
    with pytest.raises(PrivacyEvalError, match=message):
        read_trials(path)


def test_user_defined_format_is_one_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`<score>;<speaker>;<utterance>` lines, with all the checks of Kaldi's."""

    def semicolons(content: bytes, path: Path) -> dict[str, Column]:
        names = ("score", "enrolled", "utterance")
        columns = split_columns(content.replace(b";", b" "), names, path)
        return dict(zip(names, columns, strict=True))

    monkeypatch.setitem(SCORE_FORMATS, "toy", semicolons)
    path = write(tmp_path / "scores", "1.5;s1;u1\n-2;s1;u2\n3e-2;s2;u1\n")
    scores = read_scores(path, format="toy")
    assert rows_of(pair(scores, read_trials(write(tmp_path / "trials", TRIALS)))) == ROWS
    with pytest.raises(PrivacyEvalError, match="scores:2: expected a finite decimal number"):
        read_scores(write(path, "1.5;s1;u1\nnan;s1;u2\n"), format="toy")
    with pytest.raises(PrivacyEvalError, match="scores:2: 1 duplicate trial"):
        read_scores(write(path, "1;s1;u1\n2;s1;u1\n"), format="toy")
    with pytest.raises(ValueError, match="toy, not 'x'"):
        read_scores(path, format="x")


# Duplicates


@pytest.mark.usefixtures("hashing")
@pytest.mark.parametrize(
    ("read", "values"), [(read_scores, ("1", "2")), (read_trials, ("target", "nontarget"))]
)
def test_duplicates_are_refused(
    tmp_path: Path, read: Callable[[Path], object], values: tuple[str, str]
) -> None:
    one, two = values
    path = write(
        tmp_path / "file", f"a u1 {one}\nb u1 {one}\n\na u1 {one}\na u2 {one}\na u1 {two}\n"
    )
    with pytest.raises(PrivacyEvalError, match="file:4: 2 duplicate trials: 'a u1', 'a u1';"):
        read(path)


# Pairing


@pytest.mark.usefixtures("hashing")
def test_mismatch_names_first_lines(tmp_path: Path) -> None:
    scores = "".join(f"s u{i} {i}\n" for i in range(10))
    trials = "".join(f"s u{i} {'target' if i % 2 else 'nontarget'}\n" for i in range(3, 12))
    with pytest.raises(PrivacyEvalError) as caught:
        paired(tmp_path, scores, "\n" + trials)
    head, missing, extra, hint = str(caught.value).splitlines()
    assert head == f"{tmp_path}/scores and {tmp_path}/trials do not contain the same trials:"
    # u10 and u11, after a blank line and 7 trials that have a score.
    assert missing == f"  2 trials without a score (first at {tmp_path}/trials:9): 's u10', 's u11'"
    assert (
        extra
        == f"  3 scores without a trial (first at {tmp_path}/scores:1): 's u0', 's u1', 's u2'"
    )
    assert "--allow-missing" in hint


@pytest.mark.usefixtures("hashing")
@pytest.mark.parametrize(
    ("scores", "why"),
    [
        ("u1 s 1\nu2 s 2\n", "the first two columns of the scores are exchanged"),
        ("t u1 1\nt u2 2\n", "no trial is in both, so they are of different sets"),
        ("s u1 1\nt u2 2\n", None),
    ],
)
def test_disjoint_files_name_the_reason(tmp_path: Path, scores: str, why: str | None) -> None:
    with pytest.raises(PrivacyEvalError) as caught:
        paired(tmp_path, scores, "s u1 target\ns u2 nontarget\n")
    line = str(caught.value).splitlines()[1]
    assert line.startswith(f"  {why or '1 trial without a score'}")
    assert ("--allow-missing" in str(caught.value)) is (why is None)


@pytest.mark.parametrize(("rows", "is_cut"), [((0, 1, 2), True), ((0, 1, 3), False)])
def test_scores_that_end_early(tmp_path: Path, rows: tuple[int, ...], is_cut: bool) -> None:
    trials = ["s u1 target", "s u2 nontarget", "t u1 nontarget", "t u2 target"]
    scores = "".join(f"{trials[row].rpartition(' ')[0]} {row}\n" for row in reversed(rows))
    with pytest.raises(PrivacyEvalError, match="1 trial without a score") as caught:
        paired(tmp_path, scores, "\n".join(trials))
    assert ("truncated" in str(caught.value)) is is_cut


def test_a_line_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "scores"
    for text, is_cut in (("s u1 1\ns u2", True), ("s u1 1\ns u2\n", False), ("s u1\ns u2", False)):
        path.write_text(text)
        with pytest.raises(PrivacyEvalError, match="expected 3 fields") as caught:
            read_scores(path)
        assert ("is truncated" in str(caught.value)) is is_cut


def test_exchanged_score_file_and_key(tmp_path: Path) -> None:
    scores, key = tmp_path / "scores", tmp_path / "trials"
    scores.write_text("s u1 1.5\ns u2 -2\n")
    key.write_text("s u1 target\ns u2 nontarget\n")
    with pytest.raises(PrivacyEvalError, match=f"^{key}:1: .*'target'.* exchanged"):
        read_scores(key)
    with pytest.raises(PrivacyEvalError, match=rf"^{scores}:1: .*'1\.5'.* exchanged"):
        read_trials(scores)


@pytest.mark.usefixtures("hashing")
@pytest.mark.parametrize("extra", ["u", "an-utterance-of-more-than-one-word", "x" * 100])
def test_allow_missing_counts_trials(tmp_path: Path, extra: str) -> None:
    """For ids of any length in one of the files."""
    scores = f"s u1 1\ns {extra} 2\ns u2 3\n"
    trials = "s u2 nontarget\ns u1 target\ns u3 target\ns u4 nontarget\n"
    result = paired(tmp_path, scores, trials, allow_missing=True)
    assert rows_of(result) == [("s", "u1", 1.0, True), ("s", "u2", 3.0, False)]
    assert (result.missing, result.extra) == (2, 1)
    with pytest.raises(PrivacyEvalError, match=r"\n  2 trials .* 's u4'\n  1 score without"):
        paired(tmp_path, scores, trials)


@pytest.mark.parametrize(
    ("trials", "message"),
    [
        ("s1 u1 target\ns1 u2 target\ns2 u1 target\n", "trials: no nontarget trials with a score"),
        (TRIALS.replace("nontarget", "x").replace("target", "nontarget").replace("x", "nontarget"),
         "trials: no target trials with a score"),
    ],
)  # fmt: skip
def test_empty_class_is_an_error(tmp_path: Path, trials: str, message: str) -> None:
    for allow_missing in (False, True):
        with pytest.raises(PrivacyEvalError, match=message):
            paired(tmp_path, SCORES, trials, allow_missing=allow_missing)


def test_scores_of_several_files_are_in_the_order_of_the_key(tmp_path: Path) -> None:
    key = read_trials(write(tmp_path / "trials", "a u target\nb u nontarget\na v nontarget\n"))
    texts = ("a v 3\na u 1\nb u 2\n", "b u 20\na v 30\na u 10\n")
    files = [read_scores(write(tmp_path / str(i), text)) for i, text in enumerate(texts)]
    assert score_table(files, key).tolist() == [[1, 10], [2, 20], [3, 30]]


@pytest.mark.parametrize("factor", FACTORS)
@settings(max_examples=60)
@given(
    pool=st.lists(keys, min_size=2, max_size=14, unique=True),
    complete=st.booleans(),
    data=st.data(),
)
@example(pool=[("a", "bc"), ("ab", "c"), ("abc", "d")], complete=True, data=None)
def test_pairing_agrees_with_a_dictionary(
    folder: Path, factor: int, pool: list[Key], complete: bool, data: st.DataObject | None
) -> None:
    if data is None:
        scored, listed, labels = pool, pool[::-1], [True, False, True]
    else:
        order = st.permutations(pool)
        scored, listed = data.draw(order), data.draw(order)
        if not complete:
            scored = scored[: data.draw(st.integers(1, len(pool)))]
            listed = listed[: data.draw(st.integers(1, len(pool)))]
        labels = data.draw(st.lists(st.booleans(), min_size=len(listed), max_size=len(listed)))
    key_label = dict(zip(listed, labels, strict=True))
    expected = [
        (*key, float(i), key_label[key]) for i, key in enumerate(scored) if key in key_label
    ]
    missing = [key for key in listed if key not in scored]
    extra = [key for key in scored if key not in key_label]
    score_text = "".join(f"{s} {u} {i}\n" for i, (s, u) in enumerate(scored))
    trial_text = "".join(
        f"{s}\t{u}\t{'target' if label else 'nontarget'}\n" for (s, u), label in key_label.items()
    )
    both_classes = {row[3] for row in expected} == {True, False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_table, "_HASH_FACTOR", factor)
        if missing or extra:
            with pytest.raises(PrivacyEvalError, match="do not contain the same trials") as caught:
                paired(folder, score_text, trial_text)
            for what, left in (("trials? without a", missing), ("scores? without a", extra)):
                counted = re.search(rf"^  (\d+) {what}", str(caught.value), re.MULTILINE)
                assert int(counted[1] if counted else 0) == len(left)
        if both_classes:
            result = paired(folder, score_text, trial_text, allow_missing=True)
            assert rows_of(result) == expected
            assert (result.missing, result.extra) == (len(missing), len(extra))
        else:
            with pytest.raises(PrivacyEvalError, match="trials with a score"):
                paired(folder, score_text, trial_text, allow_missing=True)


# Comparing keys


def test_differing_labels_of_two_keys_are_counted(tmp_path: Path) -> None:
    rows = [f"s{i} u{i} {'target' if i % 2 else 'nontarget'}\n" for i in range(9)]
    (tmp_path / "one").write_text("".join(rows[:8]))
    changed = [*rows[2:], rows[0].replace("nontarget", "target")]
    changed[1] = changed[1].replace("target", "nontarget")
    (tmp_path / "two").write_text("".join(changed))
    one, two = read_trials(tmp_path / "one"), read_trials(tmp_path / "two")
    for a, b in ((one, two), (two, one)):
        with pytest.raises(PrivacyEvalError, match="2 of 7 labels differ, 2 trials are in one"):
            check_same_trials(a, b)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("b u2 nontarget\na\tu1  target", None),
        ("a u1 target\nb u2 target\n", "two:2: trial 'b u2' has another label in {one}:"),
        ("a u1 target\n", "one:2: trial 'b u2' is missing in {two}:"),
        ("c u3 target\na u1 target\nb u2 nontarget\n", "two:1: trial 'c u3' is missing in {one}:"),
        ("\na u1 target\nb u3 nontarget\n", "two:3: trial 'b u3' is missing in"),
    ],
)
def test_keys_that_differ_are_refused(tmp_path: Path, other: str, message: str | None) -> None:
    (tmp_path / "one").write_text("a u1 target\nb u2 nontarget\n")
    (tmp_path / "two").write_text(other)
    one, two = read_trials(tmp_path / "one"), read_trials(tmp_path / "two")
    if message is None:
        check_same_trials(one, two)
        check_same_trials(two, one)
        return
    expected = message.format(one=one.name, two=two.name)
    with pytest.raises(PrivacyEvalError, match=re.escape(f"{tmp_path}/{expected}")):
        check_same_trials(one, two)
    with pytest.raises(PrivacyEvalError, match="two keys"):
        check_same_trials(two, one)


SPEAKERS = ["a", "b"]


def paired_speakers(folder: Path, enrolled: dict[str, str], spoken: dict[str, str]) -> Trials:
    """Pair every enrolled id with every utterance; both by their speaker."""
    lines = (
        f"{e} {u} 0.5 {'target' if enrolled[e] == spoken[u] else 'nontarget'}"
        for e in enrolled
        for u in spoken
    )
    scores = read_scores(lines_to(folder / "scores", lines), format="wespeaker")
    return pair(scores)


def spk(folder: Path, name: str, speaker_of: dict[str, str]) -> Path:
    return lines_to(folder / name, (f"{u} {s}" for u, s in speaker_of.items()))


UTTERANCES = {"u1": "a", "u2": "b"}


@pytest.mark.parametrize("enrolled", [{"a": "a", "b": "b"}, {"u3": "a", "u4": "b", "b": "b"}])
def test_utt2spk_lists_enrolled_utterances_and_other_ids_are_speakers(
    tmp_path: Path, enrolled: dict[str, str]
) -> None:
    trials = paired_speakers(tmp_path, enrolled, UTTERANCES)
    utt2spk = spk(tmp_path, "utt2spk", {**UTTERANCES, "u3": "a", "u4": "b"})
    known = with_speakers(trials, utt2spk)
    assert known.enrolled_speaker.tolist() == [enrolled[e] for e in trials.enrolled.tolist()]
    assert known.trial_speaker.tolist() == [UTTERANCES[u] for u in trials.utterance.tolist()]


def test_a_speaker_named_like_an_utterance_is_the_speaker(tmp_path: Path) -> None:
    trials = paired_speakers(tmp_path, {"a": "a", "b": "b"}, UTTERANCES)
    utt2spk = spk(tmp_path, "utt2spk", {**UTTERANCES, "a": "b"})
    assert with_speakers(trials, utt2spk).enrolled_speaker.tolist() == trials.enrolled.tolist()


def test_models_have_speakers_of_their_own_file(tmp_path: Path) -> None:
    models = {"m1": "a", "m2": "a", "m3": "b"}
    trials = paired_speakers(tmp_path, models, UTTERANCES)
    files = spk(tmp_path, "utt2spk", UTTERANCES), spk(tmp_path, "models", models)
    assert with_speakers(trials, *files).enrolled_speaker.tolist() == [
        models[m] for m in trials.enrolled.tolist()
    ]
    with pytest.raises(PrivacyEvalError, match=r"models: 1 enrolled ids have no speaker: m3"):
        with_speakers(trials, files[0], spk(tmp_path, "models", {"m1": "a", "m2": "a"}))
    with pytest.raises(PrivacyEvalError, match=r"m1 \(taken for a speaker.*--enroll-utt2spk"):
        with_speakers(trials, files[0])


def test_first_folders_name_speakers(tmp_path: Path) -> None:
    ids = {f"{s}/x/{n}.wav": s for s in SPEAKERS for n in range(2)}
    trials = paired_speakers(tmp_path, ids, ids)
    for utt2spk in (None, tmp_path / "missing", spk(tmp_path, "utt2spk", ids)):
        known = with_speakers(trials, utt2spk)
        assert known.enrolled_speaker.tolist() == [
            t.split("/")[0] for t in trials.enrolled.tolist()
        ]
        assert known.trial_speaker.tolist() == [t.split("/")[0] for t in trials.utterance.tolist()]


def test_contradictions_name_both_readings(tmp_path: Path) -> None:
    ids = {"a/1.wav": "a", "b/1.wav": "b"}
    trials = paired_speakers(tmp_path, ids, ids)
    utt2spk = spk(tmp_path, "utt2spk", {"a/1.wav": "b", "b/1.wav": "b"})
    message = r"(?s)labels of 2 trials contradict .*\(speaker b, by .*trial .*\(speaker b, by "
    with pytest.raises(PrivacyEvalError, match=message):
        with_speakers(trials, utt2spk)


def test_without_a_file_or_folders_the_file_is_asked_for(tmp_path: Path) -> None:
    trials = paired_speakers(tmp_path, {"a": "a", "b": "b"}, UTTERANCES)
    with pytest.raises(PrivacyEvalError, match="--utt2spk"):
        with_speakers(trials, None)
    with pytest.raises(PrivacyEvalError, match="1 trial utterances have no speaker: u2"):
        with_speakers(trials, spk(tmp_path, "utt2spk", {"u1": "a"}))
