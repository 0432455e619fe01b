"""The public API, and metrics, asv, and wings that compute have complete numpydoc sections.

ruff checks form and wording of docstrings; these tests, that sections match the code.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator

import pytest
from support import ROOT

import privacy_eval as pe
from privacy_eval import metrics

PACKAGE = ROOT / "privacy_eval"
ROOMS = ("metrics", "asv", "attackers", "disclosure", "scale", "speech")
#: Modules of other rooms.
MODULES = ("listening/opinions.py", "utility/rates.py")
#: Of wings: their stages, reports and verbs, which nobody imports.
OTHERS = (
    *("aligned_scores", "tree_scores", "trees", "verbs", "verb_inputs", "wing"),
    *("evidence", "figures", "gate", "in_words", "numbers", "report", "statement"),
    *("group_figures", "group_records"),
)
Documented = ast.FunctionDef | ast.ClassDef


def documented() -> Iterator[tuple[str, Documented]]:
    """Yield the public functions and classes of the rooms, then the others of the API."""
    patterns = (*(f"{room}/*.py" for room in ROOMS), *MODULES)
    for path in sorted(path for pattern in patterns for path in PACKAGE.glob(pattern)):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body if path.stem not in OTHERS else ():
            if isinstance(node, Documented) and not node.name.startswith("_"):
                yield f"{path.relative_to(PACKAGE)}:{node.name}", node
    for name in pe.__all__:
        value = getattr(pe, name)
        if (inspect.isfunction(value) or inspect.isclass(value)) and (
            value.__module__.split(".")[1] not in ROOMS
        ):
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
            assert isinstance(node, Documented)
            yield f"pe.{name}", node


def sections(docstring: str) -> dict[str, str]:
    """Return the text of each section by its title."""
    parts = re.split(r"^(\w+)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def names(section: str) -> list[str]:
    """Return the names of a section: `a, b : type` has a and b."""
    heads = re.findall(r"^(\S[^\n]*)", section, re.M)
    return [n.strip("* ") for head in heads for n in head.partition(" : ")[0].split(",")]


def faults(node: Documented) -> list[str]:
    by_title = sections(ast.get_docstring(node) or "")
    if isinstance(node, ast.ClassDef):
        decorators = ast.dump(ast.Module(node.decorator_list, []))
        fields = [n.target.id for n in node.body if isinstance(n, ast.AnnAssign)]  # type: ignore[union-attr]
        fields = fields if "dataclass" in decorators else []
        listed = names(by_title.get("Attributes", ""))
        return [f"Attributes: {f}" for f in fields if f not in listed]
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a]
    listed, real = names(by_title.get("Parameters", "")), [a.arg for a in every]
    missing = [f"Parameters: {n}" for n in real if n not in listed]
    missing += [f"Parameters: no such {n}" for n in listed if n not in real]
    returns = ast.unparse(node.returns) if node.returns else "None"
    if returns != "None" and not by_title.keys() & {"Returns", "Yields"}:
        missing.append("Returns")
    raised = {
        ast.unparse(n.exc.func)
        for n in ast.walk(node)
        if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call)
    }
    listed = names(by_title.get("Raises", ""))
    missing += [f"Raises: {e}" for e in raised & {"PrivacyEvalError", "ValueError"} - {*listed}]
    return missing


def test_sections_match_signatures() -> None:
    faults_of = {where: faults(node) for where, node in documented()}
    assert len(faults_of) > 100
    assert any(where.startswith("pe.") for where in faults_of)
    assert not {where: missing for where, missing in faults_of.items() if missing}


#: What has a docstring of its own among the public names, and the functions of the metrics.
PUBLIC = sorted({*pe.__all__} - {"METRICS", "__version__"})
EXAMPLES = sorted(
    {name for name, of in vars(metrics).items() if inspect.isfunction(of)} - {"zebra_tag"}
    | {*PUBLIC}
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_public_functions_have_an_example(name: str) -> None:
    """Which runs, as doctests of all modules do."""
    function = getattr(pe, name, None) or getattr(metrics, name)
    assert ">>>" in sections(function.__doc__ or "")["Examples"]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_signatures_say_what_they_take(name: str) -> None:
    value = getattr(pe, name)
    source = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    methods = [source] if isinstance(source, ast.FunctionDef) else source.body  # type: ignore[attr-defined]
    for node in methods:
        if isinstance(node, ast.FunctionDef) and node.name in (name, "__init__"):
            given = ast.dump(node.args) + ast.dump(node.returns or ast.Constant(None))
            assert "id='Any'" not in given, ast.unparse(node)
