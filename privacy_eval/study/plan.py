"""The plan of a metric study: conf/metric_study.yaml as validated dataclasses."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..asv.backend import BackendName
from ..errors import PrivacyEvalError
from ..io.files import digest, read_bytes
from ..io.schema import from_plain, to_plain
from ..metrics import REGISTRY, TrialScores, Variant
from ..protocol.protocol import bundled_studies, read_values

Selection = Literal["const", "perm", "rand"]
Attacker = Literal["ignorant", "semi-informed", "informed"]

#: How utterances of T(arget) and N(ontarget) trials are written in keys.
MATED, NONMATED = "T", "N"


@dataclass(frozen=True)
class DiscreteCase:
    """Labels of trials with the scores 1, 2, ..., and what was published of them."""

    title: str
    labels: str
    printed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DiscretePlan:
    """Table 1 of the comparative study."""

    cases: tuple[DiscreteCase, ...]


@dataclass(frozen=True)
class GaussianCase:
    """Keys that say of each distribution whether its scores are mated."""

    title: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class GaussianPlan:
    """Section 4.2 of the comparative study."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]
    scores: int
    cases: tuple[GaussianCase, ...]
    pairs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ClusterProtocol:
    """Which pairs of the clusters' utterances are trials."""

    title: str
    enrollment_left: float
    trial_left: float
    enrolled: tuple[Literal["A", "B"], ...]


@dataclass(frozen=True)
class ClustersPlan:
    """Figure 3 of the comparative study."""

    distance: float
    deviation: float
    utterances: int
    protocols: tuple[ClusterProtocol, ...]


@dataclass(frozen=True)
class VectorPlan:
    """Simulated x-vectors and the speech that trains their back end."""

    dimension: int
    between: float
    decay: float
    within: float
    training: int
    training_utterances: int
    lda_dim: int


@dataclass(frozen=True)
class Technique:
    """A conversion of x-vectors: target + residual (x - m) + leak (m - mean of all)."""

    title: str
    residual: float
    leak: float


@dataclass(frozen=True)
class AttacksPlan:
    """Section 5 of the comparative study."""

    techniques: tuple[Technique, ...]
    selections: tuple[Selection, ...]
    attackers: tuple[Attacker, ...]
    linkages: tuple[BackendName, ...]
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
class MatricesPlan:
    """Figure 1 of the voice similarity paper."""

    speakers: int
    utterances: int
    cases: tuple[MatrixCase, ...]


@dataclass(frozen=True)
class EstimatorsPlan:
    """How estimates scatter around the population's value."""

    eers: tuple[float, ...]
    replicates: int
    targets: tuple[int, ...]
    nontargets_per_target: tuple[int, ...]
    speakers: tuple[int, ...]
    utterances: int
    speaker_share: float
    tolerances: Mapping[str, float]


@dataclass(frozen=True)
class StudyPlan:
    """A study: every experiment may be left out.

    Attributes
    ----------
    variant : str
        Which variant tables and figures show.
    vectors : VectorPlan or None
        Needed for `attacks` and `matrices`.
    """

    name: str
    title: str
    seed: int
    variant: Variant
    vectors: VectorPlan | None = None
    discrete: DiscretePlan | None = None
    gaussian: GaussianPlan | None = None
    clusters: ClustersPlan | None = None
    attacks: AttacksPlan | None = None
    matrices: MatricesPlan | None = None
    estimators: EstimatorsPlan | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain: dict[str, Any] = to_plain(self)
        return plain


@dataclass(frozen=True)
class OwnMetric:
    """A metric that somebody proposes: a function of `TrialScores` that gives a number.

    Attributes
    ----------
    name : str
    function : callable
    sha256 : str
        Of the file that defines it: what was computed by another version is computed anew.
    """

    name: str
    function: Callable[[TrialScores], float]
    sha256: str


def load_study(name: str, *, base: Path = Path()) -> StudyPlan:
    """A study by the name of a bundled plan or by the path of a YAML file.

    Raises
    ------
    PrivacyEvalError
        Unknown name, unreadable file, invalid YAML, a missing, unknown or wrong entry.
    """
    values, where = read_values(name, base=base, bundled=bundled_studies())
    return study_from_dict(values, where)


def study_from_dict(values: object, where: str) -> StudyPlan:
    """A study from plain values, validated; `where` is for the message of the error."""
    plan = from_plain(StudyPlan, values, where)
    _validate(plan, where)
    return plan


def own_metric(text: str) -> OwnMetric:
    """A metric from `NAME=FILE.py:FUNCTION` or `NAME=MODULE:FUNCTION`.

    Raises
    ------
    PrivacyEvalError
        Not of this form, no such file or function, a name of ours.
    """
    name, equals, source = text.partition("=")
    origin, colon, function = source.rpartition(":")
    if not (name and equals and origin and colon and function):
        raise PrivacyEvalError(f"expected NAME=FILE.py:FUNCTION, not {text!r}")
    if name in REGISTRY or not name.isidentifier():
        raise PrivacyEvalError(f"{text}: {name!r} is a metric of ours, or no name of one")
    try:
        if origin.endswith(".py"):
            spec = importlib.util.spec_from_file_location(f"own_metric_{name}", origin)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(origin)
    except (ImportError, OSError, SyntaxError) as error:
        raise PrivacyEvalError(f"{text}: {origin}: cannot be imported ({error})") from error
    found = getattr(module, function, None)
    if not callable(found):
        raise PrivacyEvalError(f"{text}: {origin} has no function {function!r}")
    content = read_bytes(Path(module.__file__)) if module.__file__ else origin.encode()
    return OwnMetric(name, found, digest(content))


