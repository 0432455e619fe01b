"""The first screen of the report: the main results in sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from ..choices import grouped
from ..errors import abbreviate, counted
from ..metrics import Metric, describe
from ..metrics.caveats import LEVEL
from ..numbers.cells import ORIGINAL_COLUMN, interval_of, system_column
from ..numbers.means import averaged_conditions
from ..numbers.rankings import rank
from ..numbers.report_data import ReportData
from ..protocol.protocol import ANONYMIZED, ORIGINAL, SPEECH, AttackModel
from ..results.measurements import PRESENT, Row
from ..results.records import Results
from ..tree.conditions import Condition
from ..version import __version__
from .answer import answer_picture, answer_sentence, ranks
from .attackers_in_words import (
    attackers_tried,
    costs_of_attackers,
    hints,
    reached_by_others,
    untried,
    verdict_by_strongest,
)
from .cautions import front_cautions, not_evaluated_attacks
from .notes import averaged_text, front_notes, interval_notes, voice_sentence
from .page import Front

#: Measures that are in tables only.
_PARTS = ("dnsmos_sig", "dnsmos_bak", "dnsmos_p808", LEVEL)

_CHANGE = "original \u2192 anonymized"
#: Sentences on measures that need an explanation.
_MEASURED = {
    "dnsmos_ovrl": f"Quality: DNSMOS {{}} (overall, {_CHANGE}). A network predicts these opinions, "
    "from 1 to 5.",
    "per_original": "Phones: {} of those in original speech are recognized otherwise (PER to "
    "original speech). Compare systems by it.",
    "per": f"Phones: a recognizer gets {{}} wrong (PER, {_CHANGE}). Pronunciations have errors of "
    "their own: compare the two.",
}

#: Intervals, which stand in the tables and the picture.
_BOUNDS = re.compile(r" \[[^][]*\]")

#: The most cautions of the first screen.
_CAUTIONS = 5

#: Where published EERs lie, by how many ends of a system's interval they exceed.
_PLACES = ("below its interval:", "within it (no difference shown):", "above it:")


def front(data: ReportData) -> Front:
    """Compose the first screen, except its tables and figures."""
    words = tuple(_words(data))
    not_evaluated = tuple(
        f"Not evaluated, and perhaps stronger: an attacker {attacker(one)}{_what_runs(one, data)}"
        for one in not_evaluated_attacks(data)
    )
    warnings = front_notes(data, not_evaluated)
    if not data.results.systems:
        published = data.sources.published
        if data.sources.published_results is not None:
            published = f"{published}: {data.sources.published_results.systems.origin}"
        sources = (("Published results", published), ("Protocol", data.protocol.title))
        return Front(
            sources,
            _published_verdict(data),
            warnings=warnings,
            notes=words,
            answer=answer_sentence(data),
            picture=answer_picture(data, {}),
        )
    if others := tuple(a.title for a in untried(data)):
        text = f"Not tried, and perhaps stronger: {counted(len(others), 'attacker')}"
        warnings += ((text, others),)
    split = data.main_split
    return Front(
        tuple(_facts(data, split)),
        _BOUNDS.sub("", _verdicts(data)),
        tuple(
            (s, tuple(_BOUNDS.sub("", sentence) for sentence in _sentences(data, s, split)))
            for s in data.systems_by_rank
        ),
        warnings,
        words,
        attackers=(*attackers_tried(data), *costs_of_attackers(data)),
        hints=tuple(hints(data)),
        answer=answer_sentence(data),
        picture=answer_picture(
            data, {**ranks(data), **(data.disclosed.columns() if data.disclosed else {})}
        ),
        cautions=tuple(itertools.islice(front_cautions(data), _CAUTIONS)),
    )


def text_for_a_paper(data: ReportData) -> str:
    """Write the main results, what they are averages of, and how they were computed; "" of
    published results alone."""
    if not data.results.systems:
        return ""
    protocol, drawn = data.protocol, any(r.has_intervals for r in data.results.verification)
    sentences = [
        _verdicts(data),
        verdict_by_strongest(data)[1],
        f"{describe(protocol.eer).name}: {averaged_text(protocol)}, "
        f"{protocol.average_attack.phrase} attack model, {protocol.split_name(data.main_split)}.",
        *(f"{note}." for note in interval_notes(data.results.records(), [protocol.eer] * drawn)),
        *(f"{note}." for note in data.narrow_intervals),
        f"Computed with privacy_eval {__version__}, protocol {protocol.title}.",
        *(f"{note}." for note in data.unsigned),
    ]
    return " ".join(filter(None, sentences))


def _verdicts(data: ReportData) -> str:
    verdicts = _verdict(data), verdict_by_strongest(data)[0], _verdict_on_words(data)
    return " ".join(filter(None, verdicts))


def _published_verdict(data: ReportData) -> str:
    """State which published system leaves the largest EER."""
    ranking, protocol = data.main_ranking, data.protocol
    if not ranking.ranked:
        return ""
    first, attack = ranking.ranked[0], protocol.average_attack
    results = data.sources.published_results
    noun = "published system" if results is None else results.systems.noun
    sentence = (
        f"Of {counted(len(ranking.ranked), noun)}, {first['system']} leaves the highest "
        f"EER against an attacker {attacker(attack)}: {first['printed']} %"
    )
    models = protocol.attack_models if attack.asv_model == ORIGINAL else ()
    for model in (a for a in models if a.asv_model == ANONYMIZED):
        under = {"metric": protocol.eer, "attack_model": model.id, "split": data.main_split}
        if ranked := rank(data.means, **under).ranked:
            most = ranked[0]
            sentence += (
                f". Against an attacker {attacker(model)}, {most['system']} leaves the highest of "
                f"{len(ranked)}: {most['printed']} %"
            )
    sentence += f" ({protocol.split_name(data.main_split)}). Differences are not tested"
    original = data.original_eer["printed"]
    return f"{sentence}. 50 % is chance{f', {original} % original speech' * bool(original)}."


def _facts(data: ReportData, split: str) -> Iterator[tuple[str, str]]:
    results, protocol = data.results, data.protocol
    folders = list(dict.fromkeys(_folders(results)))
    yield "Systems", abbreviate(list(results.systems))
    if data.sources.files:
        yield "Results", data.sources.files + f" of {results.day}" * bool(results.day)
    if folders:
        yield "Tree", f"scores in {abbreviate(folders)}"
    attack = protocol.average_attack
    yield (
        "Protocol",
        f"{protocol.title} ({protocol.name}), variant {protocol.variant}; ranked by EER, "
        f"{attack.phrase} attacker; the first screen shows the {protocol.split_name(split)}",
    )
    yield (
        "Contents",
        f"{contents(data)} Speakers are {'numbered' if results.speaker_key else 'named by ids'}; "
        "there are no recordings, and the file needs no network.",
    )
    left_out = sum(r.left_out > 0 for r in results.verification)
    partial = f"trials of {counted(left_out, 'condition')} (see below)" if left_out else ""
    absent = f"{counted(len(results.not_evaluated), 'note')} below" * bool(results.not_evaluated)
    yield (
        "Left out",
        ", ".join(filter(None, (partial, absent))) or "nothing: every trial has a score",
    )
    yield "Signature", data.signature


def _folders(results: Results) -> Iterator[str]:
    """Folders of the systems' scores, relative to the tree."""
    for r in results.verification:
        path = str(r.scores_file.get("path", ""))
        if path.count("/") > 1:
            yield path.rsplit("/", 2)[0]


