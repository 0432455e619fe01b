"""The job runner on Slurm, with a Slurm of one node that these tests start and stop."""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import ROOT, Run, SpeechTree, snapshot

RUNNER, LOCAL_RUNNER = ROOT / "scripts/slurm.sh", ROOT / "scripts/run_jobs.sh"
#: Daemons lie where only root's PATH may lead.
SEARCH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "sinfo")

# Nothing of what a Slurm on this machine uses: other ports, folders, key and socket.
CONFIGURATION = """
ClusterName=privacy_eval_test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
DefMemPerCPU=50
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def environment(folder: Path) -> dict[str, str]:
    """Without what would lead to another Slurm, or change what jobs ask for."""
    own = {k: v for k, v in os.environ.items() if not re.match("SLURM|SBATCH|SQUEUE|SCANCEL", k)}
    path = f"{ROOT / 'scripts'}:{ROOT / '.venv/bin'}:{SEARCH}"
    return {**own, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def until(condition: Callable[[], object], seconds: float = 20) -> bool:
    limit = time.monotonic() + seconds
    while not (met := bool(condition())) and time.monotonic() < limit:
        time.sleep(0.05)
    return met


class Slurm:
    """A Slurm of one node, this machine; its daemons end with this process at the latest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = environment(folder)
        self.daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> str:
        """Why it could not be started; nothing when it runs."""
        folder, host = self.folder, socket.gethostname().split(".")[0]
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        (folder / "key").write_bytes(secrets.token_bytes(1024))
        (folder / "key").chmod(0o600)
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True)
        controller_port, node_port = free_ports(2)
        text = CONFIGURATION.format(
            host=host,
            user=user.stdout.strip(),
            folder=folder,
            controller_port=controller_port,
            node_port=node_port,
        )
        (folder / "slurm.conf").write_text(text)
        files = [f"--{name}={folder}/munge.{name[:-5]}" for name in ("pid-file", "seed-file")]
        self.daemon(
            "munged", "-F", "--force", f"--key-file={folder}/key", *files,
            f"--socket={folder}/munge.socket",
        )  # fmt: skip
        until(lambda: self.dead() or (folder / "munge.socket").exists(), 5)
        if not (folder / "munge.socket").exists():
            return self.reason("munged")
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D", "-N", host)

        def idle() -> bool:
            return self.ask("sinfo", "-h", "-o", "%T") == "idle"

        if not until(lambda: self.dead() or idle()) or self.dead():
            return self.reason(*(self.dead() or ["slurmctld", "slurmd"]))
        return ""

    def daemon(self, *command: str) -> None:
        prctl, with_parent = ctypes.CDLL(None).prctl, 1
        with open(self.folder / f"{command[0]}.log", "wb") as log:
            self.daemons.append(
                subprocess.Popen(
                    command,
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    preexec_fn=lambda: prctl(with_parent, signal.SIGTERM),
                )
            )

    def dead(self) -> list[str]:
        return [str(d.args[0]) for d in self.daemons if d.poll() is not None]  # type: ignore[index]

    def reason(self, *names: str) -> str:
        last = [(self.folder / f"{n}.log").read_text(errors="replace")[-300:] for n in names]
        return f"{' and '.join(names)} cannot be started here: {' '.join(last)}"

    def ask(self, *command: str) -> str:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    def jobs(self) -> str:
        return self.ask("squeue", "-h")

    def stop(self) -> None:
        if len(self.daemons) == 3 and not self.dead():
            for job in self.ask("squeue", "-h", "-o", "%A").split():
                self.ask("scancel", job)
            until(lambda: not self.jobs(), 10)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


@pytest.fixture(scope="module", name="slurm")
def _slurm() -> Iterator[Slurm]:
    missing = [name for name in PROGRAMS if shutil.which(name, path=SEARCH) is None]
    if missing:
        pytest.skip(f"no Slurm is installed here: {', '.join(missing)} (Debian: slurm-wlm, munge)")
    # Not pytest's own folder: the path of a socket must be short.
    folder = Path(tempfile.mkdtemp(prefix="privacy_eval_slurm."))
    slurm = Slurm(folder)
    try:
        problem = slurm.start()
        if problem:
            pytest.skip(problem)
        yield slurm
    finally:
        slurm.stop()
        shutil.rmtree(folder)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """Its name has what Slurm's file name patterns would take for something else."""
    path = tmp_path / "100% a\\b & %j"
    path.mkdir()
    return path


