"""The job runners, local and on Slurm, which have the interface of Kaldi's run.pl. The Slurm is
one of a single node that these tests start and stop."""

import contextlib
import ctypes
import json
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import (
    ROOT,
    Run,
    SpeechTree,
    cli,
    executable,
    interruptible,
    lines_to,
    ok,
    refused,
    run_program,
    snapshot,
    until,
)

from privacy_eval.speech.trees.demo_speech import DemoSpeech, write_demo_speech

LOCAL, ON_SLURM = ROOT / "scripts/run_jobs.sh", ROOT / "scripts/slurm.sh"
#: Daemons lie where only root's PATH may lead.
SEARCH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "squeue", "sinfo")

# Nothing of what a Slurm on this machine uses: other ports, folders, key and socket. It has much
# time to answer and to end jobs, for busy machines.
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
MessageTimeout=100
KillWait=300
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


#: Asks this Slurm, which nobody else uses, more often than the runner asks a cluster's.
IMPATIENT = """#!/bin/sh
case $1 in 1 | 0.5) set -- 0.1 ;; esac
PATH=/usr/bin:/bin exec sleep "$1"
"""


def environment(folder: Path) -> dict[str, str]:
    """Without what would lead to another Slurm, or change what jobs ask for."""
    kept = {k: v for k, v in os.environ.items() if not re.match("SLURM|SBATCH|SQUEUE|SCANCEL", k)}
    path = f"{folder}:{ROOT / 'scripts'}:{ROOT / '.venv/bin'}:{SEARCH}"
    return {**kept, "PATH": path, "SLURM_CONF": str(folder / "slurm.conf")}


def free_ports() -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


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
        executable(folder / "sleep", IMPATIENT)
        (folder / "key").write_bytes(secrets.token_bytes(1024))
        (folder / "key").chmod(0o600)
        ports = dict(zip(("controller_port", "node_port"), free_ports(), strict=True))
        text = CONFIGURATION.format(host=host, user=self.ask("id", "-un"), folder=folder, **ports)
        (folder / "slurm.conf").write_text(text)
        files = [f"--{name}={folder}/munge.{name[:-5]}" for name in ("pid-file", "seed-file")]
        self.daemon(
            "munged", "-F", "--force", f"--key-file={folder}/key", *files,
            f"--socket={folder}/munge.socket",
        )  # fmt: skip
        until(lambda: self.dead() or (folder / "munge.socket").exists(), 60)
        if not (folder / "munge.socket").exists():
            return self.reason("munged")
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D", "-N", host)

        def idle() -> bool:
            return self.ask("sinfo", "-h", "-o", "%T") == "idle"

        if not until(lambda: self.dead() or idle(), 60) or self.dead():
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
        return run_program(*command, cwd=self.folder, **self.environment).out.strip()

    def jobs(self) -> str:
        return self.ask("squeue", "-h")

    def stop(self) -> None:
        if len(self.daemons) == 3 and not self.dead():
            for job in self.ask("squeue", "-h", "-o", "%A").split():
                self.ask("scancel", job)
            until(lambda: not self.jobs(), 60)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(60)
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


class Runner:
    """A runner and the folder that its jobs run in."""

    def __init__(self, script: Path, folder: Path, environment: dict[str, str]) -> None:
        self.script = script
        self.folder = folder
        # Its name has what Slurm's file name patterns would take for something else.
        (folder / "tmp").mkdir(parents=True)
        self.environment = {**environment, "TMPDIR": str(folder / "tmp")}

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.script), *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="surrogateescape",
            start_new_session=True,
            preexec_fn=interruptible,
        )

    def run(self, *arguments: object) -> Run:
        return finish(self.start(*arguments))

    def names(self, pattern: str = "*") -> list[str]:
        return sorted(path.name for path in self.folder.glob(pattern) if path.name != "tmp")

    def body(self, log: str) -> list[str]:
        """The command's own lines; those of the runner around them are checked."""
        lines = (self.folder / log).read_text(errors="surrogateescape").split("\n")
        assert lines[0].startswith("# ") and lines[2] == "#" and lines.pop() == ""
        assert re.fullmatch(r"# Started at \S+", lines[1])
        ended = r"# Ended \(code \d+\) at \S+, elapsed time \d+ seconds"
        assert re.fullmatch(ended, lines[-1])
        return lines[3:-1]

    def code(self, log: str) -> int | None:
        """The exit code that a log ends with, if it has an end."""
        found = re.search(r"^# Ended \(code (\d+)\)", (self.folder / log).read_text(), re.M)
        return None if found is None else int(found[1])


