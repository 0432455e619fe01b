"""The wing of utility: word errors of transcripts, recalls of emotions, other tools' measures."""

from ..wings import Wing

_VERBS = {
    "wer": "compute word error rates of transcripts, with intervals over speakers",
    "uar": "compute emotion recognition recalls (UAR) from predictions",
    "measures": "compute means of other tools' measures",
}

WING = Wing(
    "utility",
    verbs={verb: (f"{__name__}.verbs", what) for verb, what in _VERBS.items()},
    provides={
        "records of recognition": f"{__name__}.transcripts:plan_transcripts",
        "word errors of a record": f"{__name__}.word_errors:read_set_word_errors",
        "word errors of rated transcripts": f"{__name__}.word_errors:rated_words",
    },
)
