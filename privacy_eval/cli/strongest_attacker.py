"""`metrics --strongest`: the EERs of several attackers, and whether they overestimate privacy."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import counted
from .metric_extras import plain_metrics
from .options import few_replicates, print_json

if TYPE_CHECKING:
    from ..attackers.fusion import Strongest
    from ..metrics import Evaluation, Variant


def show_strongest(
    arguments: argparse.Namespace,
    attackers: Mapping[str, Mapping[Variant, Evaluation]],
    more: Mapping[str, object],
) -> None:
    """Print the EERs of all attackers, the lowest one, and that corrected for the choice."""
    from ..attackers.fusion import strongest
    from ..io.schema import to_plain
    from ..metrics import withholding_caveat

    names, exact = list(attackers), {name: of["exact"] for name, of in attackers.items()}
    drawn = [of.replicates for of in exact.values() if of.replicates is not None]
    eers = [of["eer"] for of in exact.values()]
    result = strongest(eers, [of.values["exact eer"] for of in drawn])
    caveats = [*few_replicates(arguments.bootstrap, drawn[0].n_speakers), *result.notes]
    weaker = {name: _overestimates(name, exact) for name in names}
    if arguments.format == "json":
        rivals = [names[rival] for rival in result.rivals]
        plain = to_plain(result) | {"name": names[result.name], "rivals": rivals}
        del plain["eers"]
        each = {name: plain_metrics(arguments, of) for name, of in attackers.items()}
        for name, reasons in weaker.items():
            each[name]["caveats"] |= reasons
        everything = {"strongest": plain, "caveats": caveats, "attackers": each, **more}
        print_json(everything)
        return
    _print(exact, result)
    for text in caveats:
        print(f"caveat: {text}")
    for name, reasons in weaker.items():
        withheld = withholding_caveat({**exact[name].caveats, **reasons}, "eer")
        for reason in [*([withheld.reason] if withheld else []), *reasons.values()]:
            print(f"caveat of {name}: {reason}")


def _print(attackers: Mapping[str, Evaluation], result: Strongest) -> None:
    from tabulate import tabulate

    from ..metrics import METRICS, NO_WIDTH, NO_WIDTH_NOTE

    eer, names, rows = METRICS["eer"], list(attackers), []
    for place, (name, of) in enumerate(attackers.items()):
        own = of.intervals["eer"]
        mark = "not told from it" if place in result.rivals else ""
        interval = eer.interval((own.low, own.high), detailed=True)
        value = eer.format(of["eer"], detailed=True)
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


def _overestimates(name: str, attackers: Mapping[str, Evaluation]) -> dict[str, str]:
    """Return the caveats of an attacker weaker than the words alone, than the spectrum, or than an
    aligned or normalized variant of its own, as files are named."""
    from ..choices import SPECTRUM
    from ..metrics.caveats import WEAKER_THAN_SPECTRUM, WEAKER_THAN_VARIANT, WEAKER_THAN_WORDS
    from ..metrics.confidence import paired_bounds
    from ..metrics.evaluation import is_weaker, overestimate_reason
    from ..protocol.protocol import CHALLENGE_ATTACKERS, WORDS, is_variant

    own, one, caveats = attackers[name], attacker_id(name), dict[str, str]()
    floors = {WORDS: WEAKER_THAN_WORDS, SPECTRUM: WEAKER_THAN_SPECTRUM}
    for other, of in sorted(attackers.items(), key=lambda o: -o[1]["eer"]):
        two = attacker_id(other)
        key = floors.get(two, "") * (one not in (WORDS, "fused", two))
        key = key or WEAKER_THAN_VARIANT * is_variant(two, one, ("", *CHALLENGE_ATTACKERS))
        if not key:
            continue
        first, second = (r for r in (own.replicates, of.replicates) if r is not None)
        one_eer, two_eer = (r.values["exact eer"] for r in (first, second))
        bounds = paired_bounds(one_eer, two_eer, first.n_speakers)
        if is_weaker(own["eer"], of["eer"], bounds):
            caveats[key] = overestimate_reason(key, "eer", of["eer"], bounds, other)
    return {key: caveats[key] for key in (*floors.values(), WEAKER_THAN_VARIANT) if key in caveats}