def _verdict(data: ReportData) -> str:
    """State which evaluated system protects best, and whether the difference is significant."""
    ranking = data.main_ranking
    ranked = [(n, r) for n, r in enumerate(ranking.ranked, 1) if r["system"] in ranking.own]
    if not ranked or ranking.by_strongest:
        return ""
    number, first = ranked[0]
    metric, among = describe(ranking.metric), f"number {number} of {len(ranking.ranked)} systems"
    beside = len(ranked) < len(ranking.ranked) and not data.protocol.is_simulated
    few = data.has_few_speakers
    published = f" It is {among} with published ones." * (beside and not few)
    system, eer = first["system"], f"{first['printed']} %"
    if len(ranked) == 1:
        protocol = data.protocol
        attack = protocol.average_attack.phrase
        under = f" under the {attack} attack model ({protocol.split_name(data.main_split)})"
        eer = _with_interval(first)
        return f"{system} leaves an EER of {eer}{under}. 50 % is chance.{published}"
    second = ranked[1][1]
    how = "better" if len(ranked) == 2 else "best"
    named, following = second["system"], first.get("next")
    attack = data.protocol.average_attack.phrase
    sentence = f"{system} protects {how}: EER {eer}, against {second['printed']} % of {named}"
    sentence += f" ({attack} attacker)"
    if first["printed"] == second["printed"]:
        sentence = f"{system} and {named} leave the same EER, {eer}"
    elif following is not None and not following["better"]:
        sentence = f"Perhaps {sentence}"
    other = "No test of the difference is possible without bootstrap replicates"
    compared = following is not None or interval_of(second) is not None
    tested = _difference(metric, first, named=named) if compared else ""
    return f"{sentence}. {tested or other}.{published}"


