"""A product that cannot be made is its own failure, whatever the error."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from privacy_eval.errors import PROGRESS, OutputError, PrivacyEvalError, UsageError
from privacy_eval.io.files import Inputs
from privacy_eval.products.freshness import (
    DEBUG,
    NOTE,
    Content,
    MissingInput,
    Outcome,
    Product,
    Run,
    Sources,
    bring_up_to_date,
)

NAMES = ("first", "bad", "last")
RUNS = {"serial": Run(), "parallel": Run(nj=2), "isolated": Run(isolated=True)}


def find(inputs: Inputs) -> Sources:
    return {}


def make(path: Path, *_: object) -> Content:
    return Content({path: b"content"})


def fail(error: BaseException, *_: object) -> Any:
    raise error


def product(folder: Path, name: str, **overrides: Any) -> Product:
    path = folder / name / "file"
    defaults = {"find": find, "make": partial(make, path)}
    return Product(name, folder, path.with_name(NOTE), (path,), **{**defaults, **overrides})


def outcome_of(folder: Path, run: Run, **overrides: Any) -> Outcome:
    """Run three products, of which the second differs."""
    products = [product(folder, n, **(overrides if n == "bad" else {})) for n in NAMES]
    return bring_up_to_date(products, Inputs(), run)


ERRORS = [
    (ValueError("no number"), "ValueError: no number"),
    (KeyError("EER"), "KeyError: 'EER'"),
    (RecursionError("too deep"), "RecursionError: too deep"),
    (OverflowError("too large"), "OverflowError: too large"),
    (MemoryError(), "not enough memory"),
    (PrivacyEvalError("scores:1: empty"), "scores:1: empty"),
]


@pytest.mark.parametrize(("error", "message"), ERRORS, ids=lambda x: type(x).__name__)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("where", ["find", "make"])
def test_other_products_are_made(
    error: Exception, message: str, run: Run, where: str, tmp_path: Path
) -> None:
    outcome = outcome_of(tmp_path, run, **{where: partial(fail, error)})
    assert outcome.failed == {"bad": message}
    assert outcome.made == ["first", "last"]
    assert sorted(path.parent.name for path in tmp_path.glob("*/file")) == ["first", "last"]


def test_failures_before_the_work_begins_are_those_of_one_product(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, Run(), absent=partial(fail, ValueError("a name")))
    assert outcome.failed == {"bad": "ValueError: a name"}
    assert outcome.made == ["first", "last"]


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("error", [OutputError("disk full"), UsageError("--option")], ids=repr)
def test_errors_of_all_products_end_the_run(error: Exception, run: Run, tmp_path: Path) -> None:
    with pytest.raises(type(error), match=str(error)):
        outcome_of(tmp_path, run, make=partial(fail, error))


def test_an_interrupt_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        outcome_of(tmp_path, Run(), make=partial(fail, KeyboardInterrupt()))
    assert not (tmp_path / "last").exists()


@pytest.mark.parametrize("variable", [(DEBUG, "1"), (PROGRESS, "lines")])
def test_the_traceback_is_logged_in_jobs_and_on_request(
    variable: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*variable)
    outcome = outcome_of(tmp_path, Run(), make=partial(fail, ValueError("no number")))
    cause, *lines = outcome.failed["bad"].splitlines()
    assert cause == "ValueError: no number" and lines[0].startswith("Traceback")
    assert any("in fail" in line for line in lines)
    missing = outcome_of(tmp_path, Run(), find=partial(fail, MissingInput("key", "trials")))
    assert [*missing.missing] == ["bad"] and missing.failed == {}


def test_a_product_whose_inputs_cannot_be_read_is_not_current(tmp_path: Path) -> None:
    good = product(tmp_path, "good")
    assert bring_up_to_date([good], Inputs()).made == ["good"]
    assert good.is_current(Inputs())
    assert not product(tmp_path, "good", find=partial(fail, KeyError("x"))).is_current(Inputs())
