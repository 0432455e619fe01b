"""What the tests of trees, records, tables and the command line share."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privacy_eval.cli import main
from privacy_eval.config import Config, config_from_dict, load_config
from privacy_eval.results import Results, import_results_txt, merge

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "data" / "golden" / "results"
REAL_TREE = ROOT.parent / "shared" / "real_tree"

B1, B2 = GOLDEN / "vpc2020_B1_RESULTS_baseline", GOLDEN / "vpc2020_B2_RESULTS_mcadams"
ANON, ORIG = GOLDEN / "vpc2022_results.anon_mcadams", GOLDEN / "vpc2022_results.orig_mcadams"
SUMMARY = GOLDEN / "vpc2022_RESULTS_summary_mcadams"

#: A name that means something to LaTeX, Markdown, a shell and a file system.
ODD_NAME = "50%_team & Co"


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str


def cli(*arguments: object) -> Run:
    """The command line, run in this process; an exception that it lets through is not caught."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Run(code, out.getvalue(), err.getvalue())


def command(*arguments: object, cwd: Path, **environment: str) -> Run:
    """The command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "privacy_eval", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def imported(*names: Path, config: str = "vpc2020", system: str = "B1") -> Results:
    """Golden files as results of one system; several are the plan's results folders."""
    plan = load_config(config)
    return merge(
        import_results_txt(
            path.read_text(), str(path), plan, system=system, results_folder=folder.suffix
        )
        for path, folder in zip(names, plan.results_folders, strict=False)
    )


def numbers_of(text: str) -> set[float]:
    """All numbers that a text holds."""
    return {float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)}


SPEAKERS = ("s1", "s2", "s3", "s4")


def utterances(speakers: Sequence[str] = SPEAKERS, each: int = 3) -> dict[str, str]:
    """Speaker of every utterance of a tiny set."""
    return {f"{s}-u{number}": s for s in speakers for number in range(each)}


def trial_lines(spoken: dict[str, str] | None = None) -> list[str]:
    """Every speaker against every utterance."""
    spoken = utterances() if spoken is None else spoken
    return [
        f"{enrolled} {utterance} {'target' if enrolled == speaker else 'nontarget'}"
        for enrolled in dict.fromkeys(spoken.values())
        for utterance, speaker in spoken.items()
    ]


def score_lines(name: str, trials: Iterable[str] | None = None) -> list[str]:
    """Scores for trials, other ones for every name."""
    generator = np.random.default_rng(zlib.crc32(os.fsencode(name)))
    lines = []
    for trial in trial_lines() if trials is None else trials:
        speaker, utterance, label = trial.split()
        lines.append(f"{speaker} {utterance} {generator.normal(2.0 * (label == 'target')):.5f}")
    return lines


def lines_to(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


class Tree:
    """A small experiment tree, put together by hand and not by the toolkit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def key(self, path: str) -> Path:
        """A trial key, with utt2spk beside it where it stands in `data/`."""
        if path.startswith("data/"):
            lines_to(
                (self.root / path).parent / "utt2spk", (f"{u} {s}" for u, s in utterances().items())
            )
        return lines_to(self.root / path, trial_lines())

    def keys(self, *trial_sets: str) -> None:
        for name in trial_sets:
            self.key(f"data/{name}/trials")

    def condition(self, results: str, enrollment: str, trial: str) -> Path:
        """A folder with scores; the score file."""
        name = f"ASV-{enrollment}-{trial}"
        return lines_to(self.root / results / name / "scores", score_lines(f"{results} {name}"))

    def libri(self, results: str, *, suffix: str = "_anon", gender: str = "f") -> list[Path]:
        """The three comparisons of one trial set: o-o, o-a, a-a."""
        enrollment, trial = "libri_dev_enrolls", f"libri_dev_trials_{gender}"
        return [
            self.condition(results, enrollment, trial),
            self.condition(results, enrollment, trial + suffix),
            self.condition(results, enrollment + suffix, trial + suffix),
        ]


def three_conditions(root: Path) -> Tree:
    """A checkout with the three comparisons of one trial set."""
    tree = Tree(root)
    tree.keys("libri_dev_trials_f", "libri_dev_trials_f_anon")
    tree.libri("exp/results-now")
    return tree


#: A plan that shares no name with the bundled ones.
OTHER_PLAN = """\
name: radio
title: Radio plays
variant: exact
anon_suffix: -hidden
splits: [eval]
genders: {m: male}
results_folders:
  - {suffix: "", asv_model: original}
data_sets:
  - id: plays
    title: Plays
    row: "plays {split}"
    enrollment: "{split}-cast"
    trials: "{split}-lines-{gender}"
    weight: 1
table_rows: [plays]
comparisons:
  - {enrollment: anonymized, trial: original}
  - {enrollment: original, trial: anonymized}
attack_models:
  - {id: odd, title: Odd, enrollment: anonymized, trial: original, asv_model: original}
recognition:
  data_sets: []
  language_models: {only: lm}
  models: {original: asr}
  average: only
average_attack_model: odd
"""


def changed_plan(**entries: object) -> Config:
    """vpc2020 with some entries replaced."""
    return config_from_dict({**load_config("vpc2020").to_dict(), **entries}, "plan")
