"""Evaluation protocols: the bundled ones, invalid ones, and one of other data."""

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import OTHER_PROTOCOL, ROOT, Tree, cells_of, cli, command, ok

from privacy_eval import PrivacyEvalError
from privacy_eval.protocol.protocol import (
    bundled,
    bundled_studies,
    load_protocol,
    own_entry,
    protocol_from_dict,
)

Plain = dict[str, Any]


def test_bundled_protocols() -> None:
    files = sorted(p.stem for p in ROOT.glob("conf/*.yaml"))
    assert files == sorted([*bundled(), *bundled_studies()])
    assert {"vpc2020", "vpc2022", "vpc2024", "vpc2026_track1", "vpc2026_track2"} <= {*bundled()}
    assert all(load_protocol(name).name == name for name in bundled())


@pytest.mark.parametrize("name", ["vpc2020", "vpc2022"])
def test_bundled_protocols_load_from_any_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = load_protocol(name)
    monkeypatch.chdir(tmp_path)
    assert load_protocol(name) == here == load_protocol(name, base=Path("/"))
    assert protocol_from_dict(here.to_dict(), "x") == here


def test_challenge_has_twelve_trial_sets() -> None:
    protocol = load_protocol("vpc2020")
    names = [t.trials_name for t in protocol.trial_sets()]
    assert len(set(names)) == len(names) == 12
    assert names[:6] == [
        "libri_dev_trials_f",
        "libri_dev_trials_m",
        "vctk_dev_trials_f",
        "vctk_dev_trials_m",
        "vctk_dev_trials_f_common",
        "vctk_dev_trials_m_common",
    ]
    common = [t for t in protocol.trial_sets() if t.data_set.id == "vctk_common"]
    assert common[0].key_names == ("vctk_dev_trials_f_common", "vctk_common_dev_trials_f")
    weights = [t.data_set.weight for t in protocol.trial_sets() if t.split == "dev"]
    assert sum(weights) == pytest.approx(1.0, abs=1e-12)


def test_protocol_of_2022_is_that_of_2020_with_two_results_folders() -> None:
    old, new = load_protocol("vpc2020").to_dict(), load_protocol("vpc2022").to_dict()
    different = {key for key in old if old[key] != new[key]}
    assert different == {
        "name",
        "title",
        "results_folders",
        "average_attack_model",
        "eer_thresholds",
        "paper",
    }
    assert [f.suffix for f in load_protocol("vpc2022").results_folders] == ["", ".orig"]


def test_data_folders_come_after_their_parts() -> None:
    protocol = load_protocol("vpc2022")
    names = [f.name for f in protocol.folders]
    assert len(names) == len(set(names)) == 28
    for place, folder in enumerate(protocol.folders):
        assert set(folder.combine) <= set(names[:place])
    by_name = {f.name: f for f in protocol.folders}
    common = by_name["vctk_test_trials_m_common"]
    assert (common.cut_from, common.list, common.list_as) == (
        "vctk_test",
        "trials_m_common_mic2",
        "trials",
    )
    assert by_name["libri_dev_asr"].combine == ("libri_dev_trials_f", "libri_dev_trials_m")
    wanted = {n for t in protocol.trial_sets() for n in (t.trials_name, t.enrollment_name)}
    wanted |= {r.set_name(s) for r in protocol.recognition.data_sets for s in protocol.splits}
    assert wanted <= set(names)


def test_supersets_of_a_data_folder() -> None:
    protocol = load_protocol("vpc2020")
    assert protocol.supersets("vctk_dev_trials_f") == (
        "vctk_dev_trials_f_all",
        "vctk_dev_trials_all",
        "vctk_dev_asr",
    )
    assert protocol.supersets("libri_test_trials_m") == ("libri_test_trials_all", "libri_test_asr")
    assert protocol.supersets("vctk_dev_trials_all") == protocol.supersets("vctk_dev_enrolls") == ()
    assert protocol.supersets("nothing") == ()


