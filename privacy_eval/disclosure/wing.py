"""The wing of disclosure: identification, amounts of speech, attributes, worst case, groups of
speakers; the release gate, and the statement of an impact assessment."""

from ..wings import Wing

_HERE = __name__.rpartition(".")[0]
_VERBS = f"{_HERE}.verbs"
_GROUPS = f"{_HERE}.group_records"
_IDENTIFICATION = "compute speaker identification rates in galleries, from x-vectors"

WING = Wing(
    "disclosure",
    verbs={
        "gate": (_VERBS, "judge results by the rules of a policy: pass, fail or undecided"),
        "identification": (_VERBS, _IDENTIFICATION),
        "attributes": (_VERBS, "infer gender or another attribute of speakers from x-vectors"),
    },
    provides={
        "identification": f"{_HERE}.trees:identification",
        "attributes": f"{_HERE}.trees:attributes",
        "records of identification": f"{_HERE}.trees:plan_identification",
        "records of amount": f"{_HERE}.trees:plan_amounts",
        "records of attributes": f"{_HERE}.trees:plan_attributes",
        "groups of speakers": f"{_GROUPS}:groups_of_record",
        "check of disparities": f"{_GROUPS}:check_disparities",
        "metrics of groups": f"{_GROUPS}:groups_of_files",
        "linkage": f"{_HERE}.linkage:closed_set_linkage",
        "merged ranks": f"{_VERBS}:merge_files",
        "worst case": f"{_HERE}.worst_case:worst_case",
        "statement": f"{_VERBS}:write_statement",
        "disclosure in reports": f"{_HERE}.report:Disclosed",
        "figures of identification": f"{_HERE}.figures:identification_figures",
        "figures of groups": f"{_HERE}.group_figures:group_figures",
        "figures of amount": f"{_HERE}.figures:amount_figures",
    },
)