def finish(process: subprocess.Popen[str]) -> Run:
    out, err = process.communicate(timeout=600)
    return Run(process.returncode, out, err)


def make_runner(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Runner:
    folder = tmp_path / "100% a\\b & %j"
    if name == "local":
        processors = executable(tmp_path / "bin/nproc", "#!/bin/sh\necho ${PROCESSORS-8}\n")
        path = f"{processors.parent}:{os.environ['PATH']}"
        return Runner(LOCAL, folder, {**os.environ, "PATH": path})
    return Runner(ON_SLURM, folder, request.getfixturevalue("slurm").environment)


@pytest.fixture(params=["local", "slurm"])
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    return make_runner(request.param, tmp_path, request)


@pytest.fixture
def local(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    return make_runner("local", tmp_path, request)


@pytest.fixture
def on_slurm(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    return make_runner("slurm", tmp_path, request)


# Both runners


def test_jobs_have_their_number_in_log_and_arguments(runner: Runner) -> None:
    odd = ["", "a  b", "$HOME `x` $(touch made)", "*", "'", '"', "\\n", "%a %j", "-x"]
    odd += ["\udcff", "; touch made", "new\nline"]
    command = ["bash", "-c", 'pwd; printf "<%s>\\n" JOB "$@"; echo err >&2; cat', "JOB=1", *odd]
    assert runner.run("JOB=2:4", "l/JOB/x.JOB.log", *command) == Run(0, "", "")
    for number in (2, 3, 4):
        lines = [str(runner.folder), f"<{number}>", *(f"<{text}>" for text in odd), "err"]
        assert "\n".join(runner.body(f"l/{number}/x.{number}.log")) == "\n".join(lines)
    assert len(snapshot(runner.folder / "l")) == 3
    assert not (runner.folder / "made").exists()


def test_logs_that_are_pipes_or_links_are_replaced(runner: Runner) -> None:
    """Writing to a pipe that nobody reads would never end."""
    other = runner.folder / "other"
    other.write_text("precious")
    os.mkfifo(runner.folder / "x.1.log")
    (runner.folder / "x.2.log").symlink_to("x.1.log")
    (runner.folder / "x.3.log").symlink_to(other)
    assert runner.run("JOB=1:3", "x.JOB.log", "echo", "JOB") == Run(0, "", "")
    assert [runner.body(f"x.{number}.log")[0] for number in range(1, 4)] == ["1", "2", "3"]
    assert other.read_text() == "precious"


@pytest.mark.parametrize("script", [LOCAL, ON_SLURM])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected a log file and a command"),
        (["JOB=1:2", "x.JOB.log"], "expected a log file and a command"),
        (["JOB=1:2", "x.log", "true"], "2 jobs cannot share the log x.log"),
        (["JOB=0:2", "x.JOB.log", "true"], "bad job range JOB=0:2"),
        (["JOB=3:2", "x.JOB.log", "true"], "bad job range JOB=3:2"),
        (["JOB=1:2", "K=1:2", "x.JOB.log", "true"], "two job ranges"),
        (["--mem"], "option --mem needs a value"),
        (["--mem", "JOB=1:2", "x.JOB.log", "true"], "option --mem needs a value"),
        (["--mem", "--gpu", "x.log", "true"], "option --mem needs a value"),
        (["--max-jobs-run", "0", "x.log", "true"], "--max-jobs-run takes at least 1"),
        (["--retries", "-1", "x.log", "true"], "--retries takes a whole number, not '-1'"),
        (["--max-jobs-run=two", "x.log", "true"], "--max-jobs-run takes a whole number, not 'two'"),
    ],
)
def test_bad_usage(script: Path, arguments: list[str], message: str, tmp_path: Path) -> None:
    refused(run_program(script, *arguments, cwd=tmp_path), f"{script.name}: ", message, code=2)
    assert list(tmp_path.iterdir()) == []


def test_failed_jobs_are_named_and_quoted_and_killed_ones_run_again(runner: Runner) -> None:
    # Job 2 fails by itself; 3 is killed every time; 4 once, with the shell that writes its log.
    code = """
        echo JOB >>ran; for i in 1 2 3 4 5 6; do echo "# line $i"; done
        case JOB in
            2) exit 3 ;;
            3) kill -9 $$ ;;
            4) [ -e once ] || { touch once; kill -9 $PPID; kill -9 $$; } ;;
        esac
    """
    result = runner.run("JOB=1:4", "l/x.JOB.log", "bash", "-c", code)
    assert (result.code, result.out) == (1, "")
    lines = result.err.splitlines()
    name = runner.script.name
    assert lines[:3] == [
        f"{name}: JOB 3 was killed and is run again",
        f"{name}: JOB 4 was killed and is run again",
        f"{name}: 2 of 4 jobs failed (JOB: 2 3)",
    ]
    assert lines[3:9] == ["Log l/x.2.log ends with:"] + [f"    # line {i}" for i in range(2, 7)]
    assert lines[9] == "Log l/x.3.log ends with:"
    assert sorted((runner.folder / "ran").read_text().split()) == ["1", "2", "3", "3", "4", "4"]
    codes = {log: runner.code(f"l/{log}") for log in sorted(snapshot(runner.folder / "l"))}
    assert codes == {
        "x.1.log": 0,
        "x.2.log": 3,
        "x.3.log": 137,
        "x.3.log.try1": 137,
        "x.4.log": 0,
        "x.4.log.try1": None,
    }


@pytest.mark.parametrize("limit", [1, 2])
def test_max_jobs_run_limits_concurrent_jobs(runner: Runner, limit: int) -> None:
    code = "touch on.JOB; set -- on.*; echo $#; sleep 0.1; rm on.JOB"  # a job may end meanwhile
    options = ["--max-jobs-run", limit, "JOB=1:4", "x.JOB.log"]
    assert runner.run(*options, "sh", "-c", code) == Run(0, "", "")
    assert max(int(runner.body(f"x.{number}.log")[0]) for number in range(1, 5)) <= limit


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_interrupt_ends_the_jobs_and_their_processes(
    runner: Runner, number: signal.Signals, code: int
) -> None:
    if runner.script == ON_SLURM and number == signal.SIGKILL:
        pytest.skip("a killed runner cannot cancel its jobs")
    # Whoever of the processes is signalled first, the others then fail, too.
    command = "bash -c 'echo $$ >new.JOB; mv new.JOB pid.JOB; sleep 300 && :' && touch after.JOB"
    process = runner.start("--max-jobs-run", 2, "JOB=1:2", "x.JOB.log", "bash", "-c", command)
    assert until(lambda: len(runner.names("pid.*")) == 2)
    pids = [int((runner.folder / name).read_text()) for name in runner.names("pid.*")]
    process.send_signal(number)
    run = finish(process)
    assert run.code == code, run.err
    logs = ["x.1.log", "x.2.log"]
    ended = until(lambda: [runner.code(log) for log in logs] == [143, 143])
    assert ended, [run.err, *((runner.folder / log).read_text() for log in logs)]
    assert until(lambda: not any(is_alive(pid) for pid in pids))
    assert runner.names() == ["pid.1", "pid.2", *logs]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


# The local runner


@pytest.mark.parametrize(
    ("range_", "log", "argument", "expected"),
    [
        (["SPLIT_2=3"], "x.SPLIT_2.log", "<SPLIT_2>", ("x.3.log", "<3>")),
        (["JOB=08"], "x.log", "<JOB>", ("x.log", "<8>")),
        ([], "JOB.log", "JOB", ("JOB.log", "JOB")),
    ],
)
def test_job_ranges(
    local: Runner, range_: list[str], log: str, argument: str, expected: tuple[str, str]
) -> None:
    assert local.run(*range_, log, "echo", argument).code == 0
    assert local.body(expected[0]) == [expected[1]]


def test_options_of_cluster_runners_are_accepted(local: Runner) -> None:
    options = ["--mem", "4G", "-l", "gpu=1", "-q", "all.q", "--num-threads", "2", "--gpu", "1"]
    more = ["--whatever", "x", "-V", "--mem=2G", "--max-jobs-run", "1"]
    assert local.run(*options, "JOB=1:2", *more, "x.JOB.log", "echo", "JOB").code == 0
    assert [local.body(f"x.{number}.log") for number in (1, 2)] == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("retries", "how", "runs"), [("0", "kill -9 $$", 1), ("2", "kill $$", 3), ("2", "exit 255", 1)]
)
def test_number_of_retries(local: Runner, retries: str, how: str, runs: int) -> None:
    code = f"echo >>ran; {how}"
    assert local.run("--retries", retries, "x.log", "bash", "-c", code).code == 1
    assert len((local.folder / "ran").read_text().splitlines()) == runs
    assert len(local.names("x.log.try*")) == runs - 1