def test_protocol_without_data_folders_loads() -> None:
    plain = load_protocol("vpc2020").to_dict()
    del plain["data_folders"]
    assert protocol_from_dict(plain, "x").folders == ()


GONE = object()


def changed(path: str, value: object) -> Plain:
    """The protocol of 2020 with another entry: `+` appends to a list, GONE removes."""
    plain = copy.deepcopy(load_protocol("vpc2020").to_dict())
    *keys, last = path.split(".")
    inner: Any = plain
    for key in keys:
        inner = inner[int(key) if key.isdigit() else key]
    if last == "+":
        inner.extend(value)
    elif value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return plain


FIRST = {
    key: load_protocol("vpc2020").to_dict()[key][0]
    for key in ("data_sets", "attack_models", "results_folders", "data_folders")
}
WRONG_SPEECH, DUPLICATE = "expected original or anonymized, found", "duplicate"
NO_KIND, FILE_NAMES = "expected either cut_from", "becomes part of file names"
OUTSIDE = "x/../../../outside"
#: Entry, value, message.
WRONG: list[tuple[str, object, str]] = [
    ("x", 1, "unknown entry 'x'"),
    ("title", GONE, "entry 'title' is missing"),
    ("variant", "new", "variant: expected challenge or exact"),
    ("splits", [], "splits must not be empty"),
    ("eer_thresholds", [0.2, 0.1], "eer_thresholds must ascend"),
    ("genders", {}, "genders must not be empty"),
    ("data_sets", [], "data_sets must not be empty"),
    ("comparisons", [], "comparisons must not be empty"),
    ("results_folders", [], "results_folders must not be empty"),
    ("anon_suffix", "", "anon_suffix must not be empty"),
    ("data_sets.+", [FIRST["data_sets"]], f"{DUPLICATE} data set"),
    ("attack_models.+", [FIRST["attack_models"]], f"{DUPLICATE} attack model"),
    ("results_folders.+", [FIRST["results_folders"]], f"{DUPLICATE} results folder suffix"),
    ("data_sets.0.trials", "{split}", f"{DUPLICATE} trial set"),
    ("table_rows", ["libri"], "table_rows must name every data set once"),
    ("table_rows.+", ["x"], "table_rows must name every data set.* x; adapt .*recognition"),
    ("comparisons.0.trial", "masked", f"{WRONG_SPEECH} 'masked'"),
    ("results_folders.0.asv_model", "none", f"{WRONG_SPEECH} 'none'"),
    ("recognition.average", "huge", "average must be one of the language models"),
    ("average_attack_model", "x", "average_attack_model must be one of the attack models"),
    ("data_sets.0.weight", "inf", "weight"),
    ("gender_weights", {"w": 2, "m": 1}, "gender_weights: unknown gender 'w': expected f, m"),
    ("data_sets.0.weight", -1.0, "weights must be finite and not negative"),
    # Entries that become parts of paths or of LaTeX.
    ("genders", {"f/m": "x"}, FILE_NAMES),
    ("splits", ["dev", OUTSIDE], FILE_NAMES),
    ("splits", ["dev}\\input{/etc/passwd}"], FILE_NAMES),
    ("anon_suffix", "/../../x", FILE_NAMES),
    ("results_folders.+", [{"suffix": "/../../x", "asv_model": "anonymized"}], FILE_NAMES),
    ("recognition.language_models", {"": "tg", "small": "s", "large": "l"}, FILE_NAMES),
    ("recognition.language_models", {"}x": "tg", "small": "s", "large": "l"}, FILE_NAMES),
    ("data_sets.0.row", "{speaker}", "no other braces and no slash"),
    ("data_sets.0.trials", "../{split}{gender}", "no slash"),
    ("data_sets.0.other_key_names", ["/etc/{split}"], "no slash"),
    ("recognition.data_sets.0.name", "a/{split}", "no slash"),
    # Data folders.
    ("data_folders.0.combine", ["libri_{split}_asr"], rf"libri_\{{split\}}_enrolls: {NO_KIND}"),
    ("data_folders.+", [{"name": "x"}], f"data_folders: x: {NO_KIND}"),
    ("data_folders.+", [{"name": "x", "cut_from": "y", "list_as": "trials"}], f"x: {NO_KIND}"),
    ("data_folders.0.list_as", "names", r"list_as: expected (enrolls or trials|one of)"),
    ("data_folders.+", [FIRST["data_folders"]], f"data_folders: {DUPLICATE} libri_dev_enrolls"),
    ("data_folders.+", [{"name": "x", "combine": ["libri_{split}_y"]}], "unknown part libri_dev_y"),
    ("data_folders.+", [{"name": "x", "combine": ["libri_dev_asr"] * 2}], f"x: {DUPLICATE} libri"),
    ("data_folders.+", [{"name": "x", "combine": ["x"]}], "circular dependency: x"),
    (
        "data_folders.+",
        [
            {"name": "x", "combine": ["z", "libri_dev_asr"]},
            {"name": "z", "cut_from": "x", "list": "l", "list_as": "trials"},
        ],
        "circular dependency: x, z",
    ),
    ("data_folders.0.cut_from", "libri_{gender}", "cut_from and list must be unique"),
    ("data_folders.0.cut_from", "../{split}", "'../dev' is not a valid file name"),
    ("data_folders.0.name", ".{split}", "'.dev' is not a valid file name"),
    ("data_folders.0.list", "{speaker}", "'{speaker}' is not a valid file name"),
]


