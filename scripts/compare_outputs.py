#!/usr/bin/env python3
"""Show that a change of the code changes no number, table, note or figure.

    compare_outputs.py run OUT --shared DIR     run everything with this checkout
    compare_outputs.py compare OLD NEW          exit 1 if two such runs differ

`run` evaluates the demo (also with groups, amounts and attributes), published results, a metric
study, a listening test and single files; with the folder of golden trees (`--shared`) also these,
and real speech. `compare` reads values of results.csv, what verbs print of single files, tables in
LaTeX (lines as sets), captions of figures, figures, and the words of reports.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Groups of speakers of the demo's libri data sets, and amounts of speech.
CONF = "extends: vpc2020\nname: compared\ngroups: ['data/g.csv:accent']\nsentences: [1, 2, 5]\n"


def run(out: Path, shared: Path | None) -> None:
    """Run every kind of evaluation; a run that is there is kept."""
    env = os.environ | {
        "PYTHONPATH": str(ROOT),
        "SOURCE_DATE_EPOCH": "1700000000",
        "XDG_STATE_HOME": str(out / "state"),
    }
    out.mkdir(parents=True, exist_ok=True)

    def call(name: str, *words: object, folder: Path = out) -> None:
        log = out / f"{name}.log"
        if log.exists():
            return
        print(name, flush=True)
        with open(log, "w") as file:
            done = subprocess.run(
                [*map(str, words)], cwd=folder, env=env, stdout=file, stderr=subprocess.STDOUT
            )
        if done.returncode:
            log.rename(f"{log}.failed")
            print(f"{name}: exit {done.returncode}, see {log}.failed", file=sys.stderr)

    recipe, demo = ROOT / "recipes", out / "demo"
    call("demo", recipe / "demo/run.sh", "--dir", demo, "--bootstrap", 100)
    vpc2020, vpc2024 = recipe / "vpc2020/run.sh", recipe / "vpc2024/run.sh"
    files = "--published vpc2020 --all-figures true --conventional true --table-style challenge"
    files += " --by-strongest true --shown-variant exact --stage 9"
    shutil.copytree(demo / "results", demo / "results_files", dirs_exist_ok=True)
    call("files", vpc2020, "--tree", demo, "--out", "results_files", *files.split())
    speakers = sorted({line.split()[1] for line in _lines(demo.glob("data/*/utt2spk"))})
    accents = (f"{s},{('irish', 'welsh', 'none')[n % 3]}" for n, s in enumerate(speakers))
    (demo / "data/g.csv").write_text("\n".join(["speaker,accent", *accents]) + "\n")
    (demo / "compared.yaml").write_text(CONF)
    more = "--attribute gender --statement true --bootstrap 50 --attackers all --out results_more"
    call("more", vpc2020, "--tree", demo, "--conf", "compared.yaml", *more.split())
    for name in ("vpc2020", "vpc2022", "vpc2024"):
        tables = ("privacy-eval", "tables", "--published", name, "--conf", name)
        call(f"published_{name}", *tables, "--out", out / f"published_{name}/tables")
        report = ("privacy-eval", "report", "--published", name, "--conf", name)
        call(f"report_{name}", *report, "--out", out / f"published_{name}/report.html")
    study = out / "study.yaml"
    study.write_text(_small_study((ROOT / "conf/metric_study.yaml").read_text()))
    call("study", recipe / "metric_study/run.sh", "--dir", out / "study", "--conf", study)
    call("single", sys.executable, __file__, "single", demo, out / "single")
    if shared is not None:
        for tree, conf, script in (
            ("real_tree", "vpc2020", vpc2020),
            ("editions/golden/tree2024", "vpc2024", vpc2024),
            ("editions/golden/tree2026", "vpc2026_track1", vpc2024),
        ):
            copy = out / Path(tree).name
            if not copy.exists():
                shutil.copytree(shared / tree, copy)
            options = ("--conf", conf, "--bootstrap", 100, "--published", conf)
            call(copy.name, script, "--tree", copy, *options)
        speech = shared / "models/speech/LibriSpeech"
        words = ("--speech", speech / "test-other", "--training", speech / "train-clean-100")
        off = "--encoders ge2e --quality false --phones false --nj 2".split()
        dirs = ("--dir", out / "real_speech")
        call("real_speech", recipe / "real_speech/run.sh", *words, *dirs, *off)


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from path.read_text().splitlines()


def _small_study(text: str) -> str:
    """Shorten a study: a tenth of the replicates, but 2 at least."""
    return re.sub(r"(replicates: *)(\d+)", lambda m: m[1] + str(max(2, int(m[2]) // 10)), text)


def single(tree: Path, out: Path) -> None:
    """Run the verbs on single files of a demo tree, as JSON and as text."""
    out.mkdir(parents=True, exist_ok=True)
    data, exp = tree / "data", tree / "exp"
    name = "ASV-libri_test_enrolls-libri_test_trials_f"
    scores = next(path for path in sorted(exp.glob(f"**/{name}/scores")))
    vectors = next(exp.glob("models/*/xvect_*"))
    enroll, trial, anonymized = (
        vectors / f"xvect_libri_test_{which}/xvector.scp"
        for which in ("enrolls", "trials_f", "trials_f_B2")
    )
    key, spk2utt = data / "libri_test_trials_f", data / "libri_test_enrolls/spk2utt"
    utt2spk, text = key / "utt2spk", key / "text"
    hypothesis = out / "hypothesis"
    lines = text.read_text().splitlines()
    hypothesis.write_text("".join(f"{' '.join(w.split()[:-1] or w.split())}\n" for w in lines))
    both = f"--enroll-vectors {enroll} --spk2utt {spk2utt} --trial-vectors {trial}"
    commands = {
        "metrics": f"metrics --scores {scores} --trials {key}/trials --utt2spk {utt2spk} "
        "--bootstrap 100",
        "identification": f"identification {both} --utt2spk {utt2spk} --bootstrap 50 "
        "--backend cosine --sentences 1,2,3",
        "similarity": f"similarity --original {trial} --anonymized {anonymized} "
        f"--utt2spk {utt2spk} --backend cosine",
        "attributes": f"attributes --vectors {trial} --anon-vectors {anonymized} "
        f"--utt2spk {utt2spk} --labels {data}/g.csv:accent --bootstrap 50",
        "wer": f"wer --reference {text} --hypothesis {hypothesis} --utt2spk {utt2spk} "
        "--bootstrap 50",
        "zebra": f"zebra --scores {scores} --trials {key}/trials",
        "selftest": "selftest",
        "check": f"stage check --tree {tree} --results exp",
    }
    for verb, command in commands.items():
        for form in ("json", "text"):
            words = ["privacy-eval", *command.split()]
            words += ["--format", form] if verb != "zebra" else []
            done = subprocess.run(words, capture_output=True, text=True)
            shown = f"{done.stdout}\n{done.stderr}\nexit {done.returncode}\n"
            (out / f"{verb}.{form}").write_text(shown)


class _Words(html.parser.HTMLParser):
    """Texts of a page, and the shapes of its pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._skip = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skip += tag in ("style", "script")
        shape = {k: v for k, v in attrs if k in ("d", "points", "x", "y", "cx", "cy", "x1", "y2")}
        if shape and tag in ("path", "circle", "rect", "line", "polyline", "polygon"):
            self.found.append(f"{tag} {sorted(shape.items())}")

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self._skip and data.strip():
            self.found.append(" ".join(data.split()))


