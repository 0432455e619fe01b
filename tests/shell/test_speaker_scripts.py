"""Scripts from speech to scores: splits into parallel jobs, and x-vectors with stand-ins for
Kaldi's scripts."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support import (
    ENROLLS,
    MODEL,
    ROOT,
    TRIALS,
    Run,
    SpeechTree,
    executable,
    interruptible,
    lines_to,
    ok,
    refused,
    run_program,
    snapshot,
    times,
    until,
    utterances_of,
    vectors_for,
)

from privacy_eval.io.vectors import write_vectors

XVECTORS, SPLIT = ROOT / "local/kaldi_xvectors.sh", ROOT / "scripts/split_jobs.sh"
#: Our own commands first.
SEARCH = f"{ROOT / 'scripts'}:{ROOT / '.venv/bin'}:{os.environ['PATH']}"

# --- job splits


class Splits:
    """A stand-in for privacy-eval that logs its arguments and goes on with a shell text."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls_file = folder / "calls"
        self.environment = {"PATH": f"{folder / 'bin'}:{SEARCH}", "CALLS": str(self.calls_file)}

    def run(self, text: str, *options: object, more: tuple[str, ...] = ()) -> Run:
        self.command(text)
        options = ("JOB-x", "--log-dir", self.folder / "a JOB & JOB_N", *options, "--", *more)
        return run_program(SPLIT, *options, cwd=self.folder, **self.environment)

    def command(self, text: str) -> None:
        executable(
            self.folder / "bin/privacy-eval",
            f'#!/bin/bash\nprintf "<%s>" "$@"; echo "$*" >>"$CALLS"\n{text}\n',
        )

    def calls(self) -> list[str]:
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []


@pytest.fixture
def splits(tmp_path: Path) -> Splits:
    return Splits(tmp_path)


def test_splits_cover_everything_whatever_things_are_called(splits: Splits) -> None:
    run = splits.run("", "--nj", 3, more=("--tree", "my JOB"))
    assert (run.code, run.out) == (0, ""), run.err
    logs = {
        p.name: p.read_text().splitlines()[3] for p in (splits.folder / "a JOB & JOB_N").iterdir()
    }
    assert logs == {f"JOB_x.{n}.log": f"<JOB-x><--tree><my JOB><--job><{n}/3>" for n in (1, 2, 3)}


def test_failed_split_is_reported(splits: Splits) -> None:
    run = splits.run('echo broken; [ "$3" != 2/2 ] || exit 3', "--nj", 2)
    assert run.code == 3 and "1 of 2 jobs failed" in run.err and "broken" in run.err


def test_what_the_stage_says_again_is_not_said_of_its_jobs(splits: Splits) -> None:
    run = splits.run('echo broken; [ "$3" != 2/2 ]', "--nj", 2)
    assert (run.code, run.out, run.err) == (1, "", "")


@pytest.mark.parametrize(("how", "code"), [("exit 1", 1), ("exit 3", 3), ("kill -9 $$", 4)])
def test_exit_code_tells_how_the_worst_split_ended(how: str, code: int, splits: Splits) -> None:
    run = splits.run(f'if [ "$3" = 1/2 ]; then {how}; fi', "--nj", 2)
    assert run.code == code and ("1 of 2 jobs failed" in run.err) == (code > 1)
    assert {"JOB-x --job 1/2", "JOB-x --job 2/2"} == set(splits.calls())


@pytest.mark.parametrize("arguments", [[], ["verb"], ["--log-dir", "x"], ["verb", "--nope", "x"]])
def test_bad_usage_of_splits(arguments: list[str], tmp_path: Path) -> None:
    assert run_program(SPLIT, *arguments, cwd=tmp_path).code == 2