@pytest.mark.parametrize(("path", "value", "message"), WRONG)
def test_error_names_the_wrong_entry(
    path: str, value: object, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(yaml.safe_dump(changed(path, value)))
    with pytest.raises(PrivacyEvalError, match=message) as caught:
        load_protocol(str(file))
    assert str(caught.value).startswith(f"{file}: ")


BAD_YAML: dict[str, tuple[str, str]] = {
    "tag of Python": ("title: !!python/object/apply:os.system ['touch pwned']", ":2: invalid YAML"),
    "tag of Python 2": ("title: !!python/name:os.system", ":2: invalid YAML"),
    "unknown tag": ("title: !mine x", ":2: invalid YAML"),
    "unclosed": ("title: [1, 2", ":2: invalid YAML|:3: invalid YAML"),
    "unknown alias": ("title: *x", ":2: invalid YAML"),
    "list as key": ("? [a]\n: b", ":2: invalid YAML"),
    "two documents": ("---\na: b", ":2: invalid YAML"),
    "tab": ("\ttitle: x", ":2: invalid YAML"),
    "control character": ("title: 'a\0b'", "invalid YAML"),
    "nested too deeply": ("title: " + "[" * 5000, "invalid YAML"),
    "holds itself": ("title: &a [*a]", "title: expected text"),
}


@pytest.mark.parametrize(("text", "message"), BAD_YAML.values(), ids=BAD_YAML)
def test_invalid_yaml_is_refused(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my.yaml").write_text(f"extends: vpc2020\n{text}\n")
    with pytest.raises(PrivacyEvalError, match=rf"^my\.yaml.*({message})"):
        load_protocol("my.yaml")
    assert [p.name for p in tmp_path.iterdir()] == ["my.yaml"]


@pytest.mark.parametrize(
    "text",
    [
        "title: 2020-13-45",
        "title: !!timestamp x",
        "title: !!int x",
        "title: !!int ''",
        "title: !!float x",
        "title: !!bool x",
        f"title: {'1' * 5000}",
    ],
    ids=lambda text: text[:24],
)
def test_invalid_yaml_values(text: str, tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(f"extends: vpc2020\n{text}\n")
    with pytest.raises(PrivacyEvalError, match=re.escape(str(path))):
        load_protocol(str(path))


def bomb(levels: int) -> str:
    """Lists of nine times the list before: text of 9 ** levels words in a few lines."""
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(("entry", "levels"), [("title", 2), ("title", 12), ("unknown", 60)])
def test_alias_bombs_do_not_hang(entry: str, levels: int, tmp_path: Path) -> None:
    """In a process that may not take long."""
    (tmp_path / "my.yaml").write_text(f"extends: vpc2020\n{entry}:\n{bomb(levels)}\n")
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_CPU, (2, 2))\n"
        "from privacy_eval.protocol.protocol import load_protocol\n"
        "from privacy_eval import PrivacyEvalError\n"
        "try: load_protocol('my.yaml')\n"
        "except PrivacyEvalError: sys.exit(7)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 7


# --- extends


def test_extends_across_folders(tmp_path: Path) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "deep" / "c.yaml").write_text("extends: ../b.yaml\nname: c\n")
    (tmp_path / "sub" / "b.yaml").write_text("extends: ../a.yaml\nname: b\nsplits: [dev]\n")
    (tmp_path / "a.yaml").write_text("extends: vpc2022\nname: a\ntitle: A\nsplits: [test]\n")
    protocol = load_protocol("sub/deep/c.yaml", base=tmp_path)
    assert (protocol.name, protocol.title, protocol.splits) == ("c", "A", ("dev",))
    assert protocol.results_folders == load_protocol("vpc2022").results_folders


def test_extends_with_more_of_a_list(tmp_path: Path) -> None:
    """Its own list, or else that of the other, and only a list."""
    (tmp_path / "a.yaml").write_text(
        "extends: vpc2020\nsentences: [1]\nmore_sentences: [2]\nmore_groups: ['a.csv:age']\n"
        "more_paper: [{metrics: [eer]}]\n"
    )
    (tmp_path / "b.yaml").write_text("extends: a.yaml\nmore_sentences: [3]\n")
    protocol, other = load_protocol("b.yaml", base=tmp_path), load_protocol("vpc2020")
    assert protocol.sentences == (1, 2, 3) and protocol.groups == ("a.csv:age",)
    assert [one.metrics for one in protocol.paper] == [*(x.metrics for x in other.paper), ("eer",)]
    for text in ("more_variant: [exact]", "more_genders: {x: x}", "more_x: [1]"):
        (tmp_path / "c.yaml").write_text(f"extends: vpc2020\n{text}\n")
        with pytest.raises(PrivacyEvalError, match="unknown entry 'more_"):
            load_protocol("c.yaml", base=tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.yaml": "extends: a.yaml"}, "a.yaml: extends: expected the name of another"),
        (
            {"a.yaml": "extends: b.yaml", "b.yaml": "extends: c.yaml", "c.yaml": "extends: b.yaml"},
            "b.yaml: extends: expected the name of another",
        ),
        ({"a.yaml": "extends: nothere"}, "nothere: unknown protocol; bundled protocols: "),
        ({"a.yaml": "extends: [vpc2020]"}, "a.yaml: extends: expected the name of another"),
        ({"a.yaml": "extends:"}, "a.yaml: extends: expected the name of another"),
        ({"a.yaml": "extends: ./a.yaml"}, "a.yaml: extends: expected the name of another"),
        ({"a.yaml": "extends: b.yaml", "b.yaml": "[1]"}, "a.yaml: entry 'name' is missing"),
    ],
)
def test_wrong_extends(files: dict[str, str], message: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(PrivacyEvalError, match=re.escape(message)):
        load_protocol("a.yaml", base=tmp_path)


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match="vpc1999: unknown protocol; bundled protocols"):
        load_protocol("vpc1999")
    with pytest.raises(PrivacyEvalError, match="unknown protocol"):
        load_protocol(str(tmp_path))