def check_pairs(plan: StudyPlan, own: Sequence[OwnMetric]) -> None:
    """Whether the metrics that are to be drawn against each other are there.

    Raises
    ------
    PrivacyEvalError
        One is not, or a pair is no pair.
    """
    known = {*REGISTRY, *(metric.name for metric in own)}
    parts = {"gaussian": plan.gaussian, "attacks": plan.attacks}
    for name, part in parts.items():
        for pair in () if part is None else part.pairs:
            if len(pair) != 2 or not known.issuperset(pair):
                raise PrivacyEvalError(
                    f"{plan.name}: {name}: pairs: expected two of {', '.join(sorted(known))}, "
                    f"not {', '.join(pair)}"
                )


def _validate(plan: StudyPlan, where: str) -> None:
    def need(condition: bool, message: str) -> None:
        if not condition:
            raise PrivacyEvalError(f"{where}: {message}")

    need(plan.seed >= 0, "seed: expected a whole number from 0")
    if plan.discrete is not None:
        for case in plan.discrete.cases:
            need(_is_key(case.labels), f"discrete: {case.title}: labels: {_KEY}")
    if plan.gaussian is not None:
        _validate_gaussian(plan.gaussian, need)
    if plan.clusters is not None:
        need(plan.clusters.utterances >= 2, "clusters: utterances: expected at least 2")
        need(plan.clusters.deviation > 0, "clusters: deviation: expected a positive number")
        for protocol in plan.clusters.protocols:
            shares = (protocol.enrollment_left, protocol.trial_left)
            need(
                all(0 <= share <= 1 for share in shares) and bool(protocol.enrolled),
                f"clusters: {protocol.title}: expected shares from 0 to 1, and who is enrolled",
            )
    for name, part in (("attacks", plan.attacks), ("matrices", plan.matrices)):
        need(part is None or plan.vectors is not None, f"{name} needs the entry vectors")
    if plan.vectors is not None:
        _validate_vectors(plan.vectors, need)
    if plan.attacks is not None:
        a = plan.attacks
        need(a.speakers >= 2, "attacks: speakers: expected at least 2")
        need(a.pool >= a.speakers, "attacks: pool: expected no fewer than speakers")
        need(min(a.enrollment, a.trial) >= 1, "attacks: expected utterances of both kinds")
        need(_distinct(t.title for t in a.techniques), "attacks: two techniques of one title")
    if plan.matrices is not None:
        m = plan.matrices
        need(min(m.speakers, m.utterances) >= 2, "matrices: expected 2 speakers and utterances")
    if plan.estimators is not None:
        _validate_estimators(plan.estimators, need)


_KEY = f"expected {MATED} and {NONMATED}, each at least once"
_Need = Callable[[bool, str], None]


def _validate_gaussian(plan: GaussianPlan, need: _Need) -> None:
    need(bool(plan.deviations), "gaussian: deviations: expected some")
    need(all(d > 0 for d in plan.deviations), "gaussian: deviations: expected positive numbers")
    need(plan.scores >= len(plan.means), "gaussian: scores: expected one a distribution at least")
    for case in plan.cases:
        for key in case.keys:
            need(
                _is_key(key) and len(key) == len(plan.means),
                f"gaussian: {case.title}: keys: {_KEY}, one letter a mean, not {key!r}",
            )
    need(_distinct(c.title for c in plan.cases), "gaussian: two cases of one title")
    need(
        _distinct(key for case in plan.cases for key in case.keys),
        "gaussian: a key stands in two cases",
    )


def _validate_vectors(plan: VectorPlan, need: _Need) -> None:
    need(plan.dimension >= 2, "vectors: dimension: expected at least 2")
    need(1 <= plan.lda_dim <= plan.dimension, "vectors: lda_dim: expected 1 to dimension")
    need(
        min(plan.training, plan.training_utterances) >= 2,
        "vectors: training: expected 2 speakers and utterances at least",
    )
    need(min(plan.between, plan.decay, plan.within) > 0, "vectors: expected positive deviations")


def _validate_estimators(plan: EstimatorsPlan, need: _Need) -> None:
    need(all(0 < eer < 0.5 for eer in plan.eers), "estimators: eers: expected 0 < EER < 0.5")
    need(plan.replicates >= 2, "estimators: replicates: expected at least 2")
    need(
        all(n >= 1 for n in (*plan.targets, *plan.nontargets_per_target, plan.utterances)),
        "estimators: expected numbers from 1",
    )
    need(all(n >= 2 for n in plan.speakers), "estimators: speakers: expected at least 2")
    need(0 <= plan.speaker_share < 1, "estimators: speaker_share: expected 0 to less than 1")
    unknown = [name for name in plan.tolerances if name not in REGISTRY]
    need(
        not unknown,
        "estimators: tolerances: expected metrics of ours, whose true values are known, not "
        f"{', '.join(unknown)}",
    )
    need(all(v > 0 for v in plan.tolerances.values()), "estimators: tolerances: must be positive")


def _is_key(text: str) -> bool:
    return set(text) == {MATED, NONMATED}


def _distinct(values: Any) -> bool:
    found: Sequence[Any] = list(values)
    return len(set(found)) == len(found)
