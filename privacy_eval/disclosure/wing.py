"""The wing of disclosure: the release gate, and the statement of an impact assessment."""

from ..wings import Wing

_VERBS = f"{__name__.rpartition('.')[0]}.verbs"

WING = Wing(
    "disclosure",
    verbs={"gate": (_VERBS, "judge results by the rules of a policy: pass, fail or undecided")},
    provides={"statement": f"{_VERBS}:write_statement"},
)