# --- another protocol


def test_protocol_of_other_data_drives_an_evaluation(tmp_path: Path) -> None:
    """Sets, suffix, split, gender, title, variant and conditions all come from this protocol."""
    tree = Tree(tmp_path)
    (tmp_path / "radio.yaml").write_text(OTHER_PROTOCOL)
    tree.keys("eval-lines-m", "eval-lines-m-hidden")
    tree.condition("exp/results-1", "eval-cast-hidden", "eval-lines-m")
    tree.condition("exp/results-1", "eval-cast", "eval-lines-m-hidden")
    tree.condition("exp/results-1", "eval-cast", "eval-lines-m")  # no condition of the protocol
    options = ["--tree", tmp_path, "--results", "exp", "--out", "out", "--conf", "radio.yaml"]
    evaluated = ok(cli("stage", "privacy-metrics", *options))
    assert "skipped 1 folder that match no condition of protocol radio" in evaluated.err
    assert "ASV-eval-cast-eval-lines-m" in evaluated.err
    assert cli("stage", "collect", *options).code == 0
    ok(cli("tables", "--results", tmp_path / "out/results.json", "--out", tmp_path / "tables"))
    text = (tmp_path / "tables/tables.csv").read_text()
    rows = cells_of(text, "1_asv")
    assert [*rows[0]] == ["#", "eval", "EER, %", "min Cllr", "Cllr", "Enroll", "Trial", "Gen"]
    assert [(r["eval"], r["Enroll"], r["Trial"], r["Gen"]) for r in rows] == [
        ("plays eval", "a", "o", "m"),
        ("plays eval", "o", "a", "m"),
    ]
    assert all(re.fullmatch(r"\d+\.\d{3}", r["EER, %"]) for r in rows)
    (average,) = cells_of(text, "1_averages")
    assert average == {"Average": "EER, %, anon", "eval": rows[0]["EER, %"]}
    assert "Radio plays" in (tmp_path / "tables/tables.tex").read_text()


