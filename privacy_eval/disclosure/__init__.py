"""The wing of disclosure: identification, amounts of speech, attributes, worst case, groups of
speakers; the release gate, and the statement of an impact assessment."""

from ..wings import Wing

_VERBS = f"{__name__}.verbs"
_GROUPS = f"{__name__}.group_records"
_IDENTIFICATION = "compute speaker identification rates in galleries, from x-vectors"

WING = Wing(
    "disclosure",
    verbs={
        "gate": (_VERBS, "judge results by the rules of a policy: pass, fail or undecided"),
        "identification": (_VERBS, _IDENTIFICATION),
        "attributes": (_VERBS, "infer gender or another attribute of speakers from x-vectors"),
    },
    provides={
        "identification": f"{__name__}.trees:identification",
        "attributes": f"{__name__}.trees:attributes",
        "records of identification": f"{__name__}.trees:plan_identification",
        "records of amount": f"{__name__}.trees:plan_amounts",
        "records of attributes": f"{__name__}.trees:plan_attributes",
        "groups of speakers": f"{_GROUPS}:groups_of_record",
        "check of disparities": f"{_GROUPS}:check_disparities",
        "metrics of groups": f"{_GROUPS}:groups_of_files",
        "linkage": f"{__name__}.linkage:closed_set_linkage",
        "merged ranks": f"{_VERBS}:merge_files",
        "worst case": f"{__name__}.worst_case:worst_case",
        "statement": f"{_VERBS}:write_statement",
        "disclosure in reports": f"{__name__}.report:Disclosed",
        "figures of identification": f"{__name__}.figures:identification_figures",
        "figures of groups": f"{__name__}.group_figures:group_figures",
        "figures of amount": f"{__name__}.figures:amount_figures",
    },
)
