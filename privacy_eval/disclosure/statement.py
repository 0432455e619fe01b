"""A statement of one or two pages for an annex to a data protection impact assessment.

It says what was tested and what was not, in plain words, with no verdict that the numbers do not
carry: whether speech is anonymous in the sense of the law is for others to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..choices import LEVEL
from ..errors import counted, enumerated
from ..metrics import NO_WIDTH, describe
from ..metrics.caveats import marked_text
from ..numbers.cells import interval_of, system_column
from ..numbers.report_data import ReportData
from ..protocol.protocol import ANONYMIZED, ORIGINAL, AttackModel
from ..report.attackers_in_words import (
    attackers_tried,
    corrected_words,
    reached_by_others,
    untried,
)
from ..report.cautions import not_evaluated_attacks
from ..report.first_screen import attacker
from ..report.markup import Markup, join, tag
from ..report.notes import front_notes
from ..report.table_formats import escape_markdown
from ..results.measurements import Row
from ..results.records import Record
from ..version import __version__
from .evidence import ComparedGroups, InferredAttribute, Read, SpeechAmount
from .in_words import (
    also_instead,
    basis_text,
    group_columns,
    group_text,
    instead_text,
    privacy_sentences,
)
from .linkage import singling_out_chance
from .numbers import inferred_attributes, percent, rate_of, speech_amounts, tests_of

#: Most systems that two pages can be about.
MOST_SYSTEMS = 3

#: Up to so many trial sets are listed, of more only the least and the most protected.
_LISTED = 4

#: What attackers know, by the speech of their enrollment and that of their model.
_KNOWLEDGE = {
    (ORIGINAL, ORIGINAL): (
        "does not know that the recordings were processed, and compares them with unprocessed "
        "recordings of known people"
    ),
    (ANONYMIZED, ORIGINAL): (
        "has the same tool, and applies it to the recordings of known people before comparing"
    ),
    (ANONYMIZED, ANONYMIZED): (
        "has the same tool, applies it to the recordings of known people, and trains on processed "
        "speech"
    ),
    (ORIGINAL, ANONYMIZED): (
        "compares with unprocessed recordings of known people, and trains on processed speech"
    ),
}

_WORDS = (
    "Words alone: has texts of other recordings of known people, and compares the choice of words. "
    "The text of the recording is as a recognizer or a listener wrote it down. No voice is needed."
)

_READING = (
    "An attacker is anybody who tries to identify speakers, also the recipient of the recordings.",
    "EER (equal error rate): an attacker has recordings of a person. Is another recording of the "
    "same person? The EER says how often the attacker's decision is wrong. 50 % is guessing, "
    "0 % is certainty: the lower, the less privacy. It is neither the share of people who are "
    "protected nor the probability of being found. A rate at which the right person is found is "
    "the other way round: the higher, the less privacy.",
    "Numbers in brackets are 95 % intervals: what other speakers of the same kind could have "
    "given. Those of error rates below 10 % are too short.",
)
_GROUPS = (
    "A group: the people of whom the attacker has recordings, one of whom is the right one. It "
    "also holds people who speak in no test recording. So it can be larger than the number of "
    "speakers tested. Results are for the largest size up to 20 that every test allows."
)
#: What the criteria of the opinion are here.
_CRITERIA = (
    "Singling out: a rule made from recordings of one person accepts exactly one of several "
    "people.",
    "Linkability: a recording is attributed to the right person, one of several or a given one.",
    "Inference: a classifier tells an attribute of the speaker. Average recall is the share of "
    "recordings that it recognizes rightly, averaged over the values of the attribute. Guessing "
    "gives 50 % of two values. The risk counts a speaker once, by the majority of the recordings. "
    "It is the gain over guessing in relation to certainty.",
)
#: What speech may give away.
_ATTRIBUTES = ("gender", "accent", "age", "health", "origin")
_STYLE = """
@page { size: A4; margin: 13mm 16mm }
body { font: 10pt/1.35 Georgia, serif; color: #111; max-width: 48em; margin: 2em auto }
h1 { font-size: 1.7em; margin-bottom: 0.2em } h2 { font-size: 1.2em; margin: 1em 0 0.2em }
table { border-collapse: collapse; width: 100% } ul { margin: 0.2em 0; padding-left: 1.2em }
th, td { text-align: left; vertical-align: top; padding: 0.2em 0.6em 0.2em 0 }
th { border-bottom: 1px solid #111 } tr { border-bottom: 1px solid #bbb; break-inside: avoid }
h2 { break-after: avoid }
@media print {
  body { margin: 0; max-width: none; font-size: 8.5pt; line-height: 1.25 }
  td:first-child { white-space: nowrap } td:nth-child(3) { width: 42% }
}
"""


@dataclass(frozen=True)
class Part:
    """A part of the statement.

    Attributes
    ----------
    title : str
    items : tuple of str
    rows : tuple of tuple of str
        Of a table, the header first; empty for none.
    """

    title: str
    items: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def statement_title(data: ReportData) -> str:
    """Return the title of the statement."""
    return f"What speech discloses after voice anonymization: {', '.join(data.results.systems)}"


def statement_parts(data: ReportData, evidence: Sequence[Read] = ()) -> list[Part]:
    """Compose the statement.

    Parameters
    ----------
    data : ReportData
        Of at most `MOST_SYSTEMS` systems.
    evidence : sequence of InferredAttribute, SpeechAmount and ComparedGroups
        Outputs of verbs, of what results files do not hold.
    """
    attributes = inferred_attributes(data.results)
    attributes += [of for of in evidence if isinstance(of, InferredAttribute)]
    amounts = speech_amounts(data.results)
    amounts += [of for of in evidence if isinstance(of, SpeechAmount)]
    groups = [of for of in evidence if isinstance(of, ComparedGroups)]
    rows = (("criterion", "what was measured", "result"), *_criteria(data, attributes))
    sets = list(_test_sets(data))
    sets[:0] = [("system and attacker", "test set", "EER")] * bool(sets)
    opinion = "The three criteria of Opinion 05/2014 on anonymization (WP 216)"
    reference = f"For those who check the numbers (boot: draws, not people): {data.signature}."
    parts = [
        Part("In short", tuple(_summary(data, attributes))),
        Part("How to read the numbers", (*_READING, *(_GROUPS,) * bool(data.disclosed.identified))),
        Part("What was tested", tuple(_tested(data))),
        Part("Attackers, and what each of them knows", tuple(_attackers(data))),
        Part(opinion, _CRITERIA[: 2 + bool(attributes)], rows),
        Part("For which groups of speakers", tuple(_groups(data, groups)), tuple(sets)),
        Part("With how much speech", tuple(_amount(data, amounts))),
        Part(
            "What was not tested, and what follows", tuple(_not_tested(data, attributes, amounts))
        ),
        Part("Reservations", tuple(f"{text}." for text, _ in front_notes(data, ()))),
        Part("Technical reference", (reference,)),
    ]
    return [part for part in parts if part.items or part.rows]


def _summary(data: ReportData, attributes: Sequence[InferredAttribute]) -> Iterator[str]:
    """Yield what the strongest attacks reach, what it rests on, and what is unknown."""
    if data.protocol.is_simulated:
        yield "The data are simulated: they are no evidence about real speech."
    for system in data.results.systems:
        found = [(one, rates) for one, rates in _identified(data) if one["system"] == system]
        if found:
            worst, rates = max(found, key=lambda item: float(item[1]["value"] - item[1]["chance"]))
            group = group_text(rates["gallery"], mixed=rates["mixed"])
            yield (
                f"{system}: the attacker {_knowledge(worst['model'])}. The search is in {group}. "
                f"The attacker names the right person in {tests_of(rates)}. It would be "
                f"{_of_original(data, worst, rates)}{100 * rates['chance']:.3g} % by guessing."
            )
            yield from _worst(data, system, rates["value"] - rates["chance"])
        if instead := data.disclosed.named_for_others.get(system):
            yield f"{system}: an attacker takes {instead_text(instead)}"
        yield from _errors(data, system)
    for of in attributes:
        yield (
            f"{of.name}: a classifier, trained on {_trained(of)} speech, has an average recall of "
            f"{percent(of.uar)} on anonymized speech. On unprotected speech it is "
            f"{percent(of.original)}."
        )
    if data.has_few_speakers:
        yield (
            f"A test set has at most {data.most_speakers} speakers. They can show a risk, but not "
            "that there is none."
        )
    for model in not_evaluated_attacks(data):
        yield f"Not tried: an attacker who {_knowledge(model)}. This one may find more."
    missing = ["singling out"] * (not _singled_out(data))
    missing += ["inference of attributes"] * (not attributes)
    if missing:
        yield f"Not measured: {' and '.join(missing)}."


def _of_original(data: ReportData, attack: Row, rates: Row) -> str:
    """Write how often original speech is attributed rightly, in groups of the same size."""
    place = attack["split"], rates["gallery"]
    for one in data.attacks[attack["system"]]:
        of_original = data.disclosed.identified.get(_key(one)) if one["model"].is_original else None
        if of_original is not None and (one["split"], of_original["gallery"]) == place:
            return f"{100 * of_original['value']:.0f} % with unprotected speech, "
    return ""


def _trained(of: InferredAttribute) -> str:
    return ANONYMIZED if of.situation == "anon_to_anon" else ORIGINAL


def _worst(data: ReportData, system: str, average: float) -> Iterator[str]:
    """Yield how often the person is found who is found most often, if more than on average, both
    above chance, as groups may differ in size."""
    worst = data.disclosed.worst_protected[system]
    if worst is None or worst["value"] - worst["chance"] <= average:
        return
    tied = worst["tied"]
    who, alike = ("person is", "") if tied == 1 else (f"{tied} people are each", ", or as often")
    group = group_text(worst["gallery"], mixed=worst["mixed"])
    yield (
        f"{system}: the least protected {who} named in {tests_of(worst)}{alike}. The search is in "
        f"{group}. It is the worst of {worst['among']} results, one for each person and attacker, "
        f"so partly by chance{also_instead(worst)}."
    )


def _errors(data: ReportData, system: str) -> Iterator[str]:
    """Yield how often the strongest attacker of a system errs."""
    pairs = [one for one in _attacks(data) if one["system"] == system and one["printed"]]
    if not pairs:
        return
    lowest = min(pairs, key=lambda one: float(one["of_present"]))
    best = f"an attacker who {_knowledge(lowest['model'])}"
    tried = data.tried.get((system, data.main_split))
    if tried is not None and tried.lowest is not None:
        lowest = tried.lowest
        best = f"the best of {len(tried.compared)} attackers ({lowest['phrase']})"
    theirs = lowest.get("original") or data.original_eer
    who, original = "It", theirs["printed"]
    if not original:  # this attacker was not tried on original speech
        who, original = "The protocol's own attacker", data.original_eer["printed"]
    without = f"{who} errs in {original} % with unprotected speech. " * bool(original)
    yield (
        f"{system}: is a recording of a given person? {best[:1].upper()}{best[1:]} errs in "
        f"{lowest['printed']} % of cases. {without}Guessing errs in 50 %."
    )


def _bounds(data: ReportData, interval: Sequence[float] | None) -> str:
    """Write the interval of an EER, in words where it has no width."""
    text = describe(data.protocol.eer).interval(interval)
    return text.replace(NO_WIDTH, "(no interval: equal in all draws)")


def _knowledge(model: AttackModel) -> str:
    """Describe an attacker in words that follow "who"."""
    known = _KNOWLEDGE.get((model.enrollment, model.asv_model))
    text = known if known is not None and model.trial == ANONYMIZED else attacker(model)
    return text.removeprefix("who ")


def _attacks(data: ReportData) -> Iterator[Row]:
    """Yield the attacks on anonymized speech of the split that sentences are of."""
    for system in data.results.systems:
        for one in data.attacks[system]:
            if one["split"] == data.main_split and not one["model"].is_original:
                yield one


def _tested(data: ReportData) -> Iterator[str]:
    protocol, split = data.protocol, data.main_split
    records = [r for r in data.results.verification if r.condition.split == split]
    titles = dict.fromkeys(protocol.data_set(r.condition.data_set).title for r in records)
    speakers = data.most_speakers
    anonymized = [r for r in records if not r.condition.is_original]
    yield (
        f"{counted(len(data.results.systems), 'system')} ({', '.join(data.results.systems)}), by "
        f"the protocol {protocol.title}: {protocol.split_name(split)} of {', '.join(titles)}."
    )
    if anonymized:
        trials = sum(r.facts.get(n, 0) for r in anonymized for n in ("n_target", "n_nontarget"))
        largest = f", each with at most {speakers} speakers" if speakers is not None else ""
        yield (
            f"{counted(len(anonymized), 'condition')}, each an attacker and a test set{largest}. "
            f"There were {trials} comparisons with anonymized speech. They are evidence for such "
            "speakers and recordings only."
        )


def _criteria(
    data: ReportData, attributes: Sequence[InferredAttribute]
) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of singling out, linkage and inference."""
    singled = _singled_out(data)
    for one, out in singled:
        chance, size = 100 * float(singling_out_chance([out["gallery"]])[0]), out["gallery"]
        how = f"A rule for one person accepts exactly one of {size} people ({_phrase(one)})"
        without = " (no interval)" * (interval_of(out) is None)
        result = f"{rate_of(out)}{without}; a rule that knows nothing: {chance:.0f} %"
        yield "singling out", how, result
    if not singled:
        why = {r.facts.get("refused", "") for r in data.results.identification} - {""}
        how = f"because {'; '.join(sorted(why)) or 'the test sets share no size of a group'}"
        how = how if data.results.identification else "it needs stage 7 of the recipe"
        yield "singling out", f"not measured: {how}", "nothing can be said"
    for one, rates in _identified(data):
        group = group_text(rates["gallery"], mixed=rates["mixed"])
        how = f"The right person is found in {group} ({_phrase(one)}; {basis_text(rates)})"
        found = f"{rate_of(rates)} of the time; guessing: {100 * rates['chance']:.3g} %"
        yield "linkability", how, found
    for system, worst in data.disclosed.worst_protected.items():
        if worst is not None:
            group = group_text(worst["gallery"], mixed=worst["mixed"])
            how = f"The least protected person is found in {group} ({system})"
            found = f"{tests_of(worst)} ({rate_of(worst)}); guessing: {100 * worst['chance']:.3g} %"
            found += also_instead(worst)
            yield "linkability", how, found
    for system, row in data.disclosed.named_for_others.items():
        how = f"How often others are taken for the same one of {row['gallery']} people ({system})"
        tested = "" if row["p"] is None else f"; p = {row['p']:.2g}, corrected"
        found = f"{tests_of(row)} ({rate_of(row)}); guessing: {100 * row['chance']:.3g} %{tested}"
        yield "linkability", how, found
    for one in _attacks(data):
        interval = _bounds(data, interval_of(one))
        how = f"Is a recording of a given person? ({_phrase(one)}; guessing errs in 50 %)"
        eer = f"errs in {one['printed']} % {interval}".rstrip()
        result = f"{eer} (EER)" if one["printed"] else f"no value ({one['why_blank']})"
        yield "linkability", how, result
    for system in data.results.systems:
        yield from _strongest(data, system)
    for of in attributes:
        risk = "{:.2f} [{:.2f}, {:.2f}]".format(of.risk, *of.risk_interval)
        result = (
            f"average recall {percent(of.uar, of.interval)}, of original speech "
            f"{percent(of.original)}; risk for a speaker {risk} (0: guessing, 1: certain)"
        )
        how = f"{of.name}: a classifier, trained on {_trained(of)} speech, tells it"
        yield "inference", f"{how} from anonymized speech", result
    if not attributes:
        how = "attributes: not measured: they need --attribute, such as gender"
        yield "inference", how, "nothing can be said"
    for system in data.results.systems:
        if recall := _utility(data, system, "uar"):
            how = f"{system}: a classifier tells the emotion from anonymized speech"
            yield "inference", how, f"average recall {recall} %"


def _strongest(data: ReportData, system: str) -> Iterator[tuple[str, str, str]]:
    """Yield the row of the attacker with the lowest EER of several."""
    tried = data.tried.get((system, data.main_split))
    if tried is not None and tried.lowest is not None:
        strongest, lowest = f"the strongest of {len(tried.compared)} attackers", tried.lowest
        how = f"The same, by {strongest} ({system}, {lowest['phrase']})"
        eer = f"errs in {lowest['printed']} % {_bounds(data, interval_of(lowest))}".rstrip()
        yield "linkability", how, "; ".join(filter(None, (f"{eer} (EER)", corrected_words(tried))))


def _utility(data: ReportData, system: str, metric: str) -> str:
    """Return a mean measure of utility of a system; "" without one."""
    mean = data.means.of(metric, None, data.main_split, system_column(system))
    return "" if mean["value"] is None else str(mean["printed"])


def _identified(data: ReportData) -> list[tuple[Row, Row]]:
    """List the attacks with a rate of finding a person."""
    return [(one, r) for one in _attacks(data) if (r := data.disclosed.identified.get(_key(one)))]


def _singled_out(data: ReportData) -> list[tuple[Row, Row]]:
    """List the attacks with a rate of singling out."""
    return [(one, out) for one, r in _identified(data) if (out := r["singled_out"])]


def _phrase(one: Row) -> str:
    return f"{one['system']}, {one['model'].phrase} attacker"


def _key(one: Row) -> tuple[str, str, str]:
    return one["system"], one["model"].id, one["split"]


def _attackers(data: ReportData) -> Iterator[str]:
    of_others = (r.condition.attack_model for r in data.others)
    models = [one["model"] for one in _attacks(data)]
    models += [data.protocol.attack(name) for name in of_others if name is not None]
    for model in dict.fromkeys(model for model in models if not model.is_original):
        yield f"{model.title}: {_knowledge(model)}."
    if any(r.condition.attacker in data.protocol.word_attackers for r in data.others):
        yield _WORDS
    yield from attackers_tried(data)
    if others := [a.title for a in untried(data)]:
        yield f"Not tried, and perhaps stronger: {enumerated(others)}."
    for system in data.systems_by_rank:
        for sentence in reached_by_others(data, system):
            yield f"{system}: {sentence[0].lower()}{sentence[1:]}"
    if original := data.original_eer["printed"]:
        yield f"Against original speech, which is not protected, the EER is {original} %."


def _test_sets(data: ReportData) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the test sets, which differ by data set and gender."""
    protocol, eer = data.protocol, describe(data.protocol.eer)

    def value(record: Record) -> float:
        return record.values(protocol.variant)[protocol.eer]

    for one in _attacks(data):
        records = [
            r
            for r in data.results.of(one["system"]).verification
            if (r.condition.attack_model, r.condition.split) == (one["model"].id, one["split"])
            and protocol.eer in r.values(protocol.variant)
        ]
        if len(records) < 2:
            continue
        ordered = sorted(records, key=value)
        picked = ordered if len(ordered) <= _LISTED else [ordered[0], ordered[-1]]
        which = f"lowest of {len(ordered)}", f"highest of {len(ordered)}"
        for r, of in zip(picked, which if picked != ordered else [""] * len(picked), strict=True):
            text = marked_text(eer.format(value(r)), r.caveat(protocol.eer))
            bounds = _bounds(data, r.intervals(protocol.variant).get(protocol.eer))
            place = protocol.data_set(r.condition.data_set).title
            place = f"{place}, {protocol.genders[r.condition.gender]}"
            yield _phrase(one), f"{place} ({of})" if of else place, f"{text} % {bounds}".rstrip()


def _groups(data: ReportData, groups: Sequence[ComparedGroups]) -> Iterator[str]:
    """Say how the groups of a protocol differ, and what was not tested."""
    compared = [f"{s}." for s in (*privacy_sentences(data), *map(_compared, groups))]
    yield from compared
    columns = [*group_columns(data), *(of.column for of in groups)]
    others = ", ".join([*_without(("age", "accent", "language"), columns), "other properties"])
    such = "such groups, or " * (not compared)
    yield f"Whether {such}groups by {others} differ was not tested (groups in the protocol)."


def _compared(of: ComparedGroups) -> str:
    """Say how groups differ that another verb compared."""
    eers = sorted(of.eers.items(), key=lambda item: item[1])
    rates = "; ".join(f"{name} {100 * eer:.1f} %" for name, eer in eers) or "no values"
    text = f"By {of.column} ({of.name}), EER within each group: {rates}"
    if not of.largest:
        return f"{text}. No group has enough speakers for a test"
    return (
        f"{text}. In standard errors, {of.largest} differs most: {100 * of.difference:+.1f} "
        f"points (standard error {100 * of.se:.1f}). The difference is "
        + ("significant" if of.p_value < 1 - LEVEL else "not significant, which proves nothing")
        + f" (p = {of.p_value:.3f}, corrected over the groups)"
    )


def _amount(data: ReportData, amounts: Sequence[SpeechAmount]) -> Iterator[str]:
    for a in amounts:
        first, last = (
            percent(rate, bounds) for rate, bounds in zip(a.found, a.intervals, strict=True)
        )
        yield (
            f"With {a.length_text()}, the right person is found {last} instead of {first} of the "
            f"time ({counted(a.speakers, 'speaker')}"
            f"{f'; {a.of}' if a.of else ''})."
        )
    lengths = [r.facts["length"] for r in data.results.identification]
    text = "Not measured: it needs --sentences, such as 1,2,3,5."
    if lengths:
        text = (
            f"Each test has {counted(max(lengths), 'recording')}. How much more an attacker with "
            "more speech of a person finds was not measured (--sentences, such as 1,2,3,5)."
        )
    yield from [text] * (not amounts)


def _not_tested(
    data: ReportData,
    attributes: Sequence[InferredAttribute],
    amounts: Sequence[SpeechAmount],
) -> Iterator[str]:
    yield (
        "Other attackers than those named: a stronger one may find more. A number near guessing "
        "would say that these attackers failed, not that nobody can succeed."
    )
    for model in not_evaluated_attacks(data):
        yield f"{model.title} attacker, who {_knowledge(model)}. This one may find more."
    others = _without(_ATTRIBUTES, [of.name for of in attributes])
    yield f"Inference of {', '.join([*others, 'other attributes'])}: it may be possible."
    if not data.disclosed.identified:
        yield "Finding a person in a group: it may be possible."
    if not _singled_out(data):
        yield "Singling out: it may be possible."
    most = max((a.lengths[1] for a in amounts), default=0)
    longer = f"More than {most} sentences" if most else "Long or repeated recordings"
    yield f"{longer} of one person: the risk may be higher than measured."
    if not any(r.condition.attacker in data.protocol.word_attackers for r in data.others):
        yield "What is said: names, topics and phrases can identify a person by themselves."
    else:
        yield (
            "What is said: the words alone link recordings, as shown above. Names or diagnoses "
            "identify, too. Removing them is another task."
        )
    for system in data.results.systems:
        if errors := _utility(data, system, "wer"):
            yield f"{system}: a recognizer gets {errors} % of the words wrong, the rest right."
    yield (
        "Other languages, children, ill or unusual voices, background sounds, other recordings: "
        "the numbers do not carry over by themselves."
    )
    yield "People who know the speaker: no human listener tried to recognize anybody here."
    yield (
        "The tool and its use. Can the voice be restored? Does a person always get the same new "
        "voice? What becomes of the original recordings and of names in files?"
    )
    yield (
        "Whether the speech counts as anonymous in the sense of the law: these are measurements, "
        "not a legal assessment. No number decides it by itself, neither way."
    )


def _without(words: Iterable[str], measured: Iterable[str]) -> list[str]:
    """List the words that none of the names of what was measured has."""
    known = {word for name in measured for word in re.split(r"[\W_]+", name.lower())}
    return [word for word in words if word not in known]


def statement_html(title: str, parts: Sequence[Part]) -> str:
    """Write the statement as a page that prints on A4."""
    body = [tag("h1", title), tag("p", _foot())]
    for part in parts:
        body.append(tag("h2", part.title))
        if part.rows:
            header, *rows = part.rows
            cells = [tag("tr", *(tag("th", cell, scope="col") for cell in header))]
            cells += [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
            body.append(tag("table", *cells))
        if part.items:
            body.append(tag("ul", *(tag("li", item) for item in part.items)))
    style = Markup(f"<style>{_STYLE}</style>")
    head = tag("head", Markup('<meta charset="utf-8">'), tag("title", title), style)
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', join(body)), lang='en')}\n"


def _foot() -> str:
    return (
        "Annex to a data protection impact assessment: measurements of voice anonymization, "
        f"written by privacy_eval {__version__}."
    )


def statement_markdown(title: str, parts: Sequence[Part]) -> str:
    """Write the statement as Markdown."""
    lines = [f"# {escape_markdown(title)}", "", escape_markdown(_foot())]
    for part in parts:
        lines += ["", f"## {escape_markdown(part.title)}", ""]
        for number, row in enumerate(part.rows):
            lines.append(f"| {' | '.join(map(escape_markdown, row))} |")
            lines += [f"|{' --- |' * len(row)}"] * (number == 0)
        lines += [""] * bool(part.rows and part.items)
        lines += [f"* {escape_markdown(item)}" for item in part.items]
    return "\n".join(lines) + "\n"