@pytest.mark.wing("organizers")
def test_protocol_path_is_relative_to_the_tree(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "tree")
    (tree.root / "radio.yaml").write_text(OTHER_PROTOCOL)
    tree.condition("exp/results-1", "eval-cast", "eval-lines-m-hidden")
    run = command(
        "stage", "check", "--tree", "tree", "--results", "exp", "--conf", "radio.yaml", cwd=tmp_path
    )
    assert "protocol: Radio plays (radio); tree: tree; scores: tree/exp\n" in run.out
    assert "no trial key (1): ASV-eval-cast-eval-lines-m-hidden" in run.out


OWN = {"id": "plda", "title": "own", "scoring": "plda"}


@pytest.mark.parametrize(
    "attackers",
    [
        [{"id": "words", "title": "words", "scoring": "words"}],
        [{"id": "own", "title": "own", "scoring": "plda"}],
        [{"id": i, "title": i, "scoring": i} for i in ("plda", "cosine")],
        [{"id": i, "title": i, "scoring": "plda"} for i in ("plda", "other")],
        [{"id": "plda", "title": "own", "scoring": "plda"}, {"id": "../up", "title": "up"}],
        [
            {"id": "plda", "title": "own", "scoring": "plda"},
            {"id": "a", "title": "a", "knows": ["age"]},
        ],
    ],
)
def test_invalid_attackers(attackers: list[Plain]) -> None:
    values = {**load_protocol("vpc2020").to_dict(), "attackers": attackers}
    with pytest.raises(PrivacyEvalError, match="attackers|file names"):
        protocol_from_dict(values, "protocol")


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ("asv_models: [{trained_on: original, folder: exp/ecapa, backend: cosine}]", "cosine"),
        ("attackers: [{id: cosine, title: cosine, scoring: cosine}]", "plda"),
    ],
)
def test_an_own_attacker_of_another_back_end_gets_the_entry_to_write(
    entries: str, wanted: str, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(
        f"extends: vpc2020\naverage_attack_model: ignorant\n{entries}\n"
    )
    with pytest.raises(PrivacyEvalError, match="must be") as error:
        load_protocol("p.yaml", base=tmp_path)
    (entry,) = re.findall(r"\{id: .*?\}", str(error.value))
    assert entry == own_entry(wanted)
    kept = "" if entries.startswith("attackers") else entries
    text = f"extends: vpc2020\naverage_attack_model: ignorant\nattackers: [{entry}]\n{kept}\n"
    (tmp_path / "p.yaml").write_text(text)
    assert load_protocol("p.yaml", base=tmp_path).own_attacker == wanted
