"""Data that figures are drawn from: simulated scores with stored arrays, published values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from support import verification_record

from privacy_eval.io.files import digest
from privacy_eval.metrics import VARIANTS, TrialScores, score_metrics, zebra_tag
from privacy_eval.metrics.registry import score_curves
from privacy_eval.numbers.cells import ORIGINAL_COLUMN, Cells, cells_from_published
from privacy_eval.numbers.report_data import ReportData
from privacy_eval.protocol.protocol import load_protocol
from privacy_eval.protocol.published import load_published_results
from privacy_eval.results.arrays import StoredArrays
from privacy_eval.results.json_store import to_json
from privacy_eval.results.record_files import read_record, record_content
from privacy_eval.results.records import Record, Results
from privacy_eval.tree.conditions import Condition

CONFIG = load_protocol("vpc2020")
ODD = "_50%_team & $x$ Co"
ATTACKS = ("original", "ignorant", "lazy-informed", "semi-informed")
#: How far apart the classes are under an attack model.
APART = {"original": 4.0, "ignorant": 0.3, "lazy-informed": 1.0, "semi-informed": 2.0}

PUBLISHED = cells_from_published(load_published_results("vpc2020"))
#: For what is said of a single figure: all metrics and systems take long.
_FEW = ("B1", "B2", "K2", ORIGINAL_COLUMN)
PUBLISHED_EER = replace(
    PUBLISHED,
    systems=tuple(s for s in PUBLISHED.systems if s in _FEW),
    rows=PUBLISHED.rows.select(metric="eer", system=_FEW),
)


def data_of(cells: Cells) -> ReportData:
    return ReportData(Results(CONFIG), cells)


def texts_of(owner: Canvas | Axes) -> list[str]:
    """Entries of the only legend."""
    legend = owner.get_legend() if isinstance(owner, Axes) else owner.legends[0]
    return [t.get_text().replace(r"\$", "$") for t in legend.get_texts()]


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
    without: Sequence[str] = (),
) -> Record:
    """A record on disk, beside a results.json in `folder`."""
    model = next(a for a in CONFIG.attack_models if a.id == attack)
    metrics = {v: score_metrics(scores, variant=v) for v in VARIANTS}
    tags = {v: zebra_tag(metrics[v], v) for v in VARIANTS}
    name = f"ASV-{attack}-test-{gender}"
    condition = Condition(
        system, "", name, "libri", "test", gender, model.enrollment, model.trial, model.asv_model,
        attack, "enrolls", "trials",
    )  # fmt: skip
    counts = {"n_target": scores.n_target, "n_nontarget": scores.n_nontarget}
    record = verification_record(condition, metrics, zebra_tag=tags, **counts)
    path = folder / "records" / digest(system.encode()) / f"{name}.json"
    arrays = {k: v for k, v in score_curves(scores).items() if k not in without}
    path.parent.mkdir(parents=True, exist_ok=True)
    for file, content in record_content(path, record, arrays).items():
        file.write_bytes(content)
    return read_record(path)


def data_of_records(folder: Path, records: Iterable[Record]) -> ReportData:
    results = Results(CONFIG, tuple(records))
    path = folder / "results.json"
    path.write_text(to_json(results))
    return ReportData(results, arrays=StoredArrays([(results, path)]))


def simulated(
    folder: Path, systems: Mapping[str, float], attacks: Sequence[str] = ATTACKS, genders: str = "f"
) -> ReportData:
    """Systems by what their anonymization adds to the distance of the classes."""
    return data_of_records(
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
