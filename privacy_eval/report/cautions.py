"""The cautions of the first screen: one sentence each, which says what to do."""

from __future__ import annotations

from collections.abc import Iterator

from ..metrics import CAVEATS
from ..metrics.caveats import (
    CONSTANT,
    INCOMPLETE,
    INVERTED,
    INVERTED_ORIGINAL,
    RAW_SPEECH,
    SAME_SCORES,
    SAME_SESSION,
    STATED,
    WEAK_ATTACKER,
)
from ..numbers.report_data import ReportData
from ..protocol.protocol import ANONYMIZED, AttackModel
from ..results.record_caveats import shared_scores
from ..results.signature import network_notes, pseudo_voice, voices_of

#: Speakers from which an anonymizer can be judged.
ENOUGH_SPEAKERS = 40

#: Sentences by caveat of verification, the gravest first.
_SENTENCES = {
    RAW_SPEECH: "Original speech is left in the anonymized audio: anonymize the system again.",
    INVERTED_ORIGINAL: "Scores of original speech are implausible: check its labels and files.",
    INVERTED: "An EER is far above guessing: check for swapped labels or distances.",
    CONSTANT: "Nearly all scores are equal: check the vectors.",
    "constant_trials": "All trials have the same vector: check the anonymized speech.",
    "constant_enrolled": "All enrolled speakers have the same vector: check the enrollment.",
    SAME_SCORES: "Two systems have the same scores: check the score files, or use --confirm.",
    WEAK_ATTACKER: "The attack fails on original speech: check its model before you trust it.",
    INCOMPLETE: "Some trials have no score: score them, as hard trials may be missing.",
    SAME_SESSION: "Enrollment and trials share their session: linking is easier than "
    "in practice, so record a second one.",
    STATED: "Imported intervals are over trials: evaluate the scores for those over speakers.",
}

#: Caveats of miss rates at rare false alarms, which reports do not show.
_OF_RARE_ERRORS = {key for key in CAVEATS if key.startswith("few_nontargets")}


def front_cautions(data: ReportData) -> Iterator[str]:
    """Yield the cautions, the gravest first."""
    results = data.results
    found = {key for r in results.verification for key in r.caveats}
    if results.failures:
        yield "Some results failed: mend their files, and run the recipe again."
    yield from (sentence for key, sentence in _SENTENCES.items() if key in found)
    if [*shared_scores(results)] and SAME_SCORES not in found:
        yield _SENTENCES[SAME_SCORES]
    if data.has_few_speakers:
        yield (
            f"Trial sets have at most {data.most_speakers} speakers, too few to judge an "
            f"anonymizer: use at least {ENOUGH_SPEAKERS} in each."
        )
    of_words = {
        s: row.weaker["words"] for (s, split), row in data.tried.items() if split == data.main_split
    }
    if weaker := {s for s, of in of_words.items() if of}:
        phrases = {one["phrase"] for of in of_words.values() for one, _ in of}
        on = f" on {min(weaker)}" if len(weaker) == 1 < len(of_words) else ""
        than = f"the {min(phrases)}" if len(phrases) == 1 else "a voice"
        yield f"The words alone identify speakers{on} better than {than} attack: anonymize words."
    if any(row.weaker["spectrum"] or row.weaker["variant"] for row in data.tried.values()):
        yield "A simpler attack is stronger than another one: report the best attack."
    if results.systems and any(a.asv_model == ANONYMIZED for a in not_evaluated_attacks(data)):
        yield (
            "No attack was trained on anonymized speech: a trained one may be stronger, so add "
            "one (--attackers of the recipe)."
        )
    looks = {
        pseudo_voice(facts) for s in results.systems if (facts := voices_of(results, s)) is not None
    }
    if len(looks) > 1:
        yield "Systems assign new voices in different ways: evaluate them alike, then compare."
    if network_notes(results):
        yield "The encoder is not the challenge's: do not compare these EERs with published ones."
    if data.unsigned:
        yield "Results were made or edited elsewhere: compute them again before you rely on them."
    if results.systems and data.main_ranking.ranked and not data.main_ranking.replicates:
        yield "Without intervals no difference is certain: evaluate again with --bootstrap 1000."
    if data.narrow_intervals:
        yield "Intervals are too narrow: evaluate again with more bootstrap replicates."
    where = '"The answer in detail" of the report says which.'
    if data.gaps or results.not_evaluated:
        yield f"Some values are missing: {where}"
    others = (CAVEATS[key] for key in found & CAVEATS.keys() - {*_SENTENCES, *_OF_RARE_ERRORS})
    words = {caveat.word.replace("targets", "trials") for caveat in others if not caveat.ranked}
    if why := ", ".join(sorted(words)):
        yield f"Some values are not shown ({why}): {where}"
    if data.cells.not_comparable and len(looks) <= 1:
        yield f"Some values must not be compared: {where}"
    elif data.cells.notes:
        yield 'Some values have a note: read those of "The answer in detail".'


def not_evaluated_attacks(data: ReportData) -> list[AttackModel]:
    """List the attack models of the protocol without values."""
    present = {r.condition.attack_model for r in (*data.results.verification, *data.others)}
    models = data.protocol.attack_models
    return [one for one in models if one.id not in present and not one.is_original]
