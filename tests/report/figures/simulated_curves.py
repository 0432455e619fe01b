"""Results with stored curves, of simulated scores, for the tests of figures of curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from privacy_eval.io.files import digest
from privacy_eval.metrics import VARIANTS, TrialScores, score_metrics, zebra_tag
from privacy_eval.protocol.protocol import Protocol, load_protocol
from privacy_eval.results.arrays import Curves
from privacy_eval.results.json_store import to_json
from privacy_eval.results.record_files import read_record, write_record
from privacy_eval.results.records import Results, VerificationRecord
from privacy_eval.stages.privacy_metrics import _curves
from privacy_eval.tree.conditions import TrialCondition

CONFIG = load_protocol("vpc2020")
ODD = "_50%_team & $x$ Co"
ATTACKS = ("original", "ignorant", "lazy-informed", "semi-informed")
#: How far apart the classes are under an attack model.
APART = {"original": 4.0, "ignorant": 0.3, "lazy-informed": 1.0, "semi-informed": 2.0}


def scores_of(apart: float, trials: int = 400, seed: int = 0) -> TrialScores:
    generator = np.random.default_rng(seed)
    is_target = np.arange(trials) < trials // 4
    return TrialScores.from_labels(generator.standard_normal(trials) + apart * is_target, is_target)


def record_of(
    folder: Path,
    system: str,
    attack: str,
    scores: TrialScores,
    *,
    gender: str = "f",
    split: str = "test",
    without: Sequence[str] = (),
) -> VerificationRecord:
    """A record on disk, beside a results.json in `folder`."""
    model = next(a for a in CONFIG.attack_models if a.id == attack)
    metrics = {v: score_metrics(scores, variant=v) for v in VARIANTS}
    tags = {v: zebra_tag(metrics[v], v) for v in VARIANTS}
    name = f"ASV-{attack}-{split}-{gender}"
    condition = TrialCondition(
        system, "", name, "libri", split, gender, model.enrollment, model.trial, model.asv_model,
        attack, "enrolls", "trials",
    )  # fmt: skip
    record = VerificationRecord(condition, metrics, tags, scores.n_target, scores.n_nontarget)
    path = folder / "records" / digest(system.encode()) / f"{name}.json"
    write_record(path, record, {k: v for k, v in _curves(scores).items() if k not in without})
    read = read_record(path, VerificationRecord)
    assert read is not None
    return read


def results_of(
    folder: Path, records: Iterable[VerificationRecord], protocol: Protocol = CONFIG
) -> tuple[Results, Curves]:
    results = Results(protocol, tuple(records))
    path = folder / "results.json"
    path.write_text(to_json(results))
    return results, Curves([(results, path)])


def simulated(
    folder: Path,
    systems: Mapping[str, float],
    attacks: Sequence[str] = ATTACKS,
    genders: str = "f",
) -> tuple[Results, Curves]:
    """Systems by what their anonymization adds to the distance of the classes."""
    return results_of(
        folder,
        [
            record_of(
                folder,
                system,
                attack,
                scores_of(APART[attack] + more * (attack != "original")),
                gender=gender,
            )  # fmt: skip
            for system, more in systems.items()
            for attack in attacks
            for gender in genders
        ],
    )