def _difference(metric: Metric, ranked: Row, *, named: str) -> str:
    """Describe the difference between a system and the next comparable one of the ranking, and
    whether it is significant; "" if they are not compared.

    Parameters
    ----------
    named : str
        The system that the sentence compares with already.
    """
    other = ranked.get("next")
    if other is None:
        return str(ranked.get("why_not", ""))
    few, text = other["too_few"], metric.format(other["value"]) + " points" * metric.percent
    to = f" to {other['against']}" * (other["against"] != named)
    if few:
        return f"Too few {few} to test the difference{to} ({text})"
    text += f" {metric.interval(interval_of(other))}"
    return f"The difference{to}, {text}, is {'' if other['better'] else 'not '}significant"


def _verdict_on_words(data: ReportData) -> str:
    """State which evaluated system keeps words best, where systems can be compared."""
    ranking = data.word_error_rankings.get(data.main_split)
    ranked = [r for r in ranking.ranked if r["system"] in ranking.own] if ranking else []
    if len(ranked) < 2 or ranked[0].get("next") is None:
        return ""
    first, second = ranked[:2]
    how = "better" if len(ranked) == 2 else "best"
    tested = _difference(describe("wer"), first, named=second["system"])
    return (
        f"{first['system']} keeps words {how}: WER {first['printed']} % against "
        f"{second['printed']} % of {second['system']}. {tested}."
    )


def _sentences(data: ReportData, system: str, split: str) -> Iterator[str]:
    """Describe a system."""
    protocol = data.protocol
    conditions = averaged_conditions(protocol)
    evaluated = [a for a in data.attacks[system] if a["split"] == split]
    original = any(a["model"].is_original for a in evaluated)
    tried = data.tried.get((system, split))
    others = () if tried is None else tried.compared
    own = protocol.own_attacker
    informed = [a for a in others if a["model"].asv_model == ANONYMIZED and a["attacker"] != own]
    if informed:
        best = min(informed, key=lambda a: float(a["of_present"]))
        yield (
            f"An attacker {attacker(best['model'])}: EER {_with_interval(best)} ({best['phrase']})."
        )
    for one in (a for a in evaluated if not a["model"].is_original):
        against = f"An attacker {attacker(one['model'])}"
        if one["withheld"]:
            yield f"{against}: no average ({one['why_blank']})."
            continue
        sentence = f"{against}: EER {_with_interval(one)}"
        if len(one["parts"]) < conditions:
            sentence += f" ({len(one['parts'])} of {conditions} conditions)"
        text = data.original_eer["printed"]
        sentence += ". Guessing gives 50 %"
        sentence += f", original speech {text} %" if original and text else ""
        if data.disclosed and (found := data.disclosed.found(system, one["model"].id, split)):
            sentence += f". {found}"
        yield f"{sentence}."
    yield from _beside_published(data, system)
    yield from reached_by_others(data, system)
    yield from filter(None, [voice_sentence(data, system)])
    if errors := _change(data, system, split, "wer"):
        yield f"Words: a recognizer gets {errors} wrong (WER, {_CHANGE})."
    if recall := _change(data, system, split, "uar"):
        yield (
            f"Emotions: a recognizer's average recall is {recall} (UAR, {_CHANGE})."
            f"{_of_folds(data, system, split)}"
        )
    yield from _measured(data, system, split)
    yield from _worst(data, system)


def _beside_published(data: ReportData, system: str) -> Iterator[str]:
    """Say what published EERs of the edition, which have no intervals, tell about a system."""
    ranking, of_edition = data.main_ranking, data.sources.published == data.protocol.name
    own = next((r for r in ranking.ranked if r["system"] == system_column(system)), None)
    published = [r for r in reversed(ranking.ranked) if r["system"] not in ranking.own]
    if own is None or not published or not of_edition or ranking.by_strongest:
        return
    if bounds := interval_of(own):
        low, high = bounds
        places = grouped(published, lambda r: _PLACES[(r["value"] >= low) + (r["value"] > high)])
        names = (f"{w} {abbreviate([r['system'] for r in of])}" for w, of in places.items())
        attack = data.protocol.average_attack.phrase
        yield f"Published EERs ({attack} attacker): {'; '.join(names)}."
    if system == data.systems_by_rank[0]:
        yield (
            "Published values allow no test: to test a published system, put its scores into the "
            "same tree, and evaluate both with --bootstrap."
        )


def _measured(data: ReportData, system: str, split: str) -> Iterator[str]:
    """Describe the measures of a system's speech."""
    for key in data.cells.measures:
        values = _change(data, system, split, key)
        if values and key not in _PARTS:
            usual = f"{describe(key).sentence}: {values} ({_CHANGE})."
            yield _MEASURED[key].format(values) if key in _MEASURED else usual


def _with_interval(mean: Row) -> str:
    """Write an average with its unit and, if there is one, its interval."""
    metric = describe(mean["metric"])
    text = f"{mean['printed']}{' %' * metric.percent} {metric.interval(interval_of(mean))}"
    return text.rstrip()


