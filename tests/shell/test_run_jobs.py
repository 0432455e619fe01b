"""The local job runner, which has the interface of Kaldi's run.pl."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

RUNNER = Path(__file__).resolve().parents[2] / "scripts" / "run_jobs.sh"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "a folder"
    (path / "tmp").mkdir(parents=True)
    return path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(RUNNER), *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def body(log: Path) -> list[str]:
    """Return the command's own lines, once the runner's lines around them are as they must be."""
    lines = log.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert re.fullmatch(r"# Started at \S+", lines[1])
    assert lines[2] == "#"
    assert re.fullmatch(r"# Ended \(code \d+\) at \S+, elapsed time \d+ seconds", lines[-1])
    return lines[3:-1]


def test_each_job_has_its_number_in_log_and_arguments(folder: Path) -> None:
    result = run(folder, "JOB=2:4", "l/JOB/x.JOB.log", "printf", "%s|", "JOB", "--job=JOB/4", "a")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    for number in (2, 3, 4):
        log = folder / "l" / str(number) / f"x.{number}.log"
        assert body(log) == [f"{number}|--job={number}/4|a|"]
        assert log.read_text().startswith(f"# printf %s\\| {number} --job={number}/4 a\n")
    assert len(list((folder / "l").iterdir())) == 3


@pytest.mark.parametrize(
    ("spec", "log", "expected"),
    [("SPLIT_2=3", "x.SPLIT_2.log", "x.3.log"), ("JOB=08", "x.log", "x.log")],
)
def test_any_name_and_a_single_number(folder: Path, spec: str, log: str, expected: str) -> None:
    name, number = spec.split("=")
    assert run(folder, spec, log, "echo", f"<{name}>").returncode == 0
    assert body(folder / expected) == [f"<{int(number)}>"]


def test_without_jobs_nothing_is_replaced(folder: Path) -> None:
    assert run(folder, "JOB.log", "echo", "JOB").returncode == 0
    assert body(folder / "JOB.log") == ["JOB"]


def test_arguments_arrive_as_they_are(folder: Path) -> None:
    arguments = ["", "a  b", "$(touch made)", "`touch made`", "*", "'", '"', "\\n", "; touch made"]
    assert run(folder, "x.log", "printf", "<%s>\\n", *arguments).returncode == 0
    assert body(folder / "x.log") == [f"<{argument}>" for argument in arguments]
    assert not (folder / "made").exists()


def test_both_streams_go_to_the_log_and_nothing_is_read(folder: Path) -> None:
    code = "echo out; echo err >&2; cat; printf unfinished"
    assert run(folder, "x.log", "sh", "-c", code).returncode == 0
    assert body(folder / "x.log") == ["out", "err", "unfinished"]


def test_options_of_cluster_runners_are_accepted(folder: Path) -> None:
    options = ["--mem", "4G", "-l", "gpu=1", "-q", "all.q", "--num-threads", "2", "--gpu", "1"]
    more = ["--whatever", "x", "-V", "--mem=2G", "--max-jobs-run", "1"]
    assert run(folder, *options, "JOB=1:2", *more, "x.JOB.log", "echo", "JOB").returncode == 0
    assert [body(folder / f"x.{number}.log") for number in (1, 2)] == [["1"], ["2"]]


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
def test_bad_usage(folder: Path, arguments: list[str], message: str) -> None:
    result = run(folder, *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert [path.name for path in folder.iterdir()] == ["tmp"]


def test_failures_are_counted_named_and_quoted(folder: Path) -> None:
    code = 'for i in 1 2 3 4 5 6 7; do echo "# line $i"; done; test JOB -ne 2 && test JOB -ne 4'
    result = run(folder, "JOB=1:4", "l/x.JOB.log", "bash", "-c", code)
    assert result.returncode == 1
    assert result.stdout == ""
    tail = [f"    # line {i}" for i in range(3, 8)]
    assert result.stderr.splitlines() == [
        "run_jobs.sh: 2 of 4 jobs failed (JOB: 2 4)",
        "Log l/x.2.log ends with:",
        *tail,
        "Log l/x.4.log ends with:",
        *tail,
    ]
    assert "# Ended (code 0)" in (folder / "l/x.3.log").read_text()
    assert "# Ended (code 1)" in (folder / "l/x.4.log").read_text()


def test_jobs_that_were_killed_run_again_alone(folder: Path) -> None:
    # Job 3 fails by itself; 1 and 4 are killed, 4 with the shell that writes its log, once.
    code = """
        echo JOB >>ran; touch on.JOB; ls on.* | wc -l
        case JOB in
            1) kill -9 $$ ;;
            3) exit 3 ;;
            4) [ -e once ] || { touch once; kill -9 $PPID; kill -9 $$; } ;;
        esac
        rm on.JOB
    """
    result = run(folder, "JOB=1:4", "x.JOB.log", "bash", "-c", code)
    assert result.returncode == 1
    lines = result.stderr.splitlines()
    assert lines[:3] == [
        "run_jobs.sh: JOB 1 was killed and is run again",
        "run_jobs.sh: JOB 4 was killed and is run again",
        "run_jobs.sh: 2 of 4 jobs failed (JOB: 1 3)",
    ]
    assert [x for x in lines if x.startswith("Log")] == [
        f"Log x.{number}.log ends with:" for number in (1, 3)
    ]
    ran = (folder / "ran").read_text().split()
    assert sorted(ran[:4]) == ["1", "2", "3", "4"] and ran[4:] == ["1", "4"]
    logs = sorted(path.name for path in folder.glob("x.*"))
    assert logs == sorted([f"x.{n}.log" for n in range(1, 5)] + ["x.1.log.try1", "x.4.log.try1"])
    assert "# Ended (code 137)" in (folder / "x.1.log.try1").read_text()
    assert "# Ended" not in (folder / "x.4.log.try1").read_text()
    assert "# Ended (code 0)" in (folder / "x.4.log").read_text()


@pytest.mark.parametrize(
    ("retries", "how", "runs"), [("0", "kill -9 $$", 1), ("2", "kill $$", 3), ("2", "exit 255", 1)]
)
def test_how_often_jobs_run_again(folder: Path, retries: str, how: str, runs: int) -> None:
    code = f"echo >>ran; {how}"
    assert run(folder, "--retries", retries, "x.log", "bash", "-c", code).returncode == 1
    assert len((folder / "ran").read_text().splitlines()) == runs
    assert len(list(folder.glob("x.log.try*"))) == runs - 1


def test_the_code_of_a_command_that_is_not_there(folder: Path) -> None:
    result = run(folder, "x.log", "no-such-command")
    assert result.returncode == 1
    assert result.stderr.startswith("run_jobs.sh: 1 of 1 job failed\nLog x.log ends with:\n")
    assert "no-such-command: not found" in result.stderr
    assert "# Ended (code 127)" in (folder / "x.log").read_text()


def test_functions_and_builtins_of_the_runner_are_no_commands(folder: Path) -> None:
    assert run(folder, "x.log", "clean_up").returncode == 1
    assert "# Ended (code 127)" in (folder / "x.log").read_text()


def test_control_characters_of_a_log_do_not_reach_the_terminal(folder: Path) -> None:
    result = run(folder, "x.log", "bash", "-c", r"printf 'a\033[2Jb\302\265\n'; exit 3")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == "    a[2Jb\N{MICRO SIGN}"


def test_a_log_that_cannot_be_written_fails(folder: Path) -> None:
    (folder / "file").write_text("")
    result = run(folder, "file/x.log", "touch", "made")
    assert result.returncode == 1
    assert "run_jobs.sh: 1 of 1 job failed" in result.stderr
    assert not (folder / "made").exists()


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_jobs_than_allowed_run_at_a_time(folder: Path, limit: int) -> None:
    code = "touch on.JOB; ls on.* | wc -l; sleep 0.1; rm on.JOB"
    arguments = ["--max-jobs-run", str(limit), "JOB=1:6", "x.JOB.log", "sh", "-c", code]
    assert run(folder, *arguments).returncode == 0
    together = [int(body(folder / f"x.{number}.log")[0]) for number in range(1, 7)]
    assert max(together) <= limit


def test_jobs_run_in_parallel_by_default(folder: Path) -> None:
    # Each waits for the other: one after the other they would wait for ever.
    code = "touch on.JOB; while [ ! -e on.1 ] || [ ! -e on.2 ]; do sleep 0.02; done"
    assert run(folder, "JOB=1:2", "x.JOB.log", "timeout", "20", "sh", "-c", code).returncode == 0


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_an_interrupt_ends_the_jobs_and_what_they_started(
    folder: Path, number: signal.Signals, code: int
) -> None:
    command = "bash -c 'echo $$ >pid.JOB.new; mv pid.JOB.new pid.JOB; sleep 300; :'; :"
    with subprocess.Popen(
        [str(RUNNER), "JOB=1:2", "x.JOB.log", "bash", "-c", command],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp")},
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        files = [folder / "pid.1", folder / "pid.2"]
        deadline = time.monotonic() + 20
        while not all(file.exists() for file in files) and time.monotonic() < deadline:
            time.sleep(0.02)
        pids = [int(file.read_text()) for file in files]
        assert all(alive(pid) for pid in pids)
        process.send_signal(number)
        assert process.wait(timeout=20) == code
        deadline = time.monotonic() + 20
        logs = [folder / "x.1.log", folder / "x.2.log"]
        while time.monotonic() < deadline and not all(
            "# Ended (code 143)" in log.read_text() for log in logs
        ):
            time.sleep(0.02)
        assert not any(alive(pid) for pid in pids)
        for log in logs:
            assert "# Ended (code 143)" in log.read_text()


def test_nothing_is_left_in_the_temporary_folder(folder: Path) -> None:
    run(folder, "JOB=1:3", "x.JOB.log", "false")
    assert list((folder / "tmp").iterdir()) == []
