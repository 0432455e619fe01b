"""Every remedy names an option or a stage that the recipe which prints it has."""

import ast
import functools
import re

import pytest
from support import ROOT

from privacy_eval.cli import MODULES, every_verb, is_of_files, parser
from privacy_eval.cli.stages import STAGES

RECIPES = ("vpc2020", "vpc2024", "real_speech")
#: Rooms and verbs whose messages the stages print.
ROOMS = (
    "disclosure",
    "organizers",
    "stages",
    "report",
    "numbers",
    "results",
    "tree",
    "asv",
    "products",
    "speech/trees",
)
#: Modules of the command line whose messages the stages print, and what they run.
OF_MODULES = {
    "cli/stage_runs.py": [*(f"stage {name}" for name in STAGES)],
    "speech/trees/runs.py": [*(f"stage {name}" for name in STAGES), "xvectors"],
    "cli/results.py": MODULES["results"].split(),
    "listening/verbs.py": ["listening"],
    "disclosure/verbs.py": ["gate", "report", "identification", "attributes"],
    "organizers/verbs.py": ["check", "unpack-submissions"],
    **dict.fromkeys(("utility/transcripts.py", "utility/word_errors.py"), ["wer"]),
}

#: Options that not every recipe has: why their messages are not printed by the others.
OF_SOME = {
    **dict.fromkeys(
        ("--conf", "--anon-suffix", "--keys", "--results", "--tree", "--out", "--allow-outside"),
        "the recipe for one's own speech makes the tree and names these itself",
    ),
    "--published": "speech of one's own is in no publication",
    "--extractor": "own speech is attacked by encoders",
    "--encoder": "own speech has --encoders",
    "--lda-dim": "only back ends that are trained have an LDA",
    "--allow-pipes": "the recipe for one's own speech writes wav.scp without commands",
}
#: Modules of verbs that no recipe runs as a stage, or that run before a tree is there.
OTHERS = {
    *("from_audio.py", "speech_folder.py", "demo_speech.py"),
    "options.py",
}


def options(recipe: str) -> set[str]:
    text = (ROOT / f"recipes/{recipe}/run.sh").read_text()
    declared = text.split("# --- options")[1].split("# --- end of options")[0]
    return {f"--{name.replace('_', '-')}" for name in re.findall(r"^(\w+)=", declared, re.M)}


def begun(recipe: str) -> set[int]:
    """The stages that a recipe has; that for one's own speech goes on with the first one's."""
    name = "vpc2020" if recipe == "real_speech" else recipe
    text = (ROOT / f"recipes/{name}/run.sh").read_text()
    return set(map(int, re.findall(r"^if begin (\d+);", text, re.M)))


@functools.cache
def messages() -> list[tuple[str, str]]:
    """The texts of modules that stages run, without docstrings, and where they are."""
    paths = [path for room in ROOMS for path in (ROOT / "privacy_eval" / room).rglob("*.py")]
    paths += [ROOT / "privacy_eval" / name for name in OF_MODULES]
    found = []
    for path in paths:
        nodes = [*ast.walk(ast.parse(path.read_text()))] if path.name not in OTHERS else []
        parts = {id(v) for n in nodes if isinstance(n, ast.JoinedStr) for v in n.values}
        parts |= {id(n.value) for n in nodes if isinstance(n, ast.Expr)}
        name = path.relative_to(ROOT)
        for node in nodes:
            text = ""
            if isinstance(node, ast.JoinedStr):
                texts = (v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
                text = "".join(map(str, texts))
            elif isinstance(node, ast.Constant) and id(node) not in parts:
                text = node.value if isinstance(node.value, str) else ""
            if " " in text:
                found.append((f"{name}:{node.lineno}", text))
    return found


def verb_before(text: str, at: int) -> str:
    """The verb that an option in a text is of, as in `check --audio`; "" if none precedes it."""
    words = re.findall(r"[a-z-]+", text[:at])
    return next((word for word in words[-3:][::-1] if word in every_verb()), "")


def called(name: str) -> list[str]:
    """What a message may call by a name: the verb, `stage NAME`, or either."""
    return [name] * is_of_files(name) + [f"stage {name}"] * (name in STAGES)


def test_messages_were_found() -> None:
    texts = " ".join(text for _, text in messages())
    for option in ("--keys", "--allow-missing", "--by-strongest", "--distractors", "--confirm"):
        assert option in texts


@pytest.mark.parametrize("recipe", RECIPES)
def test_options_of_remedies_are_options_of_the_recipe(recipe: str) -> None:
    known = options(recipe)
    wrong = []
    for where, text in messages():
        for found in re.finditer(r"--[a-z][a-z0-9-]+", text):
            option, verb = found[0], verb_before(text, found.start())
            if text.startswith(f"{option}:") or text.startswith(f"{option} {{}}:"):
                continue  # about the option that was given
            of_verb = any(option in parser(key)._option_string_actions for key in called(verb))
            if not of_verb and option not in known and option not in OF_SOME:
                own = OF_MODULES.get(where.split(":")[0].removeprefix("privacy_eval/"), ())
                if not any(option in parser(key)._option_string_actions for key in own):
                    wrong.append(f"{where}: {option}: {text[:80]}")
    assert not wrong, "\n".join(wrong)


def test_stages_of_remedies_are_in_every_recipe() -> None:
    """The first ones, which not all have, are named only where the protocol was asked."""
    everywhere = set.intersection(*map(begun, RECIPES))
    assert everywhere == {0, *range(5, 12)}
    numbered = [
        (where, int(number))
        for where, text in messages()
        for numbers in re.findall(r"\bstages? ([0-9][0-9, and]*)", text)
        for number in re.findall(r"[0-9]+", numbers)
    ]
    assert len(numbered) > 5
    guarded = {"privacy_eval/cli/stage_runs.py", "privacy_eval/speech/trees/runs.py"}
    wrong = [
        (where, number)
        for where, number in numbered
        if number not in everywhere and where.split(":")[0] not in guarded
    ]
    assert not wrong
    for name in guarded:  # a condition on the protocol follows
        text = (ROOT / name).read_text()
        for found in re.finditer(r"stage 1 ", text):
            assert "has_own_scoring" in text[found.start() : found.start() + 120]


def test_options_that_some_recipes_lack_are_in_others() -> None:
    every = [options(recipe) for recipe in RECIPES]
    for option in OF_SOME:
        assert any(option in known for known in every)
        assert not all(option in known for known in every)