def _change(data: ReportData, system: str, split: str, metric: str) -> str:
    """Write an average of original and anonymized speech, with intervals; "" without the latter."""
    texts = []
    for column in (ORIGINAL_COLUMN, system_column(system)):
        mean = data.means.of(metric, None, split, column)
        if mean["value"] is not None:
            texts.append(_with_interval(mean))
        elif column != ORIGINAL_COLUMN:
            return ""
    return " \u2192 ".join(texts)


def _of_folds(data: ReportData, system: str, split: str) -> str:
    """Write the chance level of a recall, and its range over folds in place of an interval."""
    averaged = {d.id for d in data.protocol.emotion if d.weight}
    ranges, emotions = [], 0
    for speech in SPEECH:
        of_speech = [
            r
            for r in data.results.of(system).emotion
            if (r.condition.split, r.condition.trial) == (split, speech)
            and r.condition.data_set in averaged
        ]
        folds = (r.measurements.select(metric="uar", fold=PRESENT) for r in of_speech)
        recalls = [100 * value for of in folds for value in of.values("value")]
        if recalls:
            ranges.append(f"{min(recalls):.1f} to {max(recalls):.1f} %")
        emotions = max([emotions, *(len(r.values().keys() - {"uar"}) for r in of_speech)])
    chance = f" {100 / emotions:.3g} % is chance." if emotions else ""
    if not ranges:
        return f"{chance} Without folds no uncertainty can be given."
    emotion = data.results.of(system).emotion
    number = max(len(r.measurements.values("fold")) for r in emotion)
    by_fold = " \u2192 ".join(ranges)
    return f"{chance} Recalls of the {number} folds, each of a speaker: {by_fold}."


def _worst(data: ReportData, system: str) -> Iterator[str]:
    """Name the least protected speaker: identified most often, or with the lowest DeID."""
    if data.disclosed and (worst := data.disclosed.worst(system)):
        yield worst
        return
    similar = [
        (row, r)
        for r in data.results.similarity
        if r.condition.system == system and r.condition.split == data.main_split
        for row in r.measurements.select(metric="deid", speaker=PRESENT)
    ]
    if similar:
        worst, of_set = min(similar, key=lambda entry: entry[0]["value"])
        deid = worst["value"]
        how = f"de-identified by {describe('deid').format(deid)} %"
        how = how if deid > 0 else "not de-identified at all"
        if (whole := of_set.values("exact").get("deid")) is not None:
            how += f"; all speakers together by {describe('deid').format(whole)} %"
        yield (
            f"Least protected speaker: {worst['speaker']} ({set_title(data, of_set.condition)}), "
            f"{how} (variant {worst['variant']}). {highest_of(len(similar))}."
        )


def highest_of(number: int) -> str:
    """Warn of the choice of the worst."""
    return f"It is the worst of {counted(number, 'result')}, so partly by chance"


def set_title(data: ReportData, condition: Condition) -> str:
    """Name the trial set of a condition."""
    title = data.protocol.data_set(condition.data_set).title
    return f"{title} {condition.split}, {data.protocol.genders[condition.gender]}"


def attacker(attack: AttackModel) -> str:
    """Describe an attacker in words that follow "an attacker"."""
    return f"{attack.knowledge} ({attack.phrase})"


def contents(data: ReportData) -> str:
    """Describe what the report contains."""
    results = data.results
    return (
        f"{counted(len(results.systems), 'system')}, "
        f"{counted(len(results.verification), 'condition')}. Beside them "
        f"{counted(len(results.similarity), 'voice similarity')} and "
        f"{counted(len(results.recognition), 'word error rate')}. "
        f"Written by privacy_eval {__version__}."
    )


def _what_runs(attack: AttackModel, data: ReportData) -> str:
    """Name the attackers of the protocol that state an attack model; "" if none does."""
    ids = ",".join(a.id for a in data.protocol.attackers if a.attack_model == attack.id)
    how = f". With training speech of other speakers, stage 5 tries it: --attackers {ids}"
    return how * bool(ids)


def _words(data: ReportData) -> Iterator[tuple[str, str]]:
    for attack in data.protocol.attack_models:
        if not attack.is_original:
            yield attack.title, f"an attacker {_known(attack)}"
    yield "To quote", "the strongest attacker that was evaluated, and which ones were not"
    yield (
        "Words",
        "the spoken content is kept, not anonymized. The WER measures how well it is recognized",
    )
    yield (
        "50 %",
        "chance level for one attacker, on average over speakers. Single speakers may still be "
        "recognized, and a stronger attacker may recognize more. Slightly above 50 % is chance, "
        "too. Far above it the scores are inverted",
    )


def _known(attack: AttackModel) -> str:
    speech = f"{attack.enrollment} recordings of the people, and {attack.trial} ones to attribute"
    trained = f". The model is trained on {attack.asv_model} speech" if attack.asv_model else ""
    return f"{attacker(attack).partition(' (')[0]}. It has {speech}{trained}"
