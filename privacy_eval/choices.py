"""Names and functions that options, protocols and metrics share, in a module that loads at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Literal, TypeVar, get_args

Item = TypeVar("Item")
Group = TypeVar("Group", bound=Hashable)

#: How metrics are computed: as the challenge's scripts do, or as their definitions say.
Variant = Literal["challenge", "exact"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)

#: Normalization of transcripts before words are counted.
Normalization = Literal["none", "vpc2026"]
NORMALIZATIONS: tuple[Normalization, ...] = get_args(Normalization)

#: How an attacker compares original enrollment with anonymized trial vectors.
AlignmentName = Literal["none", "shift", "centered", "procrustes", "ridge-forward", "ridge-reverse"]
ALIGNMENTS: tuple[AlignmentName, ...] = get_args(AlignmentName)

#: Pretrained models that can be downloaded.
MODEL_NAMES = ("ge2e", "d-vector", "dnsmos", "phones")
#: The encoder that needs no model.
SPECTRUM = "spectrum"
#: Speaker encoders by name, and the models that they need.
ENCODERS = {"ge2e": "ge2e", "ge2e-raw": "ge2e", "d-vector": "d-vector", SPECTRUM: ""}
#: Suffixes of files of encoders: networks in ONNX, and SpeechBrain's checkpoints.
ONNX, CHECKPOINT = ENCODER_FILES = ".onnx", ".ckpt"
#: The encoders above, by the digest that results name their vectors by.
PINNED_ENCODERS = {
    "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e": "ge2e",
    "83f991acbd1a3df26650990535df2f8d2417dbfb56dfb67158353439904be604": "ge2e-raw",
    "c4d17ba220a33d7f27866c78f573372f4ae2dd57b405cdacdaf4483ecc374812": "d-vector",
    "782f6c510d371ce8f033521885198184b9b650db7a394ca8ebfd4f627617dfdf": SPECTRUM,
}

#: Folds of speakers by default, and at least: fewer leave too few trials to learn from.
FOLDS, LEAST_FOLDS = 10, 4

#: What a classifier of attributes learns from, and is tested on.
SITUATIONS = ("orig_to_orig", "orig_to_anon", "anon_to_anon")
#: The attribute that trees know of their speakers, in `spk2gender`.
GENDER = "gender"
#: Titles of genders in lists of speakers.
GENDERS = {"f": "female", "m": "male"}
#: Folds of speakers of such a classifier by default.
ATTRIBUTE_FOLDS = 5

#: Formats of figures; only curves can be written as TeX.
FIGURE_FORMATS = ("png", "pdf", "tex")

#: Sections of the report with tables and figures of groups, and of the amount of speech.
GROUPS, AMOUNT = "Groups of speakers", "With how much speech"

#: The rated qualities, and all columns of a file of ratings, in order.
RATING_METRICS = ("naturalness", "intelligibility", "similarity")
RATING_COLUMNS = (
    *("evaluator", "system", "data_set", "gender", "trial", "enrollment", "same_speaker"),
    *RATING_METRICS,
)
#: Name of original speech in their column of systems.
ORIGINAL_SYSTEM = "Original"

#: The file of a demo tree that tells what was simulated.
DEMO_MARKER = "demo_tree.json"

#: Confidence level of intervals and tests.
LEVEL = 0.95
#: Fewest speakers whose results carry a claim about others.
LEAST_SPEAKERS = 20
#: Largest number of bootstrap replicates: more would take too long and add no precision.
MOST_REPLICATES = 1_000_000

#: Files of a trial set's voice similarity in 2020: original speech is `osp`, pseudonymized `psp`.
NAMES_2020 = (
    *(f"similarity_matrix_{name}.npy" for name in ("osp_osp", "osp_psp", "psp_psp")),
    "DeIDentification",
    "gain_of_voice_distinctiveness",
)

#: What target and nontarget trials are called, in lower case; -1 stands beside 1 only.
TRUTH = (
    *(("target", "nontarget"), ("tgt", "imp"), ("1", "0"), ("true", "false"), ("1", "-1")),
    *(("target", "imp"), ("target", "impostor"), ("target", "non-target"), ("tgt", "nontgt")),
    *(("mated", "nonmated"), ("mated", "non-mated"), ("same", "different"), ("same", "diff")),
    *(("genuine", "impostor"), ("genuine", "imposter")),
)
#: Columns of trials, and what others call them, in lower case. An enrolled id is a speaker, a model
#: or an utterance; `trial_speaker` and `enrolled_speaker` are people.
COLUMNS = {
    "enrolled": (
        *("enrolled", "modelid", "model_id", "model", "enroll", "enrol", "enrollment"),
        *("enroll_id", "enrolled_id", "enrollment_id", "speaker", "spk", "speaker_id", "spk_id"),
    ),
    "utterance": (
        *("utterance", "segmentid", "segment_id", "segment", "test", "trial", "utt"),
        *("utterance_id", "utt_id", "test_id", "test_utt", "trial_utt"),
    ),
    "score": ("score", "scores", "llr", "similarity"),
    "label": (
        *("label", "labels", "targettype", "key", "is_target", "target", "same", "same_speaker"),
        "mated",
    ),
    "enrolled_speaker": ("enrolled_speaker", "enroll_speaker", "enrollment_speaker", "enroll_spk"),
    "trial_speaker": ("trial_speaker", "test_speaker", "trial_spk", "test_spk"),
    "weight": ("weight",),
}
#: Of these, the enrolled id in a table without another one, and else the trial speaker.
_SPEAKER = ("speaker", "spk", "speaker_id", "spk_id")
#: What can be done with ids that differ by rule; `swap` exchanges the two ids of the key.
ID_RULES = ("strip-extension", "basename", "lower", "swap", "strip-speaker")
#: What other programs write for a value that is missing: never a name.
MISSING = frozenset(
    ["", "None", "nan", "NaN", "NaT", "<NA>", "NA", "N/A", "n/a", "n.a.", "#N/A", "null", "NULL"]
    + ["<null>", "<NULL>", "\\N", "-", "--", "---", "?", "."]
)


def without_fraction(text: str) -> str:
    """Return the integer of a whole float, which data frames make of integers; else the text.

    Examples
    --------
    >>> without_fraction("235.0"), without_fraction("1.5"), without_fraction("s1.0")
    ('235', '1.5', 's1.0')
    """
    whole, point, zeros = text.partition(".")
    is_whole = whole.removeprefix("-").isdigit() and zeros.strip("0") == "" != zeros
    return whole if is_whole and text.isascii() else text


def fields_of(names: Iterable[str], known: Collection[str] = ()) -> dict[str, list[str]]:
    """Find columns by their usual names.

    Parameters
    ----------
    names : iterable of str
        Of all columns of a table.
    known : collection of str
        Fields that are known already.

    Returns
    -------
    dict
        By field of `COLUMNS`: the names that could be it, several if it is not clear.

    Examples
    --------
    >>> fields_of(["speaker", "utt", "LLR"])
    {'enrolled': ['speaker'], 'utterance': ['utt'], 'score': ['LLR']}
    >>> fields_of(["enroll", "speaker"])
    {'enrolled': ['enroll'], 'trial_speaker': ['speaker']}
    """
    usual = {alias: field for field, aliases in COLUMNS.items() for alias in aliases}
    fields = {name: usual.get(name.strip().lower(), "") for name in names}
    speakers = [n for n, field in fields.items() if field and n.strip().lower() in _SPEAKER]
    if "enrolled" in known or len([*filter("enrolled".__eq__, fields.values())]) > len(speakers):
        fields |= dict.fromkeys(speakers, "trial_speaker")
    return {
        field: found
        for field, found in grouped(fields, fields.__getitem__).items()
        if field and field not in known
    }


def missing_among(texts: Collection[str]) -> set[str]:
    """Return the texts that stand for a missing value, also the code -1 among codes from 0.

    Examples
    --------
    >>> sorted(missing_among({"f", "NA", "-1"})), missing_among({"-1", "0", "2"})
    (['NA'], {'-1'})
    >>> missing_among({"-1", "1"})
    set()
    """
    missing = MISSING.intersection(texts)
    code = {"-1", "-1.", "-1.0"}.intersection(texts)
    if not code:
        return {*missing}
    codes = {without_fraction(text) for text in missing.symmetric_difference(texts) - code}
    are_codes = all(text.isdigit() for text in codes) and codes not in (set(), {"1"})
    return {*missing, *(code if are_codes else ())}


def grouped(items: Iterable[Item], group_of: Callable[[Item], Group]) -> dict[Group, list[Item]]:
    """Group items, such as utterances by `speaker_of.__getitem__`, in their order.

    Examples
    --------
    >>> grouped(["b1", "a1", "b2"], lambda name: name[0])
    {'b': ['b1', 'b2'], 'a': ['a1']}
    """
    groups: dict[Group, list[Item]] = {}
    for item in items:
        groups.setdefault(group_of(item), []).append(item)
    return groups
