"""One-line signature of results, to paste below a table, and which values must not be compared."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from ..choices import PINNED_ENCODERS, grouped
from ..errors import abbreviate
from ..metrics import VARIANTS, Variant
from ..metrics.similarity import VERDICTS, looks_like
from ..protocol.protocol import Protocol
from ..version import __version__
from .record_caveats import confirmed_notes, utility_notes
from .records import (
    Record,
    Results,
    input_of,
)

_OfVectors = Record


def signature(results: Results, *, variant: Variant | None = None) -> str:
    """Describe results in one line, as sacrebleu does.

    Parameters
    ----------
    results : Results
    variant : {"challenge", "exact"}, optional
        The variant that a table prints; by default all that the results hold.

    Returns
    -------
    str
        Version, protocol, variants, bootstrap (replicates of speakers, and seed) and the
        first eight digits of a SHA-256 over the digests of all inputs. What differs
        between records is joined by `+`; missing entries are `none`. Where it is known which
        x-vector network scores are from, its digest, or the name of a pinned encoder, and whether
        it is that of the protocol.

    Examples
    --------
    >>> from privacy_eval import load_protocol
    >>> signature(Results(load_protocol("vpc2020"))).split("|")[1:]
    ['protocol:vpc2020', 'variant:none', 'boot:none', 'inputs:none']
    """
    rows = {id(r) for r in results.rows}  # of wings: the core's tables are the same without them
    records = [r for r in results.records() if r.by_variant() and id(r) not in rows]
    provenance = [r.provenance for r in records]
    stored = {variant for r in records for variant in r.by_variant()}
    options = [p["options"] for p in provenance if isinstance(p.get("options"), Mapping)]
    boots = {
        f"{o['bootstrap']} speakers seed {o.get('seed', 0)}" for o in options if o.get("bootstrap")
    }
    digests = sorted({digest for p in provenance for digest in _digests(p)})
    inputs = [hashlib.sha256("".join(digests).encode()).hexdigest()[:8]] if digests else []
    networks = _networks(results)
    asv = [f"{digest} ({unlike})" if unlike else digest for digest, unlike in networks]
    versions = {str(p["version"]) for p in provenance if "version" in p}
    return "|".join(
        (
            f"privacy_eval {_joined(versions or {__version__})}",
            f"protocol:{results.protocol.name}",
            f"variant:{variant or _joined(v for v in VARIANTS if v in stored)}",
            f"boot:{_joined(boots)}",
            f"inputs:{_joined(inputs)}",
            *([f"asv:{_joined(asv)}"] if asv else ()),
        )
    )


def network_notes(results: Results) -> list[str]:
    """Describe x-vector networks that are not the protocol's, each with its systems."""
    return [
        f"Do not compare with published EERs, as the ASV model {name} is {unlike}: "
        f"{abbreviate(list(systems))}"
        for (name, unlike), systems in _networks(results).items()
        if unlike
    ]


def comparability_notes(results: Results, *, utility: bool = True) -> Iterator[str]:
    """Yield notes on systems with different numbers of trials, on recognition that is not ranked
    (unless `utility` is false), and on x-vector networks other than the protocol's."""
    yield from _other_trials(results)
    yield from _other_voices(results)
    if utility:
        yield from utility_notes((*results.recognition, *results.emotion, *results.measures))
    yield from confirmed_notes(results)
    yield from network_notes(results)


def _other_trials(results: Results) -> Iterator[str]:
    """Yield a note if systems have different numbers of trials in a condition."""
    counts: dict[str, dict[tuple[int | None, int | None], str]] = {}
    for r in results.verification:
        c = r.condition
        if (n_target := r.facts.get("n_target")) is not None:
            name = f"{c.attack_model or c.asv_model} {c.trial_set}"
            counts.setdefault(name, {}).setdefault((n_target, r.facts.get("n_nontarget")), c.system)
    differ = [
        f"{name} ({', '.join(f'{s} {t} + {n}' for (t, n), s in of_name.items())})"
        for name, of_name in counts.items()
        if len(of_name) > 1
    ]
    if differ:
        yield (
            "Not comparable: systems with different numbers of trials (target + nontarget): "
            f"{abbreviate(differ)}"
        )


def voices_of(results: Results, system: str) -> Mapping[str, Any] | None:
    """Return the facts of the record that tells most of a system's pseudo-voices: of known
    coefficients, else of the most speakers."""
    facts = (r.facts for r in results.similarity if r.condition.system == system)
    told = (of for of in facts if of.get("voices"))
    return max(told, key=lambda of: ("drawn" in of, of.get("n_speakers", 0)), default=None)


def pseudo_voice(facts: Mapping[str, Any]) -> str:
    """Return what pseudo-voices look like, a key of `VERDICTS`: as drawn, if that is known."""
    drawn: str | None = facts.get("drawn")
    return drawn or looks_like(facts.get("voices", {}), facts.get("n_speakers", 0))


def _other_voices(results: Results) -> Iterator[str]:
    """Yield a note if systems differ in whose voice their speech has, so that error rates of
    linking enrollment and trials are not of the same task."""
    told = {s: facts for s in results.systems if (facts := voices_of(results, s)) is not None}
    looks = grouped(told, lambda system: pseudo_voice(told[system]))
    if len(looks) > 1:
        texts = (f"{abbreviate(of)}: {VERDICTS[look]}" for look, of in looks.items())
        said = "do not rank systems that choose pseudo-voices in different ways"
        yield f"Not comparable: {said}. {'. '.join(texts)}"


def _networks(results: Results) -> dict[tuple[str, str], dict[str, None]]:
    """Map the names of known x-vector networks, each with its mismatch, to their systems."""
    networks: dict[tuple[str, str], dict[str, None]] = {}
    records: list[_OfVectors]
    records = [*results.verification, *results.similarity, *results.identification]
    for r in records:
        if network := _network(r, results.protocol):
            networks.setdefault(network, {})[r.condition.system] = None
    return networks


def _network(record: _OfVectors, protocol: Protocol) -> tuple[str, str] | None:
    """Return the name of a record's x-vector network and its mismatch; None if the network is
    unknown. Encoders that a protocol of other speech names are the expected ones. The record may
    be untrusted."""
    source, condition = input_of(record.provenance, "extractor"), record.condition
    digest = str(source.get("sha256", ""))
    if re.fullmatch("[0-9a-f]{64}", digest) is None:
        return None
    stem = PurePath(str(source.get("path", ""))).stem
    named = stem in {PurePath(a.encoder).stem for a in protocol.attackers if a.encoder}
    pinned = PINNED_ENCODERS.get(digest, "")
    name = pinned or f"{stem} {digest[:8]}" * named or digest[:8]
    expected = getattr(protocol.asv_model(condition.asv_model), "sha256", "")
    of_tree = protocol.has_own_scoring  # a checkpoint beside the scores of an edition
    if digest == expected or of_tree or not condition.is_by_challenge:
        return name, ""
    if expected:
        return name, "not the protocol's"
    unknown = "not the challenge's" if pinned else "not known to be the challenge's"
    return name, unknown * (protocol.is_challenge or not (pinned or named))


def _joined(values: Iterable[str]) -> str:
    return "+".join(sorted(values)) or "none"


def _digests(value: object, key: str = "") -> Iterator[str]:
    """The entries `sha256` of provenance, at any depth."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _digests(inner, "sha256" if key == "sha256" else str(name))
    elif key == "sha256":
        yield str(value)
