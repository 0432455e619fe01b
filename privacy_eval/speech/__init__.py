"""The wing of speech: audio, features, networks, the baseline B2, and what they make of a tree."""

from ..wings import Stage, Wing

_TREES = f"{__name__}.trees"
_VERBS = {
    "data-dir": "create a tree from folders of audio: data folders, trials, protocol",
    "demo-speech": "simulate folders of speech",
    "get-model": "download a pretrained model, pinned and checked, into the user's cache",
    "mcadams": "anonymize the speech of a data folder by the McAdams coefficient (baseline B2)",
    "xvectors": "extract the x-vectors of a data folder with Kaldi's networks, or an encoder's",
    "recognize": "transcribe speech with a recognizer of your own, for word error rates",
    "quality": "predict the quality of speech (DNSMOS), with intervals over speakers",
    "phones": "compute phone error rates of speech, with intervals over speakers",
    "pitch": "compute the pitch correlation of original and anonymized speech",
}
_COSTS = "costs of anonymization", "data/<set>, its anonymized copy -> OUT/records"
_STAGES = ("anonymize", "xvectors", "recognize", "measures")

WING = Wing(
    "speech",
    verbs={verb: (f"{__name__}.verbs", what) for verb, what in _VERBS.items()},
    stages={"costs": Stage(6, *_COSTS, f"{_TREES}.costs:plan_costs")},
    provides={
        **{name: f"{_TREES}.runs:{name}" for name in _STAGES},
        "audit": f"{_TREES}.audit:audit",
        "records of measures": f"{_TREES}.measures:plan_measures",
        "records of audio": f"{_TREES}.measures:plan_audits",
        "durations": f"{_TREES}.recordings:read_seconds",
    },
)
