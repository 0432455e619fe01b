"""The protocol of a metric study: conf/metric_study.yaml as validated dataclasses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..asv.backend import BackendName
from ..errors import PrivacyEvalError
from ..io.schema import from_plain
from ..io.user_metrics import UserMetric
from ..metrics import METRICS, Variant
from ..protocol.protocol import bundled_studies, read_yaml_values

Selection = Literal["const", "perm", "rand"]
Attacker = Literal["ignorant", "semi-informed", "informed", "aligned"]
#: How an attacker compares x-vectors: by a back end, or by the discriminant `lda-joint`.
Linkage = Literal[BackendName, "lda-joint"]

#: Labels of target and nontarget trials in trial keys.
TARGET, NONTARGET = "T", "N"


@dataclass(frozen=True)
class DiscreteCase:
    """Labels of trials with the scores 1, 2, ..., and published values."""

    title: str
    labels: str
    printed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DiscreteExperiment:
    """Table 1 of the comparative study."""

    cases: tuple[DiscreteCase, ...]


@dataclass(frozen=True)
class GaussianCase:
    """Trial keys: the label of the scores of each distribution."""

    title: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class GaussianExperiment:
    """Section 4.2 of the comparative study."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    scores: int
    cases: tuple[GaussianCase, ...]
    pairs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ClusterTrials:
    """Pairs of utterances of the clusters that are trials."""

    title: str
    enrollment_left: float
    trial_left: float
    enrolled: tuple[Literal["A", "B"], ...]


@dataclass(frozen=True)
class ClustersExperiment:
    """Figure 3 of the comparative study."""

    distance: float
    deviation: float
    utterances: int
    protocols: tuple[ClusterTrials, ...]


@dataclass(frozen=True)
class VectorSettings:
    """Simulated x-vectors and the training set of their back end."""

    dimension: int
    between: float
    decay: float
    within: float
    training: int
    training_utterances: int
    lda_dim: int


@dataclass(frozen=True)
class Technique:
    """Conversion of x-vectors: target + residual (x - m) + leak (m - mean of all).

    `rotated`: all but the target is rotated, always in the same way.
    """

    title: str
    residual: float
    leak: float
    rotated: bool = False


@dataclass(frozen=True)
class AttacksExperiment:
    """Section 5 of the comparative study."""

    techniques: tuple[Technique, ...]
    selections: tuple[Selection, ...]
    attackers: tuple[Attacker, ...]
    linkages: tuple[Linkage, ...]
    speakers: int
    enrollment: int
    trial: int
    pool: int
    pairs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class MatrixCase:
    """Anonymization: keep * (new utterance of the speaker) + pseudo * (pseudo-voice) + noise."""

    title: str
    keep: float
    pseudo: float
    noise: float


@dataclass(frozen=True)
class MatricesExperiment:
    """Figure 1 of the voice similarity paper."""

    speakers: int
    utterances: int
    cases: tuple[MatrixCase, ...]


@dataclass(frozen=True)
class EstimatorsExperiment:
    """Bias and spread of estimates of the population value."""

    eers: tuple[float, ...]
    replicates: int
    targets: tuple[int, ...]
    nontargets_per_target: tuple[int, ...]
    speakers: tuple[int, ...]
    utterances: int
    speaker_share: float
    tolerances: Mapping[str, float]


@dataclass(frozen=True)
class StudyProtocol:
    """A metric study; every experiment is optional.

    Attributes
    ----------
    variant : str
        Variant of the metrics in tables and figures.
    vectors : VectorSettings or None
        Required for `attacks` and `matrices`.
    """

    name: str
    title: str
    seed: int
    variant: Variant
    vectors: VectorSettings | None = None
    discrete: DiscreteExperiment | None = None
    gaussian: GaussianExperiment | None = None
    clusters: ClustersExperiment | None = None
    attacks: AttacksExperiment | None = None
    matrices: MatricesExperiment | None = None
    estimators: EstimatorsExperiment | None = None


def load_study(name: str) -> StudyProtocol:
    """Load a study by the name of a bundled one or by the path of a YAML file.

    Raises
    ------
    PrivacyEvalError
        Unknown name, unreadable file, invalid YAML, a missing, unknown or wrong entry.
    """
    values, where = read_yaml_values(name, base=Path(), bundled=bundled_studies())
    return study_from_dict(values, where)


def study_from_dict(values: object, where: str) -> StudyProtocol:
    """Build a study from plain values and validate it; `where` begins error messages."""
    study = from_plain(StudyProtocol, values, where)
    for valid, message in _conditions(study):
        if not valid:
            raise PrivacyEvalError(f"{where}: {message}")
    return study


