"""`metrics --strongest`: the EERs of several attackers, and whether they overestimate privacy."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import counted
from .options import few_replicates

if TYPE_CHECKING:
    from ..attackers.strongest import Strongest
    from ..stages.privacy_metrics import ConditionMetrics


def show_strongest(
    arguments: argparse.Namespace,
    attackers: Mapping[str, ConditionMetrics],
    more: Mapping[str, object],
) -> None:
    """Print the EERs of all attackers, the lowest one, and that corrected for the choice."""
    from ..attackers.strongest import strongest
    from ..io.schema import to_plain
    from ..metrics import VARIANTS

    names = list(attackers)
    drawn = [s.replicates for s in attackers.values() if s.replicates is not None]
    result = strongest(
        [s.metrics["exact"]["eer"] for s in attackers.values()],
        [d.values["exact eer"] for d in drawn],
    )
    caveats = [*few_replicates(arguments.bootstrap, drawn[0].n_speakers), *result.notes]
    judged = {name: _judged(name, attackers) for name in names}
    if arguments.format == "json":
        variants = VARIANTS if arguments.variant == "both" else (arguments.variant,)
        rivals = [names[rival] for rival in result.rivals]
        plain = to_plain(result) | {"name": names[result.name], "rivals": rivals}
        del plain["eers"]
        each = {name: of.to_plain(variants) for name, of in judged.items()}
        everything = {"strongest": plain, "caveats": caveats, "attackers": each, **more}
        print(json.dumps(everything, indent=1, allow_nan=False))
        return
    _print(judged, result)
    for text in caveats:
        print(f"caveat: {text}")
    for name, system in judged.items():
        for reason in _reasons(system):
            print(f"caveat of {name}: {reason}")


def _print(attackers: Mapping[str, ConditionMetrics], result: Strongest) -> None:
    from tabulate import tabulate

    from ..metrics import METRICS, NO_WIDTH, NO_WIDTH_NOTE

    eer, names, rows = METRICS["eer"], list(attackers), []
    for place, (name, system) in enumerate(attackers.items()):
        own = system.intervals["exact"]["eer"]
        mark = "not told from it" if place in result.rivals else ""
        interval = eer.interval((own.low, own.high), detailed=True)
        value = eer.format(system.metrics["exact"]["eer"], detailed=True)
        rows.append((name, value, interval, "strongest" if place == result.name else mark))
    headers = ("attacker", "EER, %", "95 % interval", "")
    print(tabulate(rows, headers=headers, disable_numparse=True))
    minimum, corrected = (eer.format(x, detailed=True) for x in (result.minimum, result.corrected))
    bounds = eer.interval((result.lower, result.upper), detailed=True)
    print(
        f"strongest of {counted(result.attackers, 'attacker')}: {names[result.name]}, EER "
        f"{minimum} %; corrected for the choice among {result.attackers}: {corrected} % {bounds}"
    )
    if NO_WIDTH in (bounds, *(interval for _, _, interval, _ in rows)):
        print(NO_WIDTH_NOTE)


def attacker_id(file: str) -> str:
    """Return the id of the attacker that a score file is named by, such as `ridge-reverse`; of a
    file `scores`, as trees have them, its folder names it, unless that is of a condition ("").

    Examples
    --------
    >>> attacker_id("out/ridge_reverse.gz"), attacker_id("ASV-a-b/words/scores")
    ('ridge-reverse', 'words')
    >>> attacker_id("ASV-a-b/scores")
    ''
    """
    path = Path(file)
    name = path.name.split(".")[0]
    if name == "scores":
        name = "" if path.parent.name.startswith("ASV-") else path.parent.name
    return name.lower().replace("_", "-")


def _judged(name: str, attackers: Mapping[str, ConditionMetrics]) -> ConditionMetrics:
    """Add the caveats of an attacker weaker than the words alone, or than an aligned or normalized
    variant of its own, as files are named."""
    from ..metrics.caveats import WEAKER_THAN_VARIANT, WEAKER_THAN_WORDS
    from ..metrics.comparison import is_weaker, overestimate_reason, paired_bounds
    from ..protocol.protocol import CHALLENGE_ATTACKERS, WORDS, is_variant

    own, caveats = attackers[name], {}
    one = attacker_id(name)
    assert own.replicates is not None
    for other, system in sorted(attackers.items(), key=lambda o: -o[1].metrics["exact"]["eer"]):
        two = attacker_id(other)
        is_words = two == WORDS and one not in (WORDS, "fused")
        if not is_words and not is_variant(two, one, ("", *CHALLENGE_ATTACKERS)):
            continue
        assert system.replicates is not None
        first, second = (r.values["exact eer"] for r in (own.replicates, system.replicates))
        bounds = paired_bounds(first, second, own.replicates.n_speakers)
        eer = system.metrics["exact"]["eer"]
        if is_weaker(own.metrics["exact"]["eer"], eer, bounds):
            key = WEAKER_THAN_WORDS if is_words else WEAKER_THAN_VARIANT
            caveats[key] = overestimate_reason(key, "eer", eer, bounds, other)
    return replace(own, caveats={**own.caveats, **caveats})


def _reasons(system: ConditionMetrics) -> Iterator[str]:
    """Yield why the EER is withheld, and by whom privacy is overestimated."""
    from ..metrics import withholding_caveat
    from ..metrics.caveats import WEAKER_THAN_VARIANT, WEAKER_THAN_WORDS

    if caveat := withholding_caveat(system.caveats, "eer"):
        yield caveat.reason
    for key in (WEAKER_THAN_WORDS, WEAKER_THAN_VARIANT):
        if key in system.caveats:
            yield system.caveats[key]
