"""Groups of speakers in records of scores: their rows, and whether these agree; and groups of the
trials of single files."""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..cli.group_options import check_groups, group_caveats, read_by
from ..errors import PrivacyEvalError
from ..io.schema import to_plain
from ..stages.privacy_metrics import stratum_rows
from ..stages.records import labels_in_tree, without_group

if TYPE_CHECKING:
    from ..io.files import Loaded
    from ..io.user_tables import Labels
    from ..metrics.strata import Stratum
    from ..metrics.trials import Trials
    from ..report.table import Table
    from ..results.measurements import Measurements, Row
    from ..stages.options import MetricOptions
    from .groups import FalseMatches, GroupReport

# Stored disparities are rounded.
_SLACK = 1e-3


def groups_of_record(
    trials: Trials, options: MetricOptions, tree: Path, utt2spk: Path | Loaded | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Compute the metrics by group of every column of metadata that names a speaker, and the error
    rates at common thresholds; also return remarks on speakers without a group."""
    from ..metrics.strata import grouped
    from .groups import group_errors, max_t_test, nontargets_of_groups, summarize_groups

    rows, errors, remarks = list[dict[str, Any]](), list[dict[str, Any]](), list[str]()
    for labels in labels_in_tree(options.groups, tree):
        known, group_of, without = _known(trials, labels, utt2spk, None)
        of_trials = grouped(known, group_of)
        if of_trials["trial_group"].names:
            drawn = {"replicates": options.bootstrap, "seed": options.seed}
            tests = max_t_test(of_trials, **drawn) if options.bootstrap else {}
            rows += summary_rows(labels.column, summarize_groups(of_trials, **drawn), tests)
            counts = nontargets_of_groups(of_trials)
            errors += error_rows(labels.column, group_errors(of_trials), counts)
        remarks += without_group(labels, tree, without, len(known.speakers[0].names))
    return [*rows, *errors], remarks


def _known(
    trials: Trials, labels: Labels, utt2spk: Path | Loaded | None, enrolled: Path | None
) -> tuple[Trials, dict[str, str], list[str]]:
    """Look up the speakers of trials and their groups in a column of metadata; also return the
    speakers that are in none. Files of speakers are as `with_speakers` takes them."""
    from ..io.scores import with_speakers

    known = with_speakers(trials, utt2spk, enrolled)
    speaker_of = dict(zip(known.utterance, known.trial_speaker, strict=True))
    enrolled_only = {*known.enrolled_speaker.used} - {*speaker_of.values()}
    speaker_of |= {speaker: speaker for speaker in sorted(enrolled_only)}
    return known, *labels.groups(speaker_of)


def summary_rows(
    column: str,
    groups: Mapping[str, Stratum],
    tests: Mapping[str, Mapping[str, float] | None] = MappingProxyType({}),
) -> Iterator[dict[str, Any]]:
    """Yield the metrics within groups, with tested differences."""
    for name, of_group in groups.items():
        place = {"group_by": column, "group": name}
        yield from stratum_rows(of_group, **place)
        if (test := tests.get(name)) is not None:
            found = {"value": test["difference"], "se": test["se"], "p": test["p_value"]}
            yield {"metric": "eer", "variant": "exact", **place, "against": "others", **found}


def error_rows(
    column: str, errors: Mapping[str, FalseMatches], nontargets: Mapping[str, Mapping[str, int]]
) -> Iterator[dict[str, Any]]:
    """Yield the error rates of groups at common thresholds, and their disparities."""
    for rate, matches in errors.items():
        place = {"group_by": column, "threshold": float(rate), "variant": "exact"}
        for enrolled, of_tested in matches.fmr_matrix.items():
            for tested, value in of_tested.items():
                of: dict[str, Any] = {"group": enrolled, "against_group": tested}
                of["n_nontarget"] = nontargets[enrolled][tested]
                yield {"metric": "fmr", "value": value, **place, **of}
        for group, missed in zip(matches.groups, matches.fnmr, strict=True):
            yield {"metric": "fnmr", "value": missed, **place, "group": group}
        if (of_groups := matches.disparities) is not None:
            within = (matches.fmr_matrix[group][group] for group in matches.groups)
            both = sum(None not in pair for pair in zip(within, matches.fnmr, strict=True))
            for key, value in of_groups.items():
                yield {"metric": key, "value": value, **place, "n_groups": both}


def check_disparities(errors: Measurements, where: str) -> None:
    """Check the error rates of a record by columns of metadata and thresholds."""
    for (column, rate), rows in errors.groups("group_by", "threshold").items():
        _check_disparities(rows, f"{where}: {column} at {rate}")


def _check_disparities(rows: Sequence[Row], where: str) -> None:
    """Check that rates are of all pairs of groups, and that disparities follow from them."""
    from .groups import FalseMatches

    of_pairs = (row for row in rows if row["metric"] == "fmr")
    sides = ("group", "against_group")
    rates = {tuple(row.get(side, "") for side in sides): row.get("value") for row in of_pairs}
    missed = {row.get("group", ""): row.get("value") for row in rows if row["metric"] == "fnmr"}
    if rates.keys() != {*itertools.product(missed, repeat=2)}:
        raise PrivacyEvalError(f"{where}: expected a value of every pair of groups")
    within = {group: {group: rates[group, group]} for group in missed}
    values = FalseMatches(0.0, (*missed,), within, (*missed.values(),)).disparities or {}
    others = (row for row in rows if row["metric"] not in ("fmr", "fnmr"))
    stored = {row["metric"]: row.get("value") for row in others}
    if stored.keys() != values.keys() or not all(
        (a is None) == (b is None) and (a is None or math.isclose(a, b or 0, abs_tol=_SLACK))
        for a, b in ((stored[name], values[name]) for name in values)
    ):
        raise PrivacyEvalError(f"{where}: disparities contradict the rates of the groups")


def groups_of_files(
    arguments: argparse.Namespace, trials: Trials, files: tuple[Path, Path | None]
) -> tuple[dict[str, object], list[Table]]:
    """Evaluate the groups of every `FILE:COLUMN`, for JSON and as tables; `files`: the speakers of
    trial utterances and of enrolled ones."""
    from ..report.single_files import table_of
    from .groups import groups

    plain: dict[str, object] = {}
    tables: list[Table] = []
    for number, labels in enumerate(read_by(arguments.by)):
        known, group_of, without = _known(trials, labels, *files)
        check_groups(group_of, labels, without)
        report = groups(known, group_of, bootstrap=arguments.bootstrap, seed=arguments.seed)
        caveats = group_caveats({}, labels.column, without)
        plain[labels.column] = _plain(report, caveats)
        tables.append(table_of(f"groups_{number}", report, f"By {labels.column}", caveats))
    return {"groups": plain}, tables


def _plain(report: GroupReport, caveats: Sequence[str]) -> dict[str, Any]:
    """Return a report as plain values."""
    plain: dict[str, Any] = to_plain(report)
    del plain["left_out"]  # the caveats tell it
    return plain | {"caveats": [*report.caveats, *caveats]}