def check_pairs(study: StudyProtocol, user_metrics: Sequence[UserMetric]) -> None:
    """Check that the metrics plotted against each other exist.

    Raises
    ------
    PrivacyEvalError
        An unknown metric, or not a pair.
    """
    metrics = {*METRICS, *(metric.name for metric in user_metrics)}
    for name, experiment in (("gaussian", study.gaussian), ("attacks", study.attacks)):
        for pair in () if experiment is None else experiment.pairs:
            if len(pair) != 2 or not metrics.issuperset(pair):
                raise PrivacyEvalError(
                    f"{study.name}: {name}: pairs: expected two of {', '.join(sorted(metrics))}, "
                    f"not {', '.join(pair)}"
                )


_KEY = f"expected {TARGET} and {NONTARGET}, each at least once"

#: Entries by their minimum (of every number of a list).
_MINIMUM: Mapping[int, str] = {
    0: "seed",
    1: "attacks.enrollment attacks.trial estimators.targets estimators.nontargets_per_target "
    "estimators.utterances",
    2: "clusters.utterances vectors.dimension vectors.training vectors.training_utterances "
    "attacks.speakers matrices.speakers matrices.utterances estimators.replicates "
    "estimators.speakers",
}

_POSITIVE = (
    "clusters.deviation gaussian.deviations vectors.between vectors.decay vectors.within "
    "estimators.tolerances"
)


def _numbers(study: StudyProtocol, path: str) -> list[float]:
    """List the numbers of an entry; empty if its experiment is omitted."""
    value: Any = study
    for name in path.split("."):
        value = getattr(value, name, ())
    if isinstance(value, Mapping):
        value = value.values()
    return list(value) if isinstance(value, Iterable) else [value]


def _conditions(study: StudyProtocol) -> Iterator[tuple[bool, str]]:
    """Yield the conditions of a valid study, each with its error message."""
    for minimum, paths in _MINIMUM.items():
        for path in paths.split():
            valid = all(number >= minimum for number in _numbers(study, path))
            yield valid, f"{path.replace('.', ': ')}: expected at least {minimum}"
    for path in _POSITIVE.split():
        valid = all(number > 0 for number in _numbers(study, path))
        yield valid, f"{path.replace('.', ': ')}: expected positive numbers"
    for case in study.discrete.cases if study.discrete else ():
        yield _is_key(case.labels), f"discrete: {case.title}: labels: {_KEY}"
    if (g := study.gaussian) is not None:
        keys = [(c, key) for c in g.cases for key in c.keys]
        yield bool(g.deviations), "gaussian: deviations: expected at least one"
        yield g.scores >= len(g.means), "gaussian: scores: expected at least one per distribution"
        for c, key in keys:
            yield (
                _is_key(key) and len(key) == len(g.means),
                f"gaussian: {c.title}: keys: {_KEY}, one label per mean, not {key!r}",
            )
        yield _distinct(c.title for c in g.cases), "gaussian: duplicate title of a case"
        yield _distinct(key for _, key in keys), "gaussian: duplicate key"
    for trials in study.clusters.protocols if study.clusters else ():
        fractions = (trials.enrollment_left, trials.trial_left)
        yield (
            all(0 <= fraction <= 1 for fraction in fractions) and bool(trials.enrolled),
            f"clusters: {trials.title}: expected fractions from 0 to 1, and enrolled speakers",
        )
    for name, experiment in (("attacks", study.attacks), ("matrices", study.matrices)):
        yield experiment is None or study.vectors is not None, f"{name} requires the entry vectors"
    if (v := study.vectors) is not None:
        yield 1 <= v.lda_dim <= v.dimension, "vectors: lda_dim: expected 1 to dimension"
    if (a := study.attacks) is not None:
        yield a.pool >= a.speakers, "attacks: pool: expected at least the number of speakers"
        yield _distinct(t.title for t in a.techniques), "attacks: duplicate title of a technique"
    if (e := study.estimators) is not None:
        unknown = [name for name in e.tolerances if name not in METRICS]
        yield all(0 < eer < 0.5 for eer in e.eers), "estimators: eers: expected 0 < EER < 0.5"
        yield 0 <= e.speaker_share < 1, "estimators: speaker_share: expected 0 to less than 1"
        yield not unknown, f"estimators: tolerances: not built-in metrics: {', '.join(unknown)}"


def _is_key(text: str) -> bool:
    return set(text) == {TARGET, NONTARGET}


def _distinct(values: Iterable[str]) -> bool:
    items = list(values)
    return len(set(items)) == len(items)
