"""The counts of sentences that are hard to read: what counts, and that a rise fails."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"
PLAIN = "The best attack errs in 35 % of its decisions, against 18 %."
PAGE = f"""<section id="answer"><h1>A title is no sentence.</h1><p>{PLAIN}</p>
<table><td>Cells are no sentences.</td></table></section>
<section><p>Methods stand here.</p></section>"""


@pytest.fixture
def language(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("check_language")


@pytest.mark.parametrize(
    ("sentence", "rule"),
    [
        (f"{'word ' * 20}{'more'}.", "over 20 words"),
        ("The EER is 17.57 % [14.24, 20.42].", "over 2 numbers"),
        ("The attacker chosen as best is corrected for it.", "participles"),
        ("It is the mean of the values of the speakers of a set.", "of of of"),
        ("Its value is above that of B2.", "of of of"),
        ("The record is made anew.", "home-made words"),
    ],
)
def test_each_rule_finds_its_sentence_alone(language: Any, sentence: str, rule: str) -> None:
    assert [name for name, breaks in language.RULES.items() if breaks(sentence)] == [rule]
    assert not any(breaks(PLAIN) for breaks in language.RULES.values())


def test_digits_of_names_are_no_numbers(language: Any) -> None:
    assert language.counted(["B1, B2, B3 and x86_64 are names."])["over 2 numbers"] == 0


def test_markdown_has_sentences_outside_of_code_and_tables(language: Any) -> None:
    text = (
        "# Not a heading here\n\n```\nno code at all.\n```\n| no | cells |\n\n"
        "One is here, e.g. this.\nTwo `a b` is too.\n"
    )
    assert list(language.of_markdown(text)) == ["One is here, e.g. this.", "Two code is too."]


def test_a_page_is_read_by_screen(language: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    assert language.of_page(tmp_path / "page.html") == {
        True: [PLAIN],
        False: ["Methods stand here."],
    }


def test_a_rise_fails_and_names_its_part(
    language: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [PLAIN, "One, 2, 3 and 4 are the numbers."]
    limits = tmp_path / "limits.json"
    monkeypatch.setattr(language, "LIMITS", limits)
    monkeypatch.setattr(language, "parts", lambda _: {"docs": found})
    monkeypatch.setattr("sys.argv", ["check_language.py", "--demo", str(tmp_path), "--store"])
    assert language.main() == 0
    monkeypatch.setattr("sys.argv", ["check_language.py", "--demo", str(tmp_path)])
    assert language.main() == 0
    found.append("Two, 3, 4 and 5 are the numbers.")
    assert language.main() == 1
    assert "docs" in (told := capsys.readouterr().err) and "over 2 numbers" in told
    # A limit never rises.
    monkeypatch.setattr("sys.argv", ["check_language.py", "--demo", str(tmp_path), "--store"])
    assert language.main() == 0
    assert json.loads(limits.read_text())["docs"]["over 2 numbers"] == 1