@pytest.mark.parametrize("command", ["no-such-command", "clean_up"])
def test_missing_commands_and_functions_of_the_runner(local: Runner, command: str) -> None:
    refused(local.run("x.log", command), "1 of 1 job failed", f"{command}: not found")
    assert local.code("x.log") == 127


def test_control_characters_of_a_log_do_not_reach_the_terminal(local: Runner) -> None:
    result = local.run("x.log", "bash", "-c", r"printf 'a\033[2Jb\302\265\n'; exit 3")
    assert result.code == 1
    assert result.err.splitlines()[-1] == "    a[2Jb\N{MICRO SIGN}"


def test_log_that_cannot_be_written_fails(local: Runner) -> None:
    (local.folder / "file").write_text("")
    refused(local.run("file/x.log", "touch", "made"), "1 of 1 job failed")
    assert local.names() == ["file"]


def test_jobs_run_in_parallel_by_default(local: Runner) -> None:
    # Each waits for the other: one after the other they would wait for ever.
    code = "touch on.JOB; while [ ! -e on.1 ] || [ ! -e on.2 ]; do sleep 0.02; done"
    assert local.run("JOB=1:2", "x.JOB.log", "timeout", "300", "sh", "-c", code).code == 0


@pytest.mark.parametrize("jobs", [2, 6])
def test_no_more_jobs_at_a_time_than_processors(local: Runner, jobs: int) -> None:
    local.environment |= {"PROCESSORS": "2", "OMP_NUM_THREADS": "1"}
    code = "touch on.JOB; set -- on.*; echo $#; sleep 0.1; rm on.JOB"  # a job may end meanwhile
    run = local.run(f"JOB=1:{jobs}", "x.JOB.log", "sh", "-c", code)
    assert (run.code, run.out) == (0, "")
    assert re.findall(r"6 jobs, 2 at a time", run.err) == ["6 jobs, 2 at a time"] * (jobs == 6)
    assert run.err.count("\n") == (jobs == 6)
    assert max(int(local.body(f"x.{i}.log")[0]) for i in range(1, jobs + 1)) <= 2