#: What differs between two runs of the same code: folders, times, versions of files.
_VOLATILE = re.compile(r"[0-9a-f]{64}|/\S*/(?=demo|study|real_|tree20)|\d+(\.\d+)? (s|min|MiB)\b")


def _page(path: Path) -> Counter[str]:
    parser = _Words()
    parser.feed(path.read_text())
    return Counter(_VOLATILE.sub("~", text) for text in parser.found)


def _csv(path: Path) -> Counter[str]:
    """Return the values with what they are of, in the names of either form of results.csv."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return Counter(
        " ".join(
            (
                *(row[k] for k in ("system", "results_folder", "name", "attacker", "variant")),
                row["value"],
                row.get("low", row.get("low_95", "")),
                row.get("high", row.get("high_95", "")),
                row.get("caveats", row.get("caveat", "")),
            )
        )
        for row in rows
    )


def _text(path: Path) -> Counter[str]:
    return Counter(_VOLATILE.sub("~", line) for line in path.read_text().splitlines())


def _json(path: Path) -> str:
    return _VOLATILE.sub("~", json.dumps(json.loads(path.read_text()), sort_keys=True, indent=1))


def _bytes(path: Path) -> int:
    return hash(path.read_bytes())


READERS: dict[str, Callable[[Path], object]] = {
    "results.csv": _csv,
    "*.csv": _text,
    "*.html": _page,
    "captions.json": _json,
    "*.png": _bytes,
    "results*.txt": _text,
    "*.tex": _text,
    "single/*": _text,
}


def compare(old: Path, new: Path) -> int:
    """Print what differs; return the number of files that do."""
    differ = 0
    seen = set()
    for pattern, reader in READERS.items():
        for path in sorted({p.relative_to(at) for at in (old, new) for p in at.rglob(pattern)}):
            # Tables are compared in LaTeX, which all versions write.
            of_tables = "tables" in path.parts and path.suffix != ".tex"
            if path in seen or of_tables or {"data", "state"} & {*path.parts}:
                continue
            seen.add(path)
            one, two = old / path, new / path
            if not one.is_file() or not two.is_file():
                if one.is_file() != two.is_file():
                    differ += 1
                    print(f"only in {'old' if one.is_file() else 'new'}: {path}")
                continue
            first, second = reader(one), reader(two)
            if first != second:
                differ += 1
                print(f"== {path}")
                for line in list(_differences(first, second))[:12]:
                    print("  ", line[:300])
    print(f"{len(seen)} files compared, {differ} differ")
    return differ


def _differences(one: object, two: object) -> Iterator[str]:
    if isinstance(one, Counter) and isinstance(two, Counter):
        yield from (f"- {n} x {text}" for text, n in (one - two).items())
        yield from (f"+ {n} x {text}" for text, n in (two - one).items())
    elif isinstance(one, tuple) and isinstance(two, tuple):
        for a, b in zip(one, two, strict=True):
            yield from _differences(a, b)
    elif isinstance(one, list) and isinstance(two, list):
        lines = difflib.unified_diff(one, two, lineterm="", n=0)
        yield from (line for line in lines if not line.startswith(("---", "+++", "@@")))
    elif one != two:
        yield "differs"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=["run", "single", "compare"])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--shared", type=Path)
    arguments = parser.parse_args()
    first, *others = (folder.resolve() for folder in arguments.folders)
    if arguments.what == "compare":
        return int(compare(first, others[0]) > 0)
    if arguments.what == "single":
        single(first, others[0])
    else:
        run(first, arguments.shared and arguments.shared.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