def test_interrupt_of_the_jobs_ends_the_stage(tmp_path: Path) -> None:
    """It is no failure of a job, after which the stage would go on by itself."""
    tree = SpeechTree(tmp_path / "tree")
    runner = executable(tmp_path / "runner", '#!/bin/bash\necho "$@" >>"$CALLS"\nsleep 600\n')
    options = ["--tree", tree.root, "--results", "exp", "--conf", "small.yaml", "--cmd", runner]
    calls = tmp_path / "calls"
    process = subprocess.Popen(
        [sys.executable, "-m", "privacy_eval", "stage", "asv-scores", *map(str, options)],
        env={**os.environ, "PATH": SEARCH, "CALLS": str(calls)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    assert until(calls.exists)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode in (130, -signal.SIGINT), err
    assert b"Traceback" not in err and not any(p.exists() for p in tree.all_scores.values())


# --- x-vectors

#: What the stand-ins do: note the call, fail where they are told to.
COMMON = """#!/bin/bash
set -eu
echo "${0##*/}" >>"$CALLS"
[ -e steps ] && [ -e utils ] && [ -e sid ]  # called from a folder that has Kaldi's links
[ "$LC_ALL" = C ]
if [ "${FAILING-}" = "${0##*/}" ]; then echo "broken ${0##*/}" >&2; exit 1; fi
"""
OPTIONS = """while [ "${1#--}" != "$1" ]; do declare "${1//-/_}=$2"; shift 2; done
"""
STUBS = {
    "egs/wsj/s5/steps/make_mfcc.sh": COMMON
    + OPTIONS
    + """
grep -q sample-frequency "$__mfcc_config"
[ "$__write_utt2num_frames" = true ]
[ "$__nj" -le 4 ]
[ -x "${__cmd%% *}" ]
echo "${__cmd#"$KALDI_ROOT/egs/wsj/s5/utils/parallel/"}" >>"$CALLS.runners"
while read -r utterance wav; do
    [ -f "$wav" ]  # paths that start in the tree
    echo "$utterance $3/raw.ark:1"
done <"$1/wav.scp" >"$1/feats.scp"
""",
    "egs/wsj/s5/utils/fix_data_dir.sh": COMMON + '[ -f "$1/feats.scp" ]\n',
    "egs/sre08/v1/sid/compute_vad_decision.sh": COMMON
    + OPTIONS
    + 'grep -q vad "$__vad_config"\ncp "$1/feats.scp" "$1/vad.scp"\n',
    "egs/sre08/v1/sid/nnet3/xvector/extract_xvectors.sh": COMMON
    + OPTIONS
    + """
[ -f "$1/final.raw" ] && [ -f "$2/vad.scp" ]
mkdir -p "$3/log"
# With the full paths of where it was told to write, as Kaldi does.
speech=$ARCHIVES/$(cat "$2/name")
cp "$speech.ark" "$3/xvector.ark"
sed "s|[^ ]*\\.ark:|$3/xvector.ark:|" "$speech.scp" >"$3/xvector.scp"
if [ "${FAILING-}" = late ]; then exit 1; fi
""",
    "egs/wsj/s5/utils/parallel/run.pl": "#!/bin/bash\nexit 1\n",
    "egs/wsj/s5/utils/parallel/slurm.pl": "#!/bin/bash\nexit 1\n",
    "tools/config/common_path.sh": "true\n",
}


class Kaldi:
    """A tree whose speech has no x-vectors yet, and stand-ins for Kaldi's scripts."""

    def __init__(self, folder: Path, venv: Path) -> None:
        self.venv = venv
        self.tree = SpeechTree(folder / "tree")
        self.root = self.tree.root
        self.kaldi = folder / "kaldi"
        for name, text in STUBS.items():
            executable(self.kaldi / name, text)
        self.calls = folder / "calls"
        self.calls.write_text("")
        self.archives = folder / "archives"
        lines_to(self.root / "conf/mfcc.conf", ["--sample-frequency=16000"])
        lines_to(self.root / "conf/vad.conf", ["--vad-energy-threshold=5.5"])
        lines_to(self.root / MODEL / "final.raw", ["a network"])
        lines_to(self.root / "path.sh", ["exit 1  # the tree's own, for another Kaldi"])
        self.wav = lines_to(self.root / "wavs/speech.wav", ["RIFF"])
        self.expected = snapshot(self.root)
        for mark in ("", "_anon"):
            for name in (ENROLLS + mark, TRIALS + mark):
                self.speech(name, vectors_for(name, utterances_of(name)))
                shutil.rmtree(self.tree.scp(name).parent)
                data = self.root / "data" / name
                lines_to(data / "wav.scp", (f"{u} wavs/speech.wav" for u in utterances_of(name)))
                (data / "name").write_text(name)
                lines_to(data / "spk2utt", ["s1 u", "s2 u", "s3 u", "s4 u"])
                if "enrolls" in name:
                    self.tree.enrollment(name)

    def speech(self, name: str, vectors: np.ndarray, of: str | None = None) -> None:
        """What the extractor makes of some speech."""
        ids = list(utterances_of(of or name))
        write_vectors(self.archives / f"{name}.scp", ids, vectors, tree=self.root)

    def environment(self, failing: str = "") -> dict[str, str]:
        return {
            "PATH": SEARCH,
            "KALDI_ROOT": str(self.kaldi),
            "CALLS": str(self.calls),
            "FAILING": failing,
            "ARCHIVES": str(self.archives),
        }

    def extract(
        self, *more: object, failing: str = "", tree: Path | None = None, **environment: str
    ) -> Run:
        options = ("--set", TRIALS, "--model", MODEL, "--tree", tree or self.root, *more)
        environment = {**self.environment(failing), **environment}
        return run_program(XVECTORS, *options, cwd=self.root.parent, **environment)

    def recipe(
        self, *, nj: int = 1, extractor: str = "kaldi", failing: str = "", **environment: str
    ) -> Run:
        return run_program(
            ROOT / "recipes/vpc2020/run.sh",
            *("--stage", 5, "--stop-stage", 5, "--tree", self.root, "--conf", "./small.yaml"),
            *("--nj", nj, "--extractor", extractor),
            cwd=self.root.parent,
            **{**self.environment(failing), "VIRTUAL_ENV": str(self.venv), **environment},
        )

    def called(self) -> list[str]:
        return self.calls.read_text().split()


@pytest.fixture(name="kaldi")
def _kaldi(tmp_path: Path, preloaded_venv: Path) -> Kaldi:
    return Kaldi(tmp_path, preloaded_venv)


ONE_SET = [
    *("make_mfcc.sh", "fix_data_dir.sh", "compute_vad_decision.sh", "fix_data_dir.sh"),
    "extract_xvectors.sh",
]


def test_x_vectors_of_one_set(kaldi: Kaldi) -> None:
    data = snapshot(kaldi.root / "data")
    run = ok(kaldi.extract("--nj", 9, tree=Path(kaldi.root.name)))
    assert f"x-vectors of {TRIALS} -> " in run.err
    assert kaldi.called() == ONE_SET
    assert snapshot(kaldi.root / "data") == data
    scp = kaldi.tree.scp(TRIALS)
    assert all(f" {MODEL}/xvect_{TRIALS}/xvector.ark:" in x for x in scp.read_text().splitlines())
    assert kaldi.expected[f"{MODEL}/xvect_{TRIALS}/xvector.scp"] == scp.read_bytes()
    assert [p.name for p in (kaldi.root / MODEL).glob(".*")] == []


@pytest.mark.parametrize(
    ("cmd", "used"),
    [
        ("run_jobs.sh --max-jobs-run 2", "run.pl"),
        ("slurm.sh", "slurm.pl"),
        ("slurm.sh --mem 4G --retries 2 --time 1:00:00", "slurm.pl --mem 4G --time 1:00:00"),
        (f"{ROOT}/scripts/slurm.sh --retries=0 --mem 4G", "slurm.pl --mem 4G"),
        ("/bin/true --mem 4G", "/bin/true --mem 4G"),
    ],
)
def test_kaldis_scripts_have_kaldis_runners(kaldi: Kaldi, cmd: str, used: str) -> None:
    assert kaldi.extract("--cmd", cmd).code == 0
    assert Path(f"{kaldi.calls}.runners").read_text() == f"{used}\n"


@pytest.mark.parametrize(
    "failing", ["make_mfcc.sh", "fix_data_dir.sh", "extract_xvectors.sh", "late"]
)
@pytest.mark.parametrize("before", [False, True])
def test_a_failing_script_leaves_nothing_half_written(
    kaldi: Kaldi, failing: str, before: bool
) -> None:
    if before:
        assert kaldi.extract().code == 0
    files = snapshot(kaldi.root)
    temporary = kaldi.root.parent / "tmp"
    temporary.mkdir()
    run = kaldi.extract(failing=failing, TMPDIR=str(temporary))
    assert run.code == 1
    if failing != "late":
        assert f"broken {failing}" in run.err
    assert snapshot(kaldi.root) == files
    assert list(temporary.iterdir()) == []


def test_what_is_needed_to_extract_is_named(kaldi: Kaldi) -> None:
    for path, message in (
        (kaldi.root / MODEL / "final.raw", f"{MODEL}/final.raw: no such file, needed to extract"),
        (kaldi.root / "conf/vad.conf", "conf/vad.conf: no such file, needed to extract"),
        (kaldi.kaldi / "egs/sre08", "sid: no such folder; is KALDI_ROOT a Kaldi installation?"),
    ):
        path.rename(path.with_name("away"))
        run = kaldi.extract()
        path.with_name("away").rename(path)
        assert run.code == 1
        assert message in run.err
    assert kaldi.called() == []
    assert run_program(XVECTORS, "--set", TRIALS, cwd=kaldi.root).code == 2
    run = kaldi.extract(KALDI_ROOT="")
    assert run.code != 0
    assert "KALDI_ROOT must name a Kaldi installation" in run.err


def test_blanks_in_a_path_are_refused(kaldi: Kaldi) -> None:
    blank = kaldi.root.with_name("a tree")
    kaldi.root.rename(blank)
    refused(kaldi.extract(tree=blank), "Kaldi's scripts need paths without blanks")


def test_stage_5_extracts_what_is_missing_and_scores(kaldi: Kaldi) -> None:
    run = ok(kaldi.recipe(nj=2))
    assert kaldi.called() == ONE_SET * 4
    assert "score files: 3 up to date (3 new)" in run.out
    assert all(p.is_file() for p in kaldi.tree.all_scores.values())
    now = snapshot(kaldi.root)
    vectors = {n: c for n, c in kaldi.expected.items() if n.startswith(f"{MODEL}/xvect_")}
    assert {n: now[n] for n in vectors} == vectors
    before = times([kaldi.tree.all_scores["oo"]])
    # Vectors that are taken away are made again, of other speech other scores.
    shutil.rmtree(kaldi.tree.scp(f"{TRIALS}_anon").parent)
    other = vectors_for("other", utterances_of(TRIALS))
    kaldi.speech("other", other, of=TRIALS)
    (kaldi.root / f"data/{TRIALS}_anon/name").write_text("other")
    run = ok(kaldi.recipe())
    assert kaldi.called() == ONE_SET * 5
    assert "score files: 3 up to date (2 new)" in run.out
    log = (kaldi.root / "exp/privacy_eval/log/asv_scores.1.log").read_text()
    assert "score files: 3 up to date (2 new)" in log
    assert times(before) == before


def test_stage_5_ends_where_extraction_fails(kaldi: Kaldi) -> None:
    refused(kaldi.recipe(failing="compute_vad_decision.sh"), "broken compute_vad_decision.sh")
    assert not list(kaldi.root.rglob("scores"))
    assert not list((kaldi.root / MODEL).glob("*xvect_libri*"))


def test_stage_5_without_kaldi_says_what_to_provide(kaldi: Kaldi) -> None:
    (kaldi.root / MODEL / "final.raw").unlink()
    run = kaldi.recipe(extractor="", KALDI_ROOT="")
    assert run.code == 1
    assert kaldi.called() == []
    assert f"no x-vectors for 3 score files: {MODEL}/xvect_{ENROLLS}/xvector.scp" in run.err
    assert "provide xvector.scp" in run.err
    assert "Traceback" not in run.err


def test_external_scores_need_no_x_vectors(kaldi: Kaldi) -> None:
    for path in kaldi.tree.all_scores.values():
        lines_to(path, ["s1 s1-u0 1"])
    run = ok(kaldi.recipe())
    assert kaldi.called() == []
    assert "score files: 3 external" in run.out