def test_nothing_is_left_in_the_temporary_folder(local: Runner) -> None:
    local.run("JOB=1:3", "x.JOB.log", "false")
    assert list((local.folder / "tmp").iterdir()) == []


# The runner on Slurm


def test_help_of_the_slurm_runner_lists_its_options(tmp_path: Path) -> None:
    run = run_program(ON_SLURM, "--help", cwd=tmp_path)
    for option in ("--max-jobs-run N", "--retries N", "--mem 4G", "--num-threads N", "--gpu N"):
        assert f"  {option}  " in run.out


def test_missing_slurm_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("bash", "readlink", "dirname"):
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    path = str(tmp_path / "bin")
    run = run_program(tmp_path / "bin/bash", ON_SLURM, "x.log", "true", cwd=tmp_path, PATH=path)
    assert run.code == 2
    assert "sbatch" in run.err


def test_options_reach_slurm_and_its_refusals_are_reported(on_slurm: Runner) -> None:
    code = 'echo "$SLURM_MEM_PER_NODE $SLURM_CPUS_PER_TASK $SLURM_JOB_PARTITION $SLURM_JOB_NAME"'
    options = ["--mem", "60M", "--num-threads=2", "--gpu", 0, "--time", "0:05:00", "-p", "all"]
    assert on_slurm.run(*options, "x.log", "bash", "-c", code) == Run(0, "", "")
    assert on_slurm.body("x.log") == ["60 2 all x.log"]
    for option, reason in (("--gpu=1", "gres"), ("--partition=none", "partition")):
        refused(on_slurm.run(option, "y.log", "true"), reason, "did not accept the jobs")
    assert on_slurm.names() == ["x.log"]


