"""Stage 7: voice similarity of every trial set of a tree.

It is measured for every results folder of a system, with the ASV system used there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..choices import NAMES_2020
from ..errors import PrivacyEvalError
from ..io.files import Inputs
from ..products.freshness import (
    Content,
    Fingerprint,
    MissingInput,
    Paths,
    Product,
    Source,
    Sources,
    absent,
    similarity_cost,
)
from ..protocol.protocol import COEFFICIENTS, ORIGINAL, ResultsFolder, TrialSet
from ..results.record_files import metrics_digest, record_content, record_paths
from ..tree.conditions import Condition, set_condition
from ..version import __version__
from .access import AsvSystems, Experiment
from .records import Recorded

#: Folder in which the scripts of 2020 store the voice similarity matrices of a trial set.
FOLDER_2020 = "similarity_matrices_DeID_Gvd"

#: Roles of the coefficients of enrollment and trials, and of their vectors.
_COEFFICIENTS = "enrollment_coefficients", "coefficients"
_VOICES = (("enrolled", "enrolled_anonymized"), ("original", "anonymized"))

#: Incremented when the same inputs yield different numbers or arrays.
_REVISION = 1


def trial_set_cost(trial_set: TrialSet, asv: AsvSystems) -> float:
    """Estimate the cost of a trial set's voice similarity from the lines of its utt2spk; if it
    cannot be read, there is nothing to compute."""
    try:
        utt2spk = asv.access.find_utt2spk(trial_set.trials_name)
        asv.access.check_inside(utt2spk)
        return similarity_cost(asv.access.inputs.load(utt2spk).content.count(b"\n"))
    except (MissingInput, PrivacyEvalError):
        return similarity_cost(0)


@dataclass(frozen=True)
class _Similarity(Recorded):
    """The voice similarity of one trial set."""

    condition: Condition
    trial_set: TrialSet
    part: ResultsFolder
    anon_suffix: str
    folder_2020: Path

    @property
    def attributes(self) -> dict[str, Any]:
        condition, asv = self.condition, self.asv
        suffix = f" ({condition.results_folder})" if condition.results_folder else ""
        return {
            "name": f"{condition.system} {condition.name}{suffix}",
            "subject": {"asv_model": self.part.asv_model, "metrics": metrics_digest()},
            "files": (*(self.folder_2020 / n for n in NAMES_2020), *record_paths(self.path)),
            "options": {"variant": asv.protocol.variant},
            "revision": _REVISION,
            "cost": partial(trial_set_cost, self.trial_set, asv),
            "absent": partial(missing_inputs, self.trial_set, self.part, self.anon_suffix, asv),
        }

    def find(self, inputs: Inputs) -> Sources:
        asv, name = self.asv, self.condition.name
        utt2spk = asv.access.find_utt2spk(name)
        asv.access.check_inside(utt2spk)
        sets = {"original": (name, ""), "anonymized": (name, self.anon_suffix)}
        model = self.part.asv_model, self.anon_suffix
        own: dict[str, Path | Source] = {"utt2spk": utt2spk}
        enrolled = self.trial_set.enrollment_name
        more = {"enrolled": (enrolled, ""), "enrolled_anonymized": (enrolled, self.anon_suffix)}
        with contextlib.suppress(MissingInput):  # then nothing is said of pseudo-voices
            if self.part.asv_model == ORIGINAL:
                enrollment = asv.enrollment(enrolled, "")
                for of_set in more.values():
                    asv.find_vectors(*model, *of_set)
                own["enrollment"] = Source(enrollment.path, enrollment.digest)
                sets |= more
        for role, folder in zip(_COEFFICIENTS, (enrolled, name), strict=True):
            path = asv.access.tree / "data" / f"{folder}{self.anon_suffix}" / COEFFICIENTS
            if path.is_file() and "enrollment" in own:
                asv.access.check_inside(path)
                own[role] = path
        return asv.sources(model, sets, inputs, own)

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ..asv.voice_similarity import files_2020, voice_similarity

        trained_on = self.part.asv_model
        backend = self.asv.default_backend(trained_on)
        measured = voice_similarity(
            self.asv.compared_vectors(trained_on, paths["original_vectors"]),
            self.asv.compared_vectors(trained_on, paths["anonymized_vectors"]),
            inputs.load(paths["utt2spk"]),
            backend=backend,
            model=self.asv.backend(trained_on, self.anon_suffix),
            part=True,
            allow_missing=self.asv.access.allow_missing,
        )
        if variant_failed := measured.failed.get(self.asv.protocol.variant):
            where = f"{paths['original_vectors']}, {paths['anonymized_vectors']}"
            raise PrivacyEvalError(f"{where}: {variant_failed}")
        left_out = measured.left_out
        provenance = {
            "version": __version__,
            "backend": backend,
            **made_of.provenance(),
            "options": {"allow_missing": left_out > 0},
        }
        voices, drawn = self._voices(inputs, paths) if "enrollment" in paths else ({}, "")
        facts = {
            "voices": voices or None,
            "drawn": drawn or None,
            "n_speakers": len(measured.speakers),
            "n_utterances": measured.n_utterances,
            "utterances_left_out": left_out,
        }
        rows = [*measured.to_rows(), *measured.speaker_rows()]
        record = self.record_of("similarity", rows, facts=facts, provenance=provenance)
        files = {
            self.folder_2020 / name: content
            for name, content in files_2020(measured.by_variant[self.asv.protocol.variant]).items()
        }
        return Content(
            {**files, **record_content(self.path, record, measured.arrays())},
            f"{left_out} utterances left out" if left_out else "",
            remarks=tuple(measured.failed.values()),
        )

    def _voices(self, inputs: Inputs, paths: Paths) -> tuple[dict[str, tuple[float, ...]], str]:
        """Measure the pseudo-voices of enrollment and trials, and whose their coefficients are,
        where these are known."""
        import numpy as np

        from ..io.data_dir import read_utt2dur, read_utt2spk
        from ..metrics.similarity import drawn_by, pseudo_voices

        enrolled = self.asv.enrollment(self.trial_set.enrollment_name, "").members
        tried = read_utt2spk(inputs.load(paths["utt2spk"]))
        sides = {u: s for s, of in enrolled.items() for u in of}, tried
        rows: list[list[Any]] = [[], [], []]
        for number, (of_side, roles) in enumerate(zip(sides, _VOICES, strict=True)):
            first, second = (
                self.asv.compared_vectors(self.part.asv_model, paths[f"{role}_vectors"])
                for role in roles
            )
            ids = [u for u in of_side if u in first and u in second]
            for of, vectors in zip(rows, (first, second), strict=False):
                of.append(vectors.matrix[vectors.rows(ids, "pseudo-voices")])
            rows[2] += [(of_side[u], number) for u in ids]
        original, anonymized = (np.concatenate(of) for of in rows[:2])
        speakers, is_trial = zip(*rows[2], strict=True) if rows[2] else ((), ())
        voices = pseudo_voices(original, anonymized, speakers, is_trial)
        if not {*_COEFFICIENTS} <= paths.keys():
            return voices, ""
        known = [read_utt2dur(inputs.load(paths[role]), ()) for role in _COEFFICIENTS]
        both = {**known[0], **known[1]}
        whose = {u: f"{n} {s}" for n, of in enumerate(sides) for u, s in of.items() if u in both}
        return voices, drawn_by(both, whose) if whose else ""


def missing_inputs(
    trial_set: TrialSet, part: ResultsFolder, anon_suffix: str, asv: AsvSystems
) -> list[MissingInput]:
    """Return the missing inputs of a trial set's voice similarity, without reading any file."""
    model, name = (part.asv_model, anon_suffix), trial_set.trials_name
    return absent(
        lambda: asv.access.find_utt2spk(name),
        *asv.finders(model, (name, ""), (name, anon_suffix)),
    )


def plan_similarity(experiment: Experiment, options: object = None) -> Iterator[Product]:
    """Yield the similarity records of all trial sets."""
    for system, part, asv in experiment.planned(options):
        folder = experiment.records_of(system.name, part.suffix)
        matrices = experiment.out / f"{FOLDER_2020}{part.suffix}"
        if len(experiment.systems) > 1:
            matrices = experiment.out / FOLDER_2020 / folder.name
        for trial_set in asv.protocol.trial_sets():
            condition, name = set_condition(trial_set, part, system.name), trial_set.trials_name
            of = condition, folder / f"similarity-{name}.json", asv, None, trial_set, part
            yield _Similarity(*of, system.anon_suffix, matrices / name).product()
