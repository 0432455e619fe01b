"""A metric study that is small enough for tests."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from support import ROOT

from privacy_eval.io.schema import from_plain
from privacy_eval.products.freshness import Product
from privacy_eval.study.protocol import StudyProtocol
from privacy_eval.study.run import study_products
from privacy_eval.study.scores import Row

BUNDLED = ROOT / "conf" / "metric_study.yaml"


def small_values() -> dict[str, Any]:
    """The bundled study with fewer and smaller simulations."""
    values: dict[str, Any] = yaml.safe_load(BUNDLED.read_text())
    values["gaussian"].update(scores=60, deviations=[0.5, 1], pairs=values["gaussian"]["pairs"][:1])
    values["clusters"]["utterances"] = 12
    values["vectors"].update(training=20, training_utterances=4, dimension=8, lda_dim=6)
    values["attacks"].update(speakers=5, enrollment=3, trial=4, pool=9)
    values["attacks"]["techniques"] = values["attacks"]["techniques"][2:4]
    values["matrices"].update(speakers=4, utterances=5)
    values["estimators"].update(
        eers=[0.2], replicates=5, targets=[20, 50], nontargets_per_target=[1, 3], speakers=[4, 6]
    )
    return values


def small_study(**changes: Any) -> StudyProtocol:
    return from_plain(StudyProtocol, {**small_values(), **changes}, "small study")


def small_file(folder: Path, **changes: Any) -> Path:
    path = folder / "small_study.yaml"
    path.write_text(yaml.safe_dump({**small_values(), **changes}, sort_keys=False))
    return path


def records_of(**experiments: Any) -> list[Product]:
    """The records of a study of some experiments."""
    return study_products(StudyProtocol("x", "x", 0, "exact", **experiments), Path("unused"))


def rows_of(records: Iterable[Product]) -> list[Row]:
    """The rows of records, each from its own generator."""
    made: Any = (record.make for record in records)
    contents = (make(None, {}, None).files.values() for make in made)
    return [row for texts in contents for text in texts for row in json.loads(text)]


def generator_of(record: Product) -> np.random.Generator:
    """The generator of a record, of the seed 0."""
    return np.random.default_rng([0, zlib.crc32(record.name.encode())])