def test_jobs_cancelled_by_others_do_not_run_again(on_slurm: Runner, slurm: Slurm) -> None:
    (on_slurm.folder / "x.2.log").write_text("of an earlier run\n")
    options = ("--max-jobs-run", 1, "JOB=1:2", "x.JOB.log")
    process = on_slurm.start(*options, "bash", "-c", "echo JOB >>ran; sleep 300")
    ran = on_slurm.folder / "ran"
    assert until(lambda: ran.exists() and ran.read_text() == "1\n")
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
    assert ran.read_text() == "1\n"


def test_arrays_are_cancelled_again_if_slurm_did_not_answer(on_slurm: Runner) -> None:
    fails_twice = 'echo >>{0}; [ "$(wc -l <{0})" -gt 2 ] || exit 1; exec {1} "$@"'
    folder = on_slurm.folder.parent
    real = shutil.which("scancel", path=SEARCH) or ""
    text = fails_twice.format(shlex.quote(str(folder / "calls")), real)
    path = executable(folder / "bin/scancel", f"#!/bin/sh\n{text}\n").parent
    on_slurm.environment |= {"PATH": f"{path}:{on_slurm.environment['PATH']}"}
    process = on_slurm.start("JOB=1:2", "x.JOB.log", "bash", "-c", "touch on.JOB; sleep 300")
    assert until(lambda: len(on_slurm.names("on.*")) == 2)
    process.send_signal(signal.SIGTERM)
    run = finish(process)
    assert (run.code, "is cancelled" in run.err) == (143, True), run.err
    assert until(lambda: [on_slurm.code(f"x.{n}.log") for n in (1, 2)] == [143, 143])


def test_stages_of_the_recipe_on_slurm(slurm: Slurm, tmp_path: Path) -> None:
    """Scores, metrics and voice similarity are those made without any runner."""
    trees = [SpeechTree(tmp_path / name) for name in ("a tree", "another")]
    stages = ("--stage", 5, "--stop-stage", 7, "--nj", 2, "--conf", "./small.yaml")
    command = (*stages, "--cmd", "slurm.sh --mem 200M", "--tree", trees[0].root)
    recipe = ROOT / "recipes/vpc2020/run.sh"
    ok(run_program(recipe, *command, cwd=tmp_path, **slurm.environment))
    logs = trees[0].root / "exp/privacy_eval/log"
    stems = ("asv_scores", "privacy_metrics", "identification")
    several = {f"{stem}.{n}.log" for stem in stems for n in (1, 2)}
    assert set(snapshot(logs)) == {*several, "similarity.1.log"}  # of one trial set
    shutil.rmtree(logs)
    (logs.parent / "options.conf").unlink()
    for verb in ("asv-scores", "privacy-metrics", "similarity", "identification"):
        assert trees[1].run(verb).code == 0
    found, expected = (snapshot(tree.root / "exp") for tree in trees)
    assert found == expected
    assert sum(name.endswith(("scores", ".npz", "DeIDentification")) for name in found) == 3 + 7 + 1


#: Ends as if it had run out of memory, at the first attempt of the second job.
KILLED_ONCE = """#!/bin/sh
case "$*" in
    *"--job 2/2"*) [ -e once ] || { touch once; kill -9 $$; } ;;
esac
exec %s "$@"
"""


