"""Score a submission on Codabench (docs/organizers.md): score.py INPUT OUTPUT."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def privacy_eval(*arguments: object, codes: tuple[int, ...] = (0,)) -> str:
    words = [*map(str, arguments)]
    command = [sys.executable, "-m", "privacy_eval", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in codes:
        sys.exit(f"not scored: {' '.join(words[:2])} failed, see above")
    return done.stdout


def main(given: Path, out: Path) -> None:
    (out / "scores.json").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        package, tree, page = (Path(folder, name) for name in ("package", "tree", "page.html"))
        for wheel in Path(__file__).parent.glob("privacy_eval-*.whl"):
            zipfile.ZipFile(wheel).extractall(package)  # its data files are read as files
        os.environ |= {"PYTHONPATH": str(package), "XDG_STATE_HOME": folder}
        shutil.copytree(given / "ref", tree)
        shutil.copytree(given / "res", tree / "exp/submission", symlinks=True)
        at = ("--tree", tree, "--results", "exp", "--conf", "protocol.yaml", "--out", "results")

        checked = privacy_eval("stage", "check", *at, "--format", "json", codes=(0, 1))
        rows = json.loads(checked or "[]")
        faults = [row["problem"] for row in rows if row["status"] != "ready"]
        if (systems := len({row["team"] for row in rows} - {""})) != 1:
            faults.append(f"scores of one system are expected, of {systems} are there")
        if faults:
            sys.exit("\n".join(["not scored:", *faults]).replace(f"{tree}/", ""))
        privacy_eval("stage", "privacy-metrics", *at, "--bootstrap", 1000)
        privacy_eval("stage", "collect", *at)
        privacy_eval(
            "report", "--public", "--results", tree / "results/results.json", "--out", page
        )

        answer = json.loads(page.with_suffix(".answer.json").read_text("utf-8"))
        *_, system = answer["systems"]
        if system["rank"] is None:
            sys.exit("\n".join(["not scored: no ranking holds it", *answer["cautions"]]))
        best = next(attack for attack in system["attacks"] if attack["best"])
        rates = {"eer": best["value"], "eer_low": best["low"], "eer_high": best["high"]}
        for attack in system["attacks"]:
            rates["eer_" + re.sub(r"\W+", "_", attack["attack"].lower())] = attack["value"]
        rates |= {metric: of["value"] for metric, of in system["utility"].items()}
        scores = {key: round(100 * rate, 4) for key, rate in rates.items() if rate is not None}
        shutil.copyfile(page, out / "detailed_results.html")
        (out / "scores.part").write_text(json.dumps(scores), "utf-8")
        (out / "scores.part").replace(out / "scores.json")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
