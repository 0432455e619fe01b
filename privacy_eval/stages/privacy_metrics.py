"""Stage 6: privacy metrics of every trial condition.

Each condition has a record (JSON) and its arrays (.npz) below `<out>/records/`, and each recognized
set with transcripts its word errors.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import PrivacyEvalError
from ..io.files import Inputs, Loaded, check_inside, file_names, outside_message, relative
from ..io.names import tell_sessions
from ..io.score_formats import line_limit
from ..products.freshness import (
    Content,
    Fingerprint,
    Outcome,
    Paths,
    Product,
    Run,
    Source,
    Sources,
    bring_up_to_date,
    estimate_lines,
    fingerprint_of,
    metrics_cost,
    source_from_fingerprint,
)
from ..protocol.protocol import LEARNT
from ..results.record_files import (
    fields_digest,
    metrics_digest,
    record_content,
    record_paths,
    user_metrics,
)
from ..tree.conditions import Condition, ConditionFiles, System
from ..tree.discovery import find_key, first_file, score_file
from ..version import __version__
from ..wings import provided
from .access import EXTRACTOR_ROLE
from .attackers import ENROLLED_WORDS, RECOGNIZED, SPOKEN
from .options import MetricOptions
from .records import label_sources, note_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..metrics import Evaluation, Variant
    from ..metrics.confidence import BootstrapReplicates
    from ..metrics.strata import Stratum
    from ..metrics.trials import Trials

#: Incremented when the same inputs yield different numbers or arrays.
_REVISION = 6
#: What a wing plans of transcripts.
WORD_ERRORS = "records of recognition"
#: Computes the rows of groups of speakers of a record, and remarks on speakers without group.
GROUPS = "groups of speakers"

#: Inputs of scores that the records of their metrics name, too.
_OF_SCORES = (EXTRACTOR_ROLE, ENROLLED_WORDS, RECOGNIZED, SPOKEN)

#: Files of the sessions of enrolled and of trial utterances.
_SESSIONS = ("enrollment_sessions", "trial_sessions")

#: Beginning of the remarks on a record that state a caveat.
WARNING = "warning: "


def evaluate_tree(
    systems: Iterable[System],
    out: Path,
    *,
    tree: Path,
    options: MetricOptions = MetricOptions(),
    run: Run = Run(),
    inputs: Inputs | None = None,
) -> Outcome:
    """Compute the records of all conditions that are not current.

    A condition that fails does not stop the evaluation of the others.

    Parameters
    ----------
    systems : iterable of System
        As from `find_systems`.
    out : Path
        Where `records/` is written.
    tree : Path
        Folder that the paths in records are relative to.
    options : MetricOptions
    run : Run
        Job split, dry run and progress.
    inputs : Inputs, optional
        Files that were read before; share it between calls to read each file once.

    Returns
    -------
    Outcome
        Conditions by what became of them: made, current, missing or failed.

    Examples
    --------
    >>> import tempfile
    >>> from privacy_eval import find_systems, load_protocol
    >>> from privacy_eval.simulate import write_demo_tree
    >>> protocol, tree = load_protocol("vpc2024"), Path(tempfile.mkdtemp(), "tree")
    >>> _ = write_demo_tree(tree, protocol, speakers=3, utterances=4, systems=1)
    >>> systems = find_systems(tree, tree, protocol)
    >>> outcome = evaluate_tree(systems, tree / "results", tree=tree)
    >>> len(outcome.made), len(outcome.failed)
    (24, 0)
    """
    systems = list(systems)
    products = condition_products(systems, out, tree, options)
    products += transcript_products(systems, out, tree, options).values()
    outcome = bring_up_to_date(
        products, inputs or Inputs(), run, allow_missing=options.allow_missing
    )
    if run.job[0] == 1:
        outcome.failed |= {f"{s.name} as a whole": s.problem for s in systems if s.problem}
    return outcome


def condition_products(
    systems: Iterable[System], out: Path, tree: Path, options: MetricOptions = MetricOptions()
) -> list[Product]:
    """The records of all conditions; without groups of speakers where no wing has these."""
    systems = list(systems)
    if options.groups and not provided(GROUPS, needed=False):
        options = replace(options, groups=())
    names = file_names(system.name for system in systems)
    return [
        _ConditionRecord(files, out / "records" / folder, tree, options).product()
        for system in systems
        for files in system.conditions
        for folder in (f"{names[system.name]}{files.condition.results_folder}",)
    ]


def dropped_intervals(
    fingerprints: Iterable[Fingerprint | None], options: MetricOptions
) -> Counter[int]:
    """Count the records that lose the intervals of an earlier run because `options` request no
    bootstrap, by the number of its replicates."""
    numbers = [
        n.options.get("bootstrap") for n in fingerprints if n is not None and not options.bootstrap
    ]
    return Counter(number for number in numbers if isinstance(number, int) and number)


def condition_cost(condition: ConditionFiles, options: MetricOptions = MetricOptions()) -> float:
    """Estimate the cost of a condition from the size of its score file."""
    return metrics_cost(estimate_lines(condition.scores), options.bootstrap)


def evaluate_trials(
    trials: Trials, options: MetricOptions, utt2spk: Path | Loaded | None, ties: Mapping[str, float]
) -> dict[Variant, Evaluation]:
    """Compute all metrics of paired trials in both variants; speakers as `with_speakers`."""
    from ..io.scores import with_speakers
    from ..metrics.confidence import speaker_bootstrap
    from ..metrics.detection import BAND_FALSE_ALARM
    from ..metrics.evaluation import evaluate_variants

    replicates = None
    if options.bootstrap:
        trials = with_speakers(trials, utt2spk)
        drawn: dict[str, Any] = {"replicates": options.bootstrap, "seed": options.seed}
        replicates = speaker_bootstrap(trials, **drawn, det_at=BAND_FALSE_ALARM)
    return evaluate_variants(trials, replicates, ties=ties)


def scores_and_key(files: ConditionFiles, tree: Path, inputs: Inputs) -> tuple[Path, Path]:
    """Return the score file and the trial key of a condition.

    Raises
    ------
    PrivacyEvalError
        One is missing or leads out of the tree, or copies of the key contradict each other.
    """
    if files.outside:
        raise PrivacyEvalError(outside_message(files.outside[0]))
    scores = score_file(files)
    key = find_key(files.key_candidates, inputs)
    if key is None:
        tried = ", ".join(relative(path, tree) for path in files.key_candidates)
        raise PrivacyEvalError(
            f"{scores}: no trial key for {files.condition.trial_set}; looked for {tried}; "
            "--keys names another folder"
        )
    return scores, key


#: Metrics of some of the trials, by their fields.
_OF_SOME = ("eer", "cllr_min", "linkability", "rank1")


def verification_rows(
    measured: Mapping[Variant, Evaluation],
    of_groups: Iterable[dict[str, Any]],
    sessions: Mapping[str, Stratum],
) -> Iterator[dict[str, Any]]:
    """Yield the metrics of a condition in both variants, those of groups of speakers, and those of
    target trials by session."""
    from ..metrics import zebra_tag

    for variant, of in measured.items():
        tag = zebra_tag(of.values, variant)
        for key, value in of.values.items():
            interval = of.intervals.get(key)
            bounds = {} if interval is None else {"low": interval.low, "high": interval.high}
            row = {"metric": key, "variant": variant, "value": value, **bounds}
            yield row | ({"tag": tag} if key == "zebra_individual" else {})
    yield from of_groups
    for name, stratum in sessions.items():
        yield from stratum_rows(stratum, session=name)


def stratum_rows(stratum: Stratum, **place: str) -> Iterator[dict[str, Any]]:
    """Yield the metrics of some of the trials, with their numbers."""
    values = vars(stratum)
    counts = {name: values[name] for name in ("n_target", "n_nontarget", "n_speakers")}
    for key in _OF_SOME:
        if (value := values.get(key)) is not None:
            low, high = stratum.intervals.get(key) or (None, None)
            row = {"metric": key, "variant": "exact", "value": value, "low": low, "high": high}
            yield {**row, **place, **counts}


@dataclass(frozen=True)
class _ConditionRecord:
    """The record of one condition."""

    files: ConditionFiles
    folder: Path
    tree: Path
    options: MetricOptions

    @property
    def condition(self) -> Condition:
        return self.files.condition

    @property
    def path(self) -> Path:
        return self.folder / f"{self.condition.record_name}.json"

    def product(self) -> Product:
        options, condition = self.options, self.condition
        about = {**vars(condition), "metrics": metrics_digest(), "fields": fields_digest()}
        more = {"user_metrics": user_metrics(), "ids": list(options.ids)}
        return Product(
            f"{condition.system} {condition.label}",
            self.tree,
            note_of(self.path),
            record_paths(self.path),
            self.find,
            self.make,
            subject=about,
            options=options.made_with | {name: used for name, used in more.items() if used},
            revision=_REVISION,
            cost=partial(condition_cost, self.files, options),
        )

    @property
    def utt2spk(self) -> Path | None:
        """Speakers of the trial utterances, where a bootstrap or groups need them."""
        key = self.files.trials
        if not (self.options.bootstrap or self.options.groups) or key is None:
            return None
        return self.options.utt2spk or self.files.utt2spk or key.parent / "utt2spk"

    def find(self, inputs: Inputs) -> Sources:
        scores, key = scores_and_key(self.files, self.tree, inputs)
        sources: dict[str, Path | Source] = {"scores": scores, "trials": key}
        if self.utt2spk is not None and self.utt2spk.is_file():
            sources["utt2spk"] = self.utt2spk
        sources |= label_sources(self.options.groups, self.tree, inputs)
        lines = inputs.load(key).content.count(b"\n")
        inputs.sha256(scores, line_limit(key, lines))
        sources |= self._enrollment(scores, inputs)
        made_of = {r: source_from_fingerprint(scores, r, self.tree, inputs) for r in _OF_SCORES}
        return sources | {role: source for role, source in made_of.items() if source is not None}

    def make(self, inputs: Inputs, paths: Paths, made_of: Fingerprint) -> Content:
        from ..io.files import OPEN_END
        from ..io.scores import read_scores, read_trials
        from ..metrics import (
            CAVEATS,
            bengio_mariethoz_interval,
            find_ties,
            score_curves,
        )
        from ..metrics.pairing import ALLOW_MISSING, pair
        from ..results.measurements import without_blanks
        from ..results.records import Record

        paired = pair(
            read_scores(inputs.load(paths["scores"]), format="kaldi"),
            read_trials(inputs.load(paths["trials"]), format="kaldi"),
            allow_missing=self.options.allow_missing,
            hint=f"correct the scores, or delete them and run stage 5 again; {ALLOW_MISSING}",
            ids=self.options.ids,
        )
        utt2spk = inputs.load(paths["utt2spk"]) if "utt2spk" in paths else self.utt2spk
        ties = find_ties(paired)
        measured = evaluate_trials(paired, self.options, utt2spk, ties)
        exact, left_out = measured["exact"], bool(paired.missing or paired.extra)
        provenance = {"version": __version__, **made_of.provenance()}
        provenance["options"]["allow_missing"] = left_out
        compute = provided(GROUPS) if self.options.groups else lambda *_: ((), ())
        of_groups, remarks_on_groups = compute(paired, self.options, self.tree, utt2spk)
        sessions = self._sessions(paired, paths, inputs, utt2spk)
        counts = exact.n_target, exact.n_nontarget
        record = Record(
            self.condition,
            "verification",
            tuple(map(without_blanks, verification_rows(measured, of_groups, sessions))),
            {
                "n_target": exact.n_target,
                "n_nontarget": exact.n_nontarget,
                "n_speakers": len(paired.enrolled.used),
                "eer_interval_if_independent": bengio_mariethoz_interval(exact["eer"], *counts),
                "trials_without_score": paired.missing,
                "scores_without_trial": paired.extra,
                "ties": ties or None,
            },
            remarks=(
                *(f"{relative(p, self.tree)}: {OPEN_END}" for p in paired.ends_open),
                *(f"{self.condition.system} {self.condition.label}: {r}" for r in paired.remarks),
                *self._warnings(paths["scores"], inputs),
                *remarks_on_groups,
            ),
            provenance=provenance,
        )
        arrays = {**score_curves(exact.scores), **_replicates(exact.replicates)}
        text = f"{paired.missing} trials and {paired.extra} scores left out" if left_out else ""
        announced = (r for key, r in record.caveats.items() if CAVEATS[key].announced)
        remarks = (*(f"{WARNING}{reason}" for reason in announced), *record.remarks)
        return Content(record_content(self.path, record, arrays), text, remarks)

    def _enrollment(self, scores: Path, inputs: Inputs) -> dict[str, Path | Source]:
        """The enrolled utterances that our scores were computed from, if they are the same now, or
        of other scores those of the tree; with the sessions of both sides, where files or ids tell
        them."""
        from ..asv.inputs import load_listed_enrollment

        made_with = source_from_fingerprint(scores, "enrollment", self.tree, inputs)
        folder = self.tree / "data" / self.condition.enrollment_set
        lists = [folder / "enrolls", folder / "spk2utt", folder / "utt2spk"]
        path = first_file(lists) if made_with is None else made_with.path
        if path is None or not path.is_file():
            return {}
        check_inside([path], inputs.roots, f"{scores}: ")
        enrollment = load_listed_enrollment(path, inputs)
        if made_with is not None and made_with.sha256 != enrollment.digest:
            return {}
        found: dict[str, Path | Source] = {"enrollment": Source(path, enrollment.digest)}
        key = self.files.trials
        sides = (path, key) if key is not None else ()
        files = [side.with_name("utt2session") for side in sides]
        if files and all(file.is_file() for file in files):
            check_inside(files, inputs.roots, f"{scores}: ")
            return found | dict(zip(_SESSIONS, files, strict=True))
        speaker_of = {u: s for s, members in enrollment.members.items() for u in members}
        return found if tell_sessions(speaker_of) else {}

    def _sessions(
        self, trials: Trials, paths: Paths, inputs: Inputs, utt2spk: Path | Loaded | None
    ) -> dict[str, Stratum]:
        """Compute the metrics by whether the target enrolled the trial's session, each of enough
        targets."""
        if "enrollment" not in paths:
            return {}
        import numpy as np

        from ..asv.inputs import load_listed_enrollment
        from ..asv.shared_speech import session_is_enrolled
        from ..io.data_dir import read_utt2spk
        from ..io.scores import with_speakers
        from ..metrics.caveats import MIN_EER_TRIALS
        from ..metrics.strata import grouped, summarize_targets

        speakers, utterances = trials.enrolled.tolist(), trials.utterance.tolist()
        members = load_listed_enrollment(paths["enrollment"], inputs).members
        files = [inputs.load(paths[role]) for role in _SESSIONS if role in paths]
        sessions = {u: s for file in files for u, s in read_utt2spk(file).items()}
        same = session_is_enrolled(speakers, utterances, members, sessions)
        options = self.options
        if options.bootstrap:
            known = with_speakers(trials, utt2spk)
        else:  # Values need no name of another speaker.
            said = np.where(trials.is_target, speakers, "another speaker")
            known = trials.with_columns(enrolled_speaker=trials.enrolled, trial_speaker=said)
        of_trials = grouped(known, {})
        drawn = {"replicates": options.bootstrap, "seed": options.seed}
        strata = {"enrolled": same, "other": ~same}
        chosen = {n: of for n, of in strata.items() if of[trials.is_target].sum() >= MIN_EER_TRIALS}
        return {name: summarize_targets(of_trials, of, **drawn) for name, of in chosen.items()}

    def _warnings(self, scores: Path, inputs: Inputs) -> list[str]:
        """Return the warnings that the scores were made with, such as of too few pairs to align,
        and what the attacker learnt from."""
        made = fingerprint_of(scores, inputs)
        remarks = () if made is None else made.remarks
        kept = (text for text in remarks if text.startswith((WARNING, LEARNT)))
        return [f"{self.condition.system}: {text.removeprefix(WARNING)}" for text in kept]


def _replicates(replicates: BootstrapReplicates | None) -> dict[str, NDArray[Any]]:
    """Return the arrays of the replicates, from which `numbers.rankings` compares systems, and the
    confidence band of the DET curve."""
    if replicates is None:
        return {}
    import numpy as np

    from ..metrics.detection import BAND_FALSE_ALARM

    low, high = replicates.band()
    return {
        "det_band_false_alarm": BAND_FALSE_ALARM,
        "det_band_low": low,
        "det_band_high": high,
        **{
            f"bootstrap_{name.replace(' ', '_', 1)}": values.astype(np.float32)
            for name, values in replicates.values.items()
        },
        "bootstrap_design": np.array(replicates.design),
        "bootstrap_seed": np.array(replicates.seed),
        "bootstrap_speakers": np.array(replicates.n_speakers),
    }


def transcript_products(
    systems: Iterable[System], out: Path, tree: Path, options: MetricOptions = MetricOptions()
) -> dict[Condition, Product]:
    """Return the word errors of the recognized sets with transcripts; none where no wing counts
    them."""
    plan = provided(WORD_ERRORS, needed=False)
    return plan(systems, out, tree, options) if plan else {}


def can_align() -> bool:
    """Whether the library that aligns words is installed."""
    return importlib.util.find_spec("kaldialign") is not None


def without_intervals(systems: Iterable[System]) -> list[str]:
    """List the sets that have transcripts but no intervals, as their words cannot be counted."""
    if can_align() and provided(WORD_ERRORS, needed=False):
        return []
    sets = (files for system in systems for files in system.recognition)
    return [f"{f.condition.system} {f.condition.name}" for f in sets if f.transcripts is not None]