def test_a_killed_task_of_an_array_is_run_again_and_merged(on_slurm: Runner) -> None:
    """Counts and ranks of two tasks, one of which is killed, are those of one command."""
    folder, rng = on_slurm.folder, np.random.default_rng(0)
    program = [str(ROOT / ".venv/bin/privacy-eval")]
    executable(folder / "bin/eval", KILLED_ONCE % program[0])
    trials = [f"s{n % 5} u{n} {'target' if n % 3 else 'nontarget'}" for n in range(40)]
    scores = [
        f"{line.rsplit(' ', 1)[0]} {x:.4f}"
        for line, x in zip(trials, rng.normal(size=40), strict=True)
    ]
    lines_to(folder / "trials", trials)
    for name, some in (("scores", scores), ("scores.1", scores[:9]), ("scores.2", scores[9:])):
        lines_to(folder / name, some)
    for name in ("enroll", "test"):
        rows = (" ".join(f"{x:.4f}" for x in rng.normal(size=3)) for _ in range(8))
        lines_to(folder / f"{name}.ark", [f"{name}{n} [ {row} ]" for n, row in enumerate(rows)])
    lines_to(folder / "spk2utt", [f"s{n} enroll{n}" for n in range(8)])
    lines_to(folder / "utt2spk", [f"test{n} s{n % 3}" for n in range(8)])
    count = ["count", "--trials", "trials"]
    ranks = ["identification", "--backend", "cosine", "--enroll-vectors", "enroll.ark"]
    ranks += ["--spk2utt", "spk2utt", "--trial-vectors", "test.ark", "--utt2spk", "utt2spk"]
    show = ["identification", "--gallery-sizes", "2,8", "--format", "json", "--ranks"]

    def alone(*words: str) -> str:
        run = ok(run_program(*program, *words, cwd=folder))
        return run.out

    tasks = f"""set -e
        {shlex.join(["bin/eval", *ranks])} --job JOB/2 --out ranks.JOB
        {shlex.join(["bin/eval", *count])} --scores scores.JOB --out counts.JOB"""
    options = ["--mem", "200M", "--retries", 0]
    run = on_slurm.run(*options, "JOB=1:2", "l/JOB.log", "bash", "-c", tasks)
    assert (run.code, "1 of 2 jobs failed (JOB: 2)" in run.err) == (1, True)
    assert on_slurm.names("*.[12]") == ["counts.1", "ranks.1", "scores.1", "scores.2"]
    refused(run_program(*program, *show, "ranks.1", cwd=folder), "1 of 2 jobs are missing")
    assert on_slurm.run(*options, "JOB=2", "l/JOB.log", "bash", "-c", tasks).code == 0
    for name in ("counts", "ranks"):
        alone("merge", f"{name}.2", f"{name}.1", "--out", name)
    alone(*count, "--scores", "scores", "--out", "whole")
    assert (folder / "counts").read_bytes() == (folder / "whole").read_bytes()
    whole = json.loads(alone(*ranks, *show[1:-1]))
    assert json.loads(alone(*show, "ranks"))["linkage"] == whole["linkage"]


def test_xvectors_of_an_array_with_a_killed_task(slurm: Slurm, tmp_path: Path) -> None:
    pytest.importorskip("soundfile", reason="audio needs the extra speech")
    source, once = tmp_path / "simulated", tmp_path / "bin/privacy-eval"
    write_demo_speech(source, DemoSpeech(speakers=2, training=4, utterances=2, seconds=1.0))
    words = ["data-dir", "--original", source / "speech", "--utt2spk", source / "speech_utt2spk"]
    words += ["--training", source / "training", "--training-utt2spk", source / "training_utt2spk"]
    words += ["--model", source / "extractor", "--out", tmp_path / "tree"]
    assert cli(*words).code == 0
    other = Path(shutil.copytree(tmp_path / "tree", tmp_path / "other"))
    executable(once, KILLED_ONCE % (ROOT / ".venv/bin/privacy-eval"))
    path = f"{once.parent}:{slurm.environment['PATH']}"
    command = [
        "stage",
        "xvectors",
        "--results",
        "exp",
        "--conf",
        "protocol.yaml",
        "--allow-outside",
    ]
    jobs = ["--nj", "2", "--cmd", "slurm.sh --mem 300M --retries 0", "--tree", tmp_path / "tree"]
    environment = {**slurm.environment, "PATH": path}
    run = run_program(once, *command, *jobs, cwd=tmp_path, **environment)
    assert (run.code, (tmp_path / "once").exists()) == (0, True), run.err
    assert "jobs were killed" in run.err
    assert cli(*command, "--tree", other).code == 0
    found, expected = (
        {n: b for n, b in snapshot(tree).items() if n.endswith((".ark", ".scp"))}
        for tree in (tmp_path / "tree", other)
    )
    assert found == expected and len(found) > 2
