"""The wing of utility: word errors of transcripts, recalls of emotions, other tools' measures."""

from ..wings import Wing

_HERE = __name__.rpartition(".")[0]
_VERBS = {
    "wer": "compute word error rates of transcripts, with intervals over speakers",
    "uar": "compute emotion recognition recalls (UAR) from predictions",
    "measures": "compute means of other tools' measures",
}

WING = Wing(
    "utility",
    verbs={verb: (f"{_HERE}.verbs", what) for verb, what in _VERBS.items()},
    provides={
        "records of recognition": f"{_HERE}.transcripts:plan_transcripts",
        "word errors of a record": f"{_HERE}.word_errors:read_set_word_errors",
        "word errors of rated transcripts": f"{_HERE}.word_errors:rated_words",
    },
)