def begin(slurm: Slurm, folder: Path, runner: Path, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(runner), *map(str, arguments)],
        cwd=folder,
        env=slurm.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
    )


def finish(process: subprocess.Popen[str]) -> Run:
    out, err = process.communicate(timeout=120)
    return Run(process.returncode, out, err)


def run(slurm: Slurm, folder: Path, *arguments: object, runner: Path = RUNNER) -> Run:
    return finish(begin(slurm, folder, runner, *arguments))


def names(folder: Path, pattern: str = "*") -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


# --- without Slurm


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a log file and a command"),
        (["JOB=1:2", "x.log", "true"], "2 jobs cannot share the log x.log"),
        (["--mem", "JOB=1:2", "x.JOB.log", "true"], "option --mem needs a value"),
        (["--max-jobs-run", "0", "x.log", "true"], "--max-jobs-run takes at least 1"),
        (["x.log", "true"], "sbatch: command not found"),
    ],
)
def test_bad_usage(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "readlink", "dirname"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    done = subprocess.run(
        [str(tmp_path / "bin/bash"), str(RUNNER), *arguments],
        cwd=tmp_path,
        env={"PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"slurm.sh: {message}" in done.stderr
    assert names(tmp_path) == ["bin"]


def test_help_is_the_text_above_the_script() -> None:
    done = subprocess.run([RUNNER, "--help"], capture_output=True, text=True, check=True)
    for option in ("--max-jobs-run N", "--retries N", "--mem 4G", "--num-threads N", "--gpu N"):
        assert f"  {option}  " in done.stdout


# --- on Slurm


def test_the_same_logs_as_on_this_machine(slurm: Slurm, folder: Path) -> None:
    odd = ["", "a  b", "$HOME `x` $(x)", "*", "'", '"', "\\n", "new\nline", "%a %j", "-x", "\udcff"]
    command = ["bash", "-c", 'pwd; printf "<%s>" JOB "$@"; echo err >&2; cat', "JOB=1", *odd]
    times = re.compile(rb"(?m)^# (Started|Ended .*) at .*$")
    logs = []
    for runner in (RUNNER, LOCAL_RUNNER):
        place = folder / runner.stem
        result = run(slurm, folder, "JOB=2:4", place / "JOB/x.JOB.log", *command, runner=runner)
        assert result == Run(0, "", "")
        logs.append({k: times.sub(rb"# \1", v) for k, v in snapshot(place).items()})
    assert logs[0] == logs[1]
    assert sorted(logs[0]) == [f"{n}/x.{n}.log" for n in (2, 3, 4)]
    text = logs[0]["3/x.3.log"]
    assert f"\n{folder}\n<3><><a  b><$HOME `x` $(x)><*>".encode() in text
    assert b"<new\nline><%a %j><-x><\xff>" in text


def test_failed_jobs_are_named_and_killed_ones_run_again(slurm: Slurm, folder: Path) -> None:
    # Job 2 fails by itself; 3 is killed every time; 4 once, with the shell that writes its log.
    code = """
        echo JOB >>ran; for i in 1 2 3 4 5 6; do echo "line $i"; done
        case JOB in
            2) exit 3 ;;
            3) kill -9 $$ ;;
            4) [ -e once ] || { touch once; kill -9 $PPID; kill -9 $$; } ;;
        esac
    """
    result = run(slurm, folder, "JOB=1:4", "l/x.JOB.log", "bash", "-c", code)
    assert (result.code, result.out) == (1, "")
    lines = result.err.splitlines()
    assert lines[:3] == [
        "slurm.sh: JOB 3 was killed and is run again",
        "slurm.sh: JOB 4 was killed and is run again",
        "slurm.sh: 2 of 4 jobs failed (JOB: 2 3)",
    ]
    assert lines[3:9] == ["Log l/x.2.log ends with:"] + [f"    line {i}" for i in range(2, 7)]
    assert lines[9] == "Log l/x.3.log ends with:"
    assert sorted((folder / "ran").read_text().split()) == ["1", "2", "3", "3", "4", "4"]
    logs = [f"x.{n}.log" for n in (1, 2, 3, 4)] + ["x.3.log.try1", "x.4.log.try1"]
    assert names(folder / "l") == sorted(logs)
    assert "# Ended (code 3)" in (folder / "l/x.2.log").read_text()
    assert "# Ended" not in (folder / "l/x.4.log.try1").read_text()
    assert "# Ended (code 0)" in (folder / "l/x.4.log").read_text()


def test_no_more_jobs_than_allowed_run_at_a_time(slurm: Slurm, folder: Path) -> None:
    code = "touch on.JOB; ls on.* | wc -l; sleep 0.1; rm on.JOB"
    options = ("--max-jobs-run", 1, "JOB=1:3")
    assert run(slurm, folder, *options, "x.JOB.log", "sh", "-c", code) == Run(0, "", "")
    assert [(folder / f"x.{n}.log").read_text().splitlines()[3] for n in (1, 2, 3)] == ["1"] * 3


def test_options_reach_slurm_and_a_refusal_is_said(slurm: Slurm, folder: Path) -> None:
    code = 'echo "$SLURM_MEM_PER_NODE $SLURM_CPUS_PER_TASK $SLURM_JOB_PARTITION $SLURM_JOB_NAME"'
    options = ["--mem", "60M", "--num-threads=2", "--gpu", 0, "--time", "0:05:00", "-p", "all"]
    assert run(slurm, folder, *options, "x.log", "bash", "-c", code) == Run(0, "", "")
    assert (folder / "x.log").read_text().splitlines()[3] == "60 2 all x.log"
    for option, said in (("--gpu=1", "gres"), ("--partition=none", "partition")):
        result = run(slurm, folder, option, "y.log", "true")
        assert result.code == 1
        assert said in result.err and "slurm.sh: Slurm did not accept the jobs" in result.err
    assert names(folder) == ["x.log"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupt_cancels_the_jobs(
    slurm: Slurm, folder: Path, number: signal.Signals, code: int
) -> None:
    command = ("bash", "-c", "bash -c 'touch on.JOB; sleep 300; :' && touch after.JOB")
    process = begin(slurm, folder, RUNNER, "--max-jobs-run", 2, "JOB=1:3", "x.JOB.log", *command)
    assert until(lambda: len(names(folder, "on.*")) == 2)
    process.send_signal(number)
    result = finish(process)
    assert result.code == code
    assert re.search(rf"interrupted by {number.name}, job \d+ is cancelled", result.err)
    assert slurm.jobs() == ""
    assert names(folder) == ["on.1", "on.2", "x.1.log", "x.2.log"]
    for log in ("x.1.log", "x.2.log"):
        assert "# Ended (code 143)" in (folder / log).read_text()


def test_jobs_that_somebody_cancelled_do_not_run_again(slurm: Slurm, folder: Path) -> None:
    (folder / "x.2.log").write_text("of an earlier run\n")
    code = "echo JOB >>ran; sleep 300"
    options = ("--max-jobs-run", 1, "JOB=1:2", "x.JOB.log")
    process = begin(slurm, folder, RUNNER, *options, "bash", "-c", code)
    assert until((folder / "ran").exists)
    slurm.ask("scancel", slurm.ask("squeue", "-h", "-o", "%F").split()[0])
    assert finish(process) == Run(
        1,
        "",
        "slurm.sh: 2 of 2 jobs failed (JOB: 1 2)\n"
        "Log x.1.log (CANCELLED) ends with:\n"
        "    Terminated\n"
        "Log x.2.log (CANCELLED) ends with:\n"
        "    (no log was written)\n",
    )
    assert (folder / "ran").read_text() == "1\n"


def test_stages_of_the_recipe_on_slurm(slurm: Slurm, tmp_path: Path) -> None:
    """Scores, metrics and voice similarity are those made without any runner."""
    trees = [SpeechTree(tmp_path / name) for name in ("a tree", "another")]
    stages = ("--stage", 5, "--stop-stage", 7, "--nj", 2, "--conf", "./small.yaml")
    command = (*stages, "--cmd", "slurm.sh --mem 200M", "--tree", trees[0].root)
    result = run(slurm, tmp_path, *command, runner=ROOT / "recipes/vpc2020/run.sh")
    assert result.code == 0, result.err
    logs = trees[0].root / "exp/privacy_eval/log"
    stems = ("asv_scores", "privacy_metrics", "similarity")
    assert names(logs) == sorted(f"{stem}.{n}.log" for stem in stems for n in (1, 2))
    shutil.rmtree(logs)
    for verb in ("score-tree", "evaluate", "similarity-tree"):
        assert trees[1].run(verb).code == 0
    found, expected = (snapshot(tree.root / "exp") for tree in trees)
    assert found == expected
    assert sum(name.endswith(("scores", ".npz", "DeIDentification")) for name in found) == 3 + 4 + 1
