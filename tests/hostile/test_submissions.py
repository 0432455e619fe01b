"""Whole untrusted submissions through the command line.

Each case is a change of a tree, a verb, and how that must end. Single readers are tested with
damaged files in tests/io and test_readers.py.
"""

import csv
import gzip
import html
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import (
    BACKEND,
    ENROLLS,
    MODEL,
    ROOT,
    TRIALS,
    Run,
    SpeechTree,
    cli,
    executable,
    lines_to,
    ok,
    refused,
    run_program,
    snapshot,
    write,
)

from privacy_eval.io.files import digest

NAME = f"ASV-{ENROLLS}-{TRIALS}_anon"
SCORES = f"exp/results-anon/{NAME}/scores"
KEY = f"data/{TRIALS}_anon/trials"
SCP = f"{MODEL}/xvect_{TRIALS}_anon/xvector.scp"
ARK = SCP.replace(".scp", ".ark")
PLDA = f"{BACKEND}/plda"
RESULTS = "exp/privacy_eval/results.json"
RECORD = f"exp/privacy_eval/records/anon/{NAME}"

Change = Callable[[Path], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with scores, records and results."""
    tree = SpeechTree(tmp_path_factory.mktemp("made") / "tree")
    for verb in ("asv-scores", "similarity", "privacy-metrics", "collect"):
        ok(tree.run(verb))
    return tree.root


@pytest.fixture
def tree(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "tree"))


def run(verb: str, tree: Path, *more: object) -> Run:
    return cli("stage", verb, "--tree", tree, "--results", "exp", "--conf", "small.yaml", *more)


def line(path: str, number: int, text: str | bytes) -> Change:
    """Another line."""

    def change(tree: Path) -> None:
        lines = (tree / path).read_bytes().split(b"\n")
        lines[number - 1] = text.encode() if isinstance(text, str) else text
        (tree / path).write_bytes(b"\n".join(lines))

    return change


def content(path: str, make: Callable[[bytes], bytes]) -> Change:
    return lambda tree: (tree / path).write_bytes(make((tree / path).read_bytes()))


def linked(path: str, target: str) -> Change:
    """A link in place of a file."""

    def change(tree: Path) -> None:
        (tree / path).unlink()
        os.symlink(target, tree / path)

    return change


def columns(path: str, *order: int) -> Change:
    def swap(text: bytes) -> bytes:
        rows = [row.split() for row in text.splitlines()]
        return b"".join(b" ".join(row[n] for n in order) + b"\n" for row in rows)

    return content(path, swap)


def pipe(path: str) -> Change:
    def change(tree: Path) -> None:
        (tree / path).unlink()
        os.mkfifo(tree / path)

    return change


#: 1 GiB of zeros in 1 MB.
BOMB = gzip.compress(bytes(16 << 20)) * 64


#: Changes and messages: of evaluation, of scoring, and of any verb that reads the protocol.
EVALUATION: dict[str, tuple[Change, str]] = {
    "a look-alike speaker": (
        line(SCORES, 1, "\u04551 s1-u0 0.5"),
        r"1 score without a trial \(first at \S+scores:1\): '\u04551 s1-u0' \(\\u04551 s1-u0\)",
    ),
    "a combined letter": (
        line(SCORES, 1, "s1 s1-u\u0301 0.5"),
        r"without a trial .*: 's1 s1-u\u0301' \(s1 s1-u\\u0301\)",
    ),
    "scores in swapped columns": (
        columns(SCORES, 1, 0, 2),
        r"48 trials without a score .*\n.*48 scores without a trial",
    ),
    "the score first": (columns(SCORES, 2, 0, 1), r"scores:1: .*'s1-u0'"),
    "a key in swapped columns": (columns(KEY, 2, 0, 1), r"trials:1: .*'s1-u0'"),
    "a key of another set": (
        lambda tree: lines_to(tree / KEY, ["x1 x1-u1 target", "x1 x2-u1 nontarget"]),
        r"_anon/trials:1: trial 'x1 x1-u1' is missing in \S+_f/trials",
    ),
    "a key with exchanged labels": (
        content(KEY, lambda c: c.replace(b"nontarget", b"target", 1)),
        r"_anon/trials:4: trial 's1 s2-u0' has another label in \S+_f/trials",
    ),
    "two keys in one folder": (
        lambda tree: (tree / f"{KEY}.gz").write_bytes(gzip.compress(b"s1 s1-u0 nontarget\n")),
        r"trials\.gz:1: trial 's1 s1-u0' has another label in \S+_f/trials",
    ),
    "a hexadecimal score": (line(SCORES, 2, "s1 s1-u1 0x1p3"), r"scores:2: .*'0x1p3'"),
    "a score in Arabic digits": (line(SCORES, 2, "s1 s1-u1 \u0661"), "scores:2: .*'\u0661'"),
    "NUL": (line(SCORES, 3, b"s1 s1-u2\0 1"), r"scores:3: .*0x00"),
    "not UTF-8": (line(SCORES, 3, b"s1 s1-u\xe9 1"), r"scores:3: .*UTF-8"),
    "UTF-16 without a mark": (
        content(SCORES, lambda c: c.decode().encode("utf-16-le")),
        r"scores:1: .*0x00",
    ),
    "a line of 2 MB": (line(SCORES, 3, b"x " * (1 << 20)), r"scores:3: .*1048576"),
    "2 MB without a blank": (line(SCORES, 3, b"x" * (2 << 20)), r"scores:3: .*1048576"),
    "scores that are a bomb": (content(SCORES, lambda _: BOMB), r"scores: .*\d+ bytes"),
    "a key that is a bomb": (content(KEY, lambda _: BOMB), r"trials: .*\d+ bytes"),
    "scores that are a loop": (linked(SCORES, "scores"), rf"{NAME}.*scores"),
    "scores that never end": (linked(SCORES, "/dev/zero"), rf"{NAME}.*scores"),
    "scores that are a pipe": (pipe(SCORES), rf"{NAME}.*scores"),
    "scores twice": (
        lambda tree: (tree / f"{SCORES}.gz").write_bytes(gzip.compress(b"s1 s1-u0 9\n")),
        r"both scores and scores\.gz",
    ),
    "scores outside the tree": (linked(SCORES, "/etc/hostname"), r"scores.*--allow-outside"),
    "a key outside the tree": (linked(KEY, "/etc/hostname"), r"trials.*--allow-outside"),
}
SCORING: dict[str, tuple[Change, str]] = {
    "a command": (line(SCP, 1, "s1-u0 touch pwned; cat x |"), r"scp:1: s1-u0 .*--allow-pipes"),
    "a command that is fed": (line(SCP, 1, "s1-u0 | touch pwned"), r"scp:1: .*command"),
    "an archive outside the tree": (
        line(SCP, 1, "s1-u0 /etc/passwd:0"),
        r"scp:1: .*--allow-outside",
    ),
    "a path that leaves the tree": (
        line(SCP, 1, "s1-u0 ../../../../../../etc/passwd:0"),
        r"scp:1: .*(--allow-outside|no such file)",
    ),
    "an archive that is a link out": (linked(ARK, "/etc/hostname"), r"scp:1: .*--allow-outside"),
    "an archive that is a loop": (linked(ARK, "xvector.ark"), r"scp:1: .*link"),
    "a look-alike utterance": (
        content(SCP, lambda c: c.replace(b"s1-u0", "\u04551-u0".encode())),
        r"1 ids.*: s1-u0",
    ),
    "an archive that is cut": (content(ARK, lambda c: c[:-9]), r"scp:12: s4-u2 .*truncated"),
    "an archive that is a bomb": (
        lambda tree: (
            (tree / ARK).write_bytes(BOMB),
            lines_to(tree / SCP, [f"s1-u0 {ARK}:900000000"]),
        ),
        r"scp:1: s1-u0 ",
    ),
    "a back end that is cut": (content(PLDA, lambda c: c[:-40]), r"plda: psi: truncated"),
    "a back end of text that is cut": (
        content(PLDA, lambda _: b"<Plda>  [ 1 2 ]\n [\n 1 2\n"),
        r"plda: transform: ",
    ),
    "a back end with NaN": (
        content(PLDA, lambda c: c[:20] + b"\xff" * 8 + c[28:]),
        r"plda: mean: .*NaN",
    ),
    "a list with a no-break space": (
        content(f"data/{ENROLLS}/spk2utt", lambda c: c.replace(b" s1-e1", b"\xc2\xa0s1-e1")),
        r"2 utterances .*spk2utt: s1-e0, s1-e1",
    ),
}
PROTOCOL: dict[str, tuple[Change, str]] = {
    "merge keys that multiply": (
        lambda tree: (tree / "small.yaml").write_text(
            "a: &a {x: 1}\n"
            + "".join(
                f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 9)}]}}\n"
                for a, b in zip("abcdefghijklmno", "bcdefghijklmnop", strict=True)
            )
        ),
        r"small.yaml:2: .*merge keys",
    ),
    "a duplicate entry": (
        lambda tree: (tree / "small.yaml").open("a").write("splits: [test]\n"),
        r"small.yaml:\d+: .*'splits'",
    ),
    "a protocol that is too long": (
        lambda tree: (tree / "small.yaml").write_text("- x\n" * 100_000),
        r"small.yaml: larger than",
    ),
    "a number of many parts": (
        lambda tree: (tree / "small.yaml").open("a").write(f"title: 1:{'00:' * 200}00.0\n"),
        r"small.yaml:\d+: .*value",
    ),
    "an octal number": (
        lambda tree: (tree / "small.yaml").open("a").write("weight: 010\n"),
        r"small.yaml:\d+: .*'010'",
    ),
    "a sexagesimal number": (
        lambda tree: (tree / "small.yaml").open("a").write("weight: 1:30\n"),
        r"small.yaml:\d+: .*'1:30'",
    ),
}


REFUSED = {**EVALUATION, **SCORING, **PROTOCOL}


@pytest.mark.parametrize("name", REFUSED)
def test_untrusted_input_is_refused(name: str, tree: Path, tmp_path: Path) -> None:
    """Exit code 1, a located message, no traceback; other conditions are evaluated, and nothing
    is half written, run, or written elsewhere."""
    change, message = REFUSED[name]
    change(tree)
    if name in SCORING:
        for folder in (tree / "exp/results-anon").iterdir():
            shutil.rmtree(folder)
    done = run("asv-scores" if name in SCORING else "privacy-metrics", tree)
    assert done.code == 1, done.out
    assert re.search(message, done.err), done.err
    assert "Traceback" not in done.err
    assert all(c.isprintable() or c == "\n" for c in done.err)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tree"]
    assert not [p for p in tree.rglob("*") if p.name.endswith(".tmp") or p.name == "pwned"]
    if name in EVALUATION:
        assert "failed" in done.out.splitlines()[-1]
        others = {p.name for p in (tree / "exp/privacy_eval/records/anon").glob("ASV*.json")}
        assert len(others) == 3


def test_absolute_paths_as_kaldi_writes_them(tree: Path) -> None:
    """Within the tree they are read, outside with the option that the message names."""
    scores = tree / SCORES
    before = scores.read_bytes()
    scp = tree / SCP
    scp.write_text(scp.read_text().replace(f" {MODEL}", f" {tree}/{MODEL}"))
    scores.unlink()
    assert run("asv-scores", tree).code == 0
    assert scores.read_bytes() == before
    moved = tree.parent / "elsewhere"
    shutil.move(tree / MODEL, moved)
    shutil.copytree(moved, tree / MODEL)
    scp.write_text(scp.read_text().replace(f" {tree}/{MODEL}", f" {moved}"))
    scores.unlink()
    refused(run("asv-scores", tree), "--allow-outside")
    assert run("asv-scores", tree, "--allow-outside").code == 0
    assert scores.read_bytes() == before


def test_symlink_loops_terminate(tree: Path) -> None:
    for path, target in (
        ("exp/loop", ".."),
        ("exp/results-loop", "results-loop"),
        (f"exp/results-anon/ASV-{ENROLLS}-loop", "../results-anon"),
        ("data/loop", "../data"),
        (f"data/{TRIALS}_loop", f"{TRIALS}_loop"),
    ):
        os.symlink(target, tree / path)
    for verb in ("check", "subsets", "asv-scores", "similarity", "privacy-metrics", "collect"):
        done = run(verb, tree, "--system", "anon")
        assert "Traceback" not in done.err
        assert done.code == 0, done.err


def test_zebra_refuses_the_key_of_another_set(tree: Path) -> None:
    """Its message does not name an option that it does not have."""
    lines_to(tree / "key", ["x x1 target", "x x2 nontarget"])
    done = cli("zebra", "-s", tree / SCORES, "-k", tree / "key")
    assert done.code == 1
    assert f"{tree / 'key'}" in done.err and "--allow" not in done.err


# Untrusted results and curves


def replaced_curves(tree: Path, data: bytes) -> None:
    """Replace the curves of a record, digest and all."""
    path = tree / f"{RECORD}.npz"
    results = tree / RESULTS
    results.write_text(results.read_text().replace(digest(path.read_bytes()), digest(data)))
    path.write_bytes(data)


def figures(tree: Path) -> Run:
    results, out = tree / RESULTS, tree / "figures"
    drawn = ("--all-figures", "--format", "tex")
    return cli("figures", "--results", results, "--out", out, *drawn)


def changed_results(tree: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    results = tree / RESULTS
    plain = json.loads(results.read_text())
    change(plain)
    results.write_text(json.dumps(plain))
    return results


FORGED: dict[str, Callable[[dict[str, np.ndarray]], object]] = {
    "shorter": lambda a: a.update(ece_minimum=a["ece_minimum"][:-1]),
    "empty": lambda a: a.update(det_miss=a["det_miss"][:0], det_false_alarm=a["det_miss"][:0]),
    "a matrix": lambda a: a.update(det_miss=np.ones((3, 3))),
    "a number": lambda a: a.update(prior_log_odds=np.array(1.0)),
    "text": lambda a: a.update(density_target=np.array(["x"] * a["density_target"].size)),
    "complex": lambda a: a.update(density_target=a["density_target"] * 1j),
    "NaN": lambda a: a.update(linkability_edges=a["linkability_edges"] * np.nan),
    "too many edges": lambda a: a.update(linkability_edges=np.arange(9.0)),
}


@pytest.mark.parametrize("name", FORGED)
def test_arrays_of_invalid_form_are_refused(name: str, tree: Path) -> None:
    with np.load(tree / f"{RECORD}.npz") as stored:
        arrays = dict(stored)
    FORGED[name](arrays)
    file = io.BytesIO()
    np.savez(file, **arrays)
    replaced_curves(tree, file.getvalue())
    refused(figures(tree), f"{RECORD}.npz: ")


@pytest.mark.parametrize("data", [b"", b"PK", b"\x93NUMPY", b"\x80\x04N."])
def test_files_without_arrays_are_refused(data: bytes, tree: Path) -> None:
    replaced_curves(tree, data)
    refused(figures(tree), f"{RECORD}.npz: ", "damaged")


@pytest.mark.parametrize("where", ["/etc/hostname", "../../../etc/hostname", "x" * 5000])
def test_arrays_outside_the_results_are_not_read(where: str, tree: Path) -> None:
    """Not even to report that they differ."""
    changed_results(tree, lambda plain: plain["verification"][1].update(curves=where))
    done = ok(figures(tree))
    assert "of 1 record" in done.err


@pytest.mark.parametrize("verb", ["tables", "export", "figures"])
def test_half_of_a_surrogate_pair_is_refused(verb: str, tree: Path) -> None:
    results = tree / RESULTS
    results.write_text(results.read_text().replace('"system": "anon"', '"system": "\\ud800"'))
    done = figures(tree) if verb == "figures" else cli(verb, "--results", results)
    if verb == "export":
        done = cli(verb, results)
    assert (done.code, done.out) == (1, "")
    assert f"{results}: " in done.err and "surrogate" in done.err


def test_control_characters_of_texts_are_refused(tree: Path) -> None:
    """Those of a terminal, and of the direction of writing."""
    changes: tuple[Callable[[dict[str, Any]], object], ...] = (
        lambda plain: plain["protocol"].update(title="a\x1b[31mb"),
        lambda plain: plain["protocol"]["data_sets"][0].update(title="a\u202eb"),
        lambda plain: plain["verification"][0].update(remarks=["a\x1bb"]),
        lambda plain: plain["similarity"][0]["rows"][-1].update(speaker="a\x1bb"),
    )
    before = (tree / RESULTS).read_text()
    for change in changes:
        (tree / RESULTS).write_text(before)
        done = cli("tables", "--results", changed_results(tree, change))
        assert done.code == 1 and f"{tree / RESULTS}: " in done.err
        assert "has unprintable characters" in done.err, done.err


def test_closed_streams_do_not_end_a_run(tree: Path) -> None:
    """As of a job without a terminal: the work is done, and said where that is possible."""
    common = "--tree . --results exp --conf small.yaml"
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        shutil.rmtree(tree / "exp/privacy_eval")
        command = f"{sys.executable} -m privacy_eval stage privacy-metrics {common} {closed}"
        done = subprocess.run(command, shell=True, cwd=tree, capture_output=True, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
        assert (tree / f"{RECORD}.json").is_file()


def test_duplicate_conditions_of_a_file_are_refused(tree: Path) -> None:
    results = changed_results(tree, lambda p: p["verification"].append(p["verification"][0]))
    done = cli("tables", "--results", results)
    assert (done.code, done.out) == (1, "")
    assert re.search(r"results.json: anon ASV-\S+: .*libri, dev, f", done.err)


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": "x"},
        {"inputs": {"scores": "x"}},
        {"inputs": {"scores": {"path": 1, "sha256": []}}},
        {"model": {"sha256": {"plda": 1}}},
        {"imported_from": []},
        {"options": "x"},
        {"version": {"x": "\\input{x}<script>"}},
    ],
    ids=json.dumps,
)
def test_provenance_of_another_form_is_escaped(change: object, tree: Path) -> None:
    results = changed_results(tree, lambda p: p["verification"][0].update(provenance=change))
    ok(cli("report", "--results", results, "--out", tree / "report.html"))
    page = (tree / "report.html").read_text()
    assert "input{x}<script>" not in page
    assert page.count("<script>") == 1


def test_decompression_bombs_are_refused(tree: Path) -> None:
    """A bomb: 512 MiB of zeros in 2 MB; an array that declares a terabyte; a million elements
    without a byte."""
    zeros = npy_header((1 << 26,)) + bytes(512 << 20)
    for member in (zeros, npy_header((1 << 37,)), npy_header((10**6,), "<U0")):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("det_miss.npy", member)
        replaced_curves(tree, file.getvalue())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done = figures(tree)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 << 10
        assert done.code == 1
        assert f"{RECORD}.npz: " in done.err and "damaged" in done.err


def npy_header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    file = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


# Special files


@pytest.mark.parametrize(
    "path",
    [
        SCORES,
        KEY,
        f"data/{TRIALS}/trials",
        f"data/{TRIALS}/utt2spk",
        f"data/{ENROLLS}/spk2utt",
        f"data/{ENROLLS}/enrolls",
        SCP,
        ARK,
        PLDA,
        f"{BACKEND}/mean.vec",
        f"{RECORD}.json",
        f"{RECORD}.npz",
        RESULTS,
        "small.yaml",
        "exp/privacy_eval/log/privacy_metrics.1.log",
        "exp/results-anon/ASR-libri_dev_asr/WER",
    ],
)
def test_named_pipes_are_not_waited_for(path: str, tree: Path) -> None:
    """Wherever they are in a submission, every verb ends by itself."""
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).unlink(missing_ok=True)
    os.mkfifo(tree / path)

    def alarm(*_: object) -> None:
        raise TimeoutError(path)

    before = signal.signal(signal.SIGALRM, alarm)
    signal.alarm(60)
    try:
        verbs = ("check", "subsets", "asv-scores", "similarity", "privacy-metrics", "collect")
        ended = [run(verb, tree) for verb in verbs]
        ended.append(figures(tree))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert "Traceback" not in "".join(done.err for done in ended)
    if path in (SCORES, SCP, ARK, PLDA, RESULTS, "small.yaml"):
        named = "".join(done.err + done.out for done in ended)
        assert Path(path).name in named


@pytest.mark.parametrize("kind", ["garbage", "a pipe", "a folder"])
def test_matplotlibrc_of_the_current_folder_is_not_read(kind: str, tmp_path: Path) -> None:
    """Not by any verb that draws with matplotlib."""
    rc = tmp_path / "matplotlibrc"
    if kind == "garbage":
        rc.write_bytes(b"\xff\0 backend: x\nfont.size: 99\n")
    else:
        os.mkfifo(rc) if kind == "a pipe" else rc.mkdir()
    drawing = (
        "from privacy_eval.cli import main; main(['tables', '--published', 'vpc2020']);"
        "import privacy_eval.report.figures.drawing, matplotlib;"
        "assert matplotlib.rcParams['font.size'] != 99"
    )
    done = ok(run_program("timeout", 120, sys.executable, "-c", drawing, cwd=tmp_path))
    assert "matplotlibrc" not in done.err


# Names


ODD_NAMES = [
    "=cmd|' /C calc'!A0",
    "a;=cmd|x",
    "\uff1dcmd",
    "# B1",
    "| a | b |",
    "@SUM(1)",
    '"><img src=x onerror=alert(1)>',
    "${HOME}`id`$(id)",
    "\\immediate\\write18{touch pwned}%",
    "$\\frac{1}{0}$",
    "a_b^c#d~e&f{g}h",
    "a..b",
    "*?[x]",
    "-o pwned",
    "n" * 200,
    *("\\input{x}", "<script>", "$(touch pwned)", "-rf", "日本"),
]


def test_odd_names_are_escaped_in_every_output(tree: Path) -> None:
    """For a terminal, HTML, a shell, TeX, mathtext and a file system."""
    for name in ODD_NAMES:
        shutil.copytree(tree / "exp/results-anon", tree / "exp" / name / "results-anon")
    out = tree.parent / "out"
    for verb in ("privacy-metrics", "collect"):
        done = ok(run(verb, tree, "--out", out))
        assert all(c.isprintable() or c == "\n" for c in done.err)
    results = out / "results.json"
    systems = {record["system"] for record in json.loads(results.read_text())["verification"]}
    assert systems == {*ODD_NAMES, "anon"}
    for verb, *more in (
        ("tables", "--out", out / "tables"),
        ("figures", "--out", out / "figures", "--all-figures", "--format", "tex"),
        ("report", "--out", out / "report.html"),
    ):
        assert cli(verb, "--results", results, *more).code == 0
    written = snapshot(out)
    assert all(re.fullmatch(r"[A-Za-z0-9._+/-]+", path) for path in written)
    assert b"<img src=x" not in written["report.html"]
    latex = b"".join(text for path, text in written.items() if path.endswith(".tex"))
    assert not re.search(rb"\\immediate\\write18|\\input\{x\}", re.sub(rb"(?m)^%.*", b"", latex))
    if shutil.which("pdflatex"):
        script = ROOT / "scripts/compile_tables.sh"
        ok(run_program(script, out / "tables", cwd=tree))
    assert not list(tree.parent.rglob("pwned"))
    page = Text()
    page.feed(written["report.html"].decode())
    markdown = b"".join(text for path, text in written.items() if path.endswith(".md")).decode()
    assert "<script>" not in markdown.replace(r"\<", "")
    rows = csv.DictReader(io.StringIO(written["results.csv"].decode(), newline=""))
    in_csv = {row["system"] for row in rows}
    assert {name.replace("'", "") for name in in_csv} == {n.replace("'", "") for n in systems}
    assert not {name for name in in_csv if re.search("(^|;)[=@\uff1d]", name)}
    for name in systems:
        assert name in page.text
        assert name in html.unescape(re.sub(r"\\(.)", r"\1", markdown))
        imported = tree.parent / "imported.json"
        more = ("--conf", tree / "small.yaml", "--out", imported)
        assert cli("import", out / "results.txt", f"--system={name}", *more).code == 0
        exported = cli("export", imported, f"--system={name}").out
        written_out = cli("export", results, "--system", "anon").out
        # What is not available, and why, is not read back.
        lost = "(?m)^  (linkability: n/a|caveat: (?:Linkab|Another).*)\n"
        assert exported == re.sub(lost, "", written_out)


class Text(HTMLParser):
    """The text of a page, as a browser shows it."""

    text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


FORGING = "x\n# anon\nASV-libri_dev_enrolls-libri_dev_trials_f\n  EER: 50.00%"


def test_names_that_forge_sections_are_refused(tree: Path) -> None:
    """Of results.txt, which `import` reads; in folders, in results.json, as an option."""
    folder = tree / "exp" / FORGING.replace("/", "_")
    shutil.copytree(tree / "exp/results-anon", folder / "results-anon")
    for verb in ("check", "privacy-metrics", "collect"):  # it fails, and no other system
        done = run(verb, tree)
        assert done.code == 1
        # `check` prints the beginning of long messages, which name the folder first.
        name = "" if verb == "check" else r" anon\\nASV-"
        assert re.search(rf"the name 'x\\n#{name}", done.out + done.err), done
    assert run("collect", tree, "--allow-missing").code == 0
    systems = {r["system"] for r in json.loads((tree / RESULTS).read_text())["verification"]}
    assert systems == {"anon"}
    done = run("asv-scores", tree)
    assert "the name 'x\\n# anon" in done.err and "all have" not in done.err
    shutil.rmtree(folder)
    results = tree / RESULTS
    for key, value in (("system", FORGING), ("condition", FORGING)):
        plain = json.loads(results.read_text())
        plain["verification"][0][key] = value
        forged = write(tree / "forged.json", json.dumps(plain))
        for done in (cli("export", forged), cli("tables", "--results", forged)):
            assert (done.code, done.out) == (1, "")
            assert "the name 'x\\n# anon" in done.err
    more = ("--conf", tree / "small.yaml", "--out", tree / "imported.json")
    done = cli("import", tree / "exp/privacy_eval/results.txt", "--system", FORGING, *more)
    assert done.code == 1 and "the name" in done.err


def test_decodings_cannot_forge_sections(tree: Path) -> None:
    line = "%WER 5.25 [ 21 / 400, 1 ins, 0 del, 20 sub ] exp/x\x1b[2Jy/decode/wer_9"
    wer = lines_to(tree / "exp/results-anon/ASR-libri_dev_asr/WER", [line])
    refused(run("collect", tree), f"{wer}:1: the name")


def test_look_alike_names_are_warned_of(tree: Path) -> None:
    for name in ("B1", "\uff221"):
        shutil.copytree(tree / "exp/results-anon", tree / "exp" / name / "results-anon")
    assert "system names look alike: B1, \uff221" in run("privacy-metrics", tree).err
    (tree / "data/Libri_dev_enrolls").mkdir()
    checked = run("check", tree).out
    assert "systems B1, \uff221" in checked
    assert "data sets Libri_dev_enrolls, libri_dev_enrolls" in checked


# Sizes


def with_little_memory(tree: Path) -> Run:
    """The metrics of the scores within 768 MiB of memory, limited as grids do."""
    arguments = ["metrics", "--scores", f"{tree / SCORES}", "--trials", f"{tree / KEY}"]
    code = (
        f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({768 << 20},) * 2)\n"
        f"from privacy_eval.cli import main\nsys.exit(main({arguments!r}))"
    )
    return run_program(sys.executable, "-c", code, cwd=tree, OPENBLAS_NUM_THREADS="1")


def test_file_larger_than_memory(tree: Path) -> None:
    """A file of 1 TB that takes no space."""
    with open(tree / SCORES, "wb") as file:
        file.truncate(1 << 40)
    done = with_little_memory(tree)
    assert done.code == 1
    *warnings, error = done.err.splitlines()
    assert re.fullmatch(rf"privacy-eval: {tree / SCORES}: .*memory.*", error)
    assert all("GiB of memory are needed" in warning for warning in warnings)


def test_line_of_a_gigabyte(tree: Path) -> None:
    """Packed, as 1 MB; what it unpacks to is not kept."""
    (tree / SCORES).write_bytes(gzip.compress(b"x" * (16 << 20)) * 64)
    done = with_little_memory(tree)
    assert done.code == 1
    assert re.search(r"scores: .*\d+ bytes", done.err)


# Forged fingerprints of built files


EMPTY = {"revision": 1, "subject": {}, "options": {}, "inputs": {}}
NOTES: list[object] = [
    None,
    [],
    {},
    {"scores_sha256": 5},
    {"key": "scores", "files": 5},
    {**EMPTY, "inputs": {"trials": "x"}},
    {**EMPTY, "key": 1, "files": []},
    *(
        {**EMPTY, "key": key, "files": {"x" * 300: "", "/etc/hostname": "", "a\0b": ""}}
        for key in ("scores", "plda", TRIALS)
    ),
]


@pytest.mark.parametrize("note", NOTES, ids=lambda note: json.dumps(note)[:40])
def test_fingerprints_of_any_form(note: object, tree: Path) -> None:
    """Scores and folders beside a foreign fingerprint are kept."""
    assert run("subsets", tree).code == 0
    scores = tree / SCORES
    before = scores.read_bytes()
    notes = [*tree.rglob(".privacy_eval.json")]
    assert len(notes) == 4
    for path in (*notes, tree / f"data/{TRIALS}/.privacy_eval.json"):
        path.write_text(json.dumps(note))
    for verb in (
        "subsets",
        "train-backend",
        "asv-scores",
        "similarity",
        "privacy-metrics",
        "collect",
    ):
        ok(run(verb, tree))
    assert scores.read_bytes() == before


@pytest.fixture
def forged(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection one of whose submissions is named as the output folder, and brings records of
    all others with numbers of its choice, made by the toolkit itself on another machine."""
    for name in ("B1", "B2"):
        shutil.copytree(tree / "exp/results-anon", tree / "exp" / name / "results-anon")
    shutil.rmtree(tree / "exp/results-anon")
    shutil.rmtree(tree / "exp/privacy_eval")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs"))
        patch.setattr("privacy_eval.metrics.bengio_mariethoz_interval", lambda *_: (0.424242, 0.5))
        for verb in ("privacy-metrics", "similarity", "collect"):
            assert run(verb, tree).code == 0
    assert b"0.424242" in (tree / RESULTS).read_bytes()
    return tree


def test_forged_records_of_a_submission_are_ignored(forged: Path) -> None:
    """They are of the right form, version and inputs, and have digests of a key: another one."""
    refused(run("collect", forged), "6 records not counted")
    computed = run("privacy-metrics", forged)
    assert computed.code == 0 and computed.err.count("6 records not counted") == 1
    assert run("similarity", forged).code == 0
    collected = run("collect", forged)
    assert collected.code == 0 and "not counted" not in collected.err
    assert b"0.424242" not in (forged / RESULTS).read_bytes()
    assert "not counted" not in run("privacy-metrics", forged).err


def test_edited_records_are_counted_and_recomputed(forged: Path) -> None:
    for verb in ("privacy-metrics", "similarity", "collect"):
        assert run(verb, forged).code == 0
    record = next((forged / RESULTS).parent.rglob("records/**/ASV-*.json"))
    record.write_text(record.read_text().replace('"value": 0.', '"value": 0.4', 1))
    again = run("privacy-metrics", forged)
    assert "1 record not counted" in again.err and "(1 new)" in again.out


def test_results_of_another_user_are_shown_with_a_warning(forged: Path) -> None:
    options = ("--tree", "--results", "--conf", "--stage")
    values = (forged, "exp", "./small.yaml", 9)
    lines = (f"{name}={value}" for name, value in zip(options, values, strict=True))
    config = lines_to(forged.with_name("options.conf"), lines)
    shown = cli("check-options", config)
    assert shown.code == 0 and "results.json was not made by this user" in shown.err
    for verb in ("privacy-metrics", "similarity", "collect"):
        assert run(verb, forged).code == 0
    assert cli("check-options", config).err == ""


@pytest.mark.parametrize("provenance", [{}, {"inputs": []}, {"inputs": {"scores": 1}}])
@pytest.mark.parametrize("name", [NAME, f"similarity-{TRIALS}"])
def test_records_of_another_provenance_are_rebuilt(
    name: str, provenance: object, tree: Path
) -> None:
    path = tree / f"exp/privacy_eval/records/anon/{name}.json"
    plain = {**json.loads(path.read_text()), "provenance": provenance}
    before = path.read_bytes()
    path.write_text(json.dumps(plain))
    assert run("collect", tree).code == 1
    for verb in ("privacy-metrics", "similarity", "collect"):
        assert run(verb, tree).code == 0
    assert path.read_bytes() == before


# Jobs that are killed at one file

KILLED = """#!{python}
import os, signal, sys
from privacy_eval.io import scores
read = scores.read_scores
def killed(path, **options):
    if str(path).endswith("{file}"):
        os.kill(os.getpid(), signal.SIGKILL)
    return read(path, **options)
scores.read_scores = killed
from privacy_eval.cli import main
sys.exit(main())
"""


def test_killed_job_fails_only_its_condition(tree: Path, tmp_path: Path) -> None:
    """As one that needs more memory than there is: its condition fails by name, all others are
    evaluated, also those of the same job split."""
    file = f"B1/results-anon/{NAME}/scores"
    for name in ("B1", "B2"):
        shutil.copytree(tree / "exp/results-anon", tree / "exp" / name / "results-anon")
    shutil.rmtree(tree / "exp/results-anon")
    command = executable(
        tmp_path / "bin/privacy-eval", KILLED.format(python=sys.executable, file=file)
    )
    jobs = ("--cmd", "run_jobs.sh", "--nj", 2, "--log-dir", tmp_path / "log")
    stage = ("--tree", tree, "--results", "exp", "--conf", "small.yaml", "--out", "out")
    path = f"{command.parent}:{ROOT / 'scripts'}:{os.environ['PATH']}"
    done = run_program(command, "stage", "privacy-metrics", *jobs, *stage, cwd=tree, PATH=path)
    assert done.code == 1
    assert re.search(rf"(?m)^B1 {NAME}: killed by signal 9", done.err)
    records = {p.relative_to(tree / "out/records") for p in tree.glob("out/records/*/A*.json")}
    assert len(records) == 5 and Path(f"B1/{NAME}.json") not in records
    begun = [re.findall("next: (.*)", log.read_text()) for log in (tmp_path / "log").iterdir()]
    assert f"B1 {NAME}" in [names[-1] for names in begun]  # named before it begins
    assert run("collect", tree, "--out", "out").code == 1
    assert run("collect", tree, "--out", "out", "--allow-missing").code == 0
    results = json.loads((tree / "out/results.json").read_text())
    assert len(results["verification"]) == 5
