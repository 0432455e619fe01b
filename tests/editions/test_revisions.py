"""Result files in the layouts of earlier revisions: all numbers are read, and none is dropped."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support import ANON as ANON_2022
from support import B1, ROOT, SUMMARY, Run, cli, csv_rows, metrics_of, ok, refused
from support import ORIG as ORIG_2022

from privacy_eval.results.json_store import read_results
from privacy_eval.results.records import Results

FILES = ROOT / "tests/data/golden/revisions"
TWO, INTERVALS, FIRST = "2024_results_two_models.txt", "2024_rank_intervals", "2024_rank_first"
EARLY, GENDERS, ANON = "2022_results.anon_early", "2026_rank_genders", "2024_results_anon.txt"
#: Numbers of the file that differ, and those of them that are no values.
NAMES = {EARLY: 56, FIRST: 24, INTERVALS: 48, ANON: 12, "2024_results_orig.txt": 40, TWO: 92}
SPEECH = {"original": "original", "anon": "anonymized"}
Number = tuple[tuple[str, ...], str, float]


def conf_of(name: str) -> str:
    edition = re.sub(r"_.*|\D", "", name)
    return f"vpc{edition}_track1" if edition == "2026" else f"vpc{edition}"


def run_import(path: Path, out: Path, *options: object, conf: str = "") -> Run:
    return cli(
        *("import", path, "--system", "S", "--conf", conf or conf_of(path.name), "--out", out),
        *options,
    )


def imported(path: Path, out: Path, *options: object, conf: str = "") -> Results:
    ok(run_import(path, out, *options, conf=conf))
    return read_results(out)


def numbers_of_tables(text: str, named: str) -> list[Number]:
    """Read the numbers of a file of 2024 or 2026 by regular expressions."""
    found: list[Number] = []
    seen = 0
    for block in re.split(r"(?m)^---- (?!Time)", text)[1:]:
        heading = block.split(" results")[0]
        row = r"(?m)^\d+ +(\w+) +(dev|test) "
        if heading.startswith("ASV"):
            seen += 1
            of_order = "original" if seen == 1 else "anonymized"
            told = {"ASV_eval": "original", "ASV_eval^anon": "anonymized", "ASV": named or of_order}
            form = row + r"+(f|m|mixed) +(\w+) +(\w+) +([\d.]+)(?: +([\d.]+) +([\d.]+))?$"
            for m in re.finditer(form, block):
                place = (told[heading], *m.group(1, 2, 3), SPEECH[m[4]], SPEECH[m[5]])
                found.append((place, "eer_speechbrain", float(m[6]) / 100))
                if m[7]:
                    found.append((place, "EER-ci_lower", float(m[7]) / 100))
                    found.append((place, "EER-ci_upper", float(m[8]) / 100))
        else:
            columns = block.split("\n")[1].split()[3:]
            renamed = {"mean": "uar", "min": "UAR-min", "max": "UAR-max"}
            for m in re.finditer(row + r"+(original|anon) +([\d. ]+)$", block):
                for column, cell in zip(columns, m[4].split(), strict=True):
                    key = renamed.get(column, column.lower())
                    found.append(((m[1], m[2], SPEECH[m[3]]), key, float(cell) / 100))
    return found


def numbers_of_2022(text: str) -> list[Number]:
    found: list[Number] = []
    for name, body in re.findall(r"(ASV-\S+)\n((?:  .*\n|\s*\n)+)", text):
        number = r": (\d+\.\d+)"
        eer, link = (re.search(k + number, body) for k in ("EER", "linkability"))
        both = re.search(r"act\): (\d\.\d{6}) (\d\.\d{6})", body)
        assert eer and link and both
        found += [((name,), "eer", float(eer[1]) / 100), ((name,), "linkability", float(link[1]))]
        found += [((name,), "cllr_min", float(both[1])), ((name,), "cllr", float(both[2]))]
    for name, body in re.findall(r"(ASR-\S+)\n((?:%WER.*\n)+)", text):
        rates = re.findall(r"%WER (\S+) .*_(small|large|tgsmall|tglarge)/", body)
        found += [((name, model), "wer", float(rate) / 100) for rate, model in rates]
    return list(dict.fromkeys(found))


def values_of(record: dict[str, Any]) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in record["rows"]}


def numbers_of_json(path: Path, is_2022: bool) -> list[Number]:
    read: list[Number] = []

    def add(place: tuple[str, ...], *several: dict[str, float]) -> None:
        read.extend((place, key, value) for values in several for key, value in values.items())

    plain = json.loads(path.read_text())
    for v in plain["verification"]:
        names = ("asv_model", "data_set", "split", "gender", "enrollment", "trial")
        place = (v["condition"],) if is_2022 else tuple(v[name] for name in names)
        add(place, *metrics_of(v).values(), v.get("stated", {}))
        assert not any("low" in row for row in v["rows"]) and not v.get("facts")
    for r in plain["recognition"]:
        place = (r["data_set"], r["split"], r["trial"])
        of_2022 = (r["condition"], f"tg{r['facts']['language_model']}") if is_2022 else place
        add(of_2022, values_of(r), r.get("stated", {}))
    for e in plain["emotion"]:
        add((e["data_set"], e["split"], e["trial"]), values_of(e), e.get("stated", {}))
    return read


def rounded(numbers: list[Number]) -> Counter[Any]:
    return Counter((place, key, round(value, 9)) for place, key, value in numbers)


@pytest.mark.parametrize("name", [*NAMES, GENDERS])
def test_all_numbers_of_a_revision_are_read(name: str, tmp_path: Path) -> None:
    text = (FILES / name).read_text()
    named = {"2024_results_orig.txt": "original", ANON: "anonymized"}.get(name, "")
    is_2022 = name == EARLY
    expected = numbers_of_2022(text) if is_2022 else numbers_of_tables(text, named)
    assert len(expected) == NAMES.get(name, 32)
    imported(FILES / name, tmp_path / "r.json")
    assert rounded(numbers_of_json(tmp_path / "r.json", is_2022)) == rounded(expected)
    assert cli("export", tmp_path / "r.json", "--format", "csv", "--out", tmp_path / "r.csv")
    rows = [row for row in csv_rows(tmp_path / "r.csv") if not row["fold"]]
    values = Counter(round(float(row["value"]), 9) for row in rows)
    assert values == Counter(round(value, 9) for *_, value in expected)
    # What a file states is never in the columns of intervals over speakers.
    assert not any(row["low"] or row["high"] for row in rows)
    stated = [row for row in rows if row["metric"].startswith("stated_EER-ci_")]
    assert all("not over speakers" in row["caveats"] for row in stated)
    assert len(stated) == 2 * sum("ci_lower" == key[-8:] for _, key, _ in expected)


@pytest.mark.parametrize("verb", ["tables", "report"])
def test_stated_intervals_are_not_shown_as_intervals(verb: str, tmp_path: Path) -> None:
    imported(FILES / TWO, tmp_path / "r.json")
    out = tmp_path / ("report.html" if verb == "report" else "tables")
    ok(cli(verb, "--results", tmp_path / "r.json", "--out", out))
    files = [out] if out.is_file() else [p for p in out.rglob("*") if p.is_file()]
    shown = "".join(p.read_text() for p in files)
    bounds = re.findall(
        r"(?m)(?:anon|original) +[\d.]+ +([\d.]+) +([\d.]+)$", (FILES / TWO).read_text()
    )
    assert len(bounds) == 24 + 4
    assert not any(number in shown for pair in bounds[4:] for number in pair)
    assert "not over speakers" in shown


def test_other_data_sets_of_recognition_are_not_averaged(tmp_path: Path) -> None:
    imported(FILES / TWO, tmp_path / "r.json")
    averages = cli("export", tmp_path / "r.json", "--format", "averages").out
    rates = re.findall(r"libri +test +anon +([\d.]+)$", (FILES / TWO).read_text(), re.MULTILINE)
    assert f"Average WER test anon: {rates[0]}\n" in averages


def test_genders_beside_pooled_trials_are_shown_and_not_averaged(tmp_path: Path) -> None:
    results = imported(FILES / GENDERS, tmp_path / "r.json")
    assert results.protocol.gender_weights == {"f": 0, "m": 0}
    [mixed] = re.findall(
        r"test +mixed +anon +anon +([\d.]+)$", (FILES / GENDERS).read_text(), re.M
    )[1:]
    averages = cli("export", tmp_path / "r.json", "--format", "averages").out
    assert f"EER (SpeechBrain) test anon: {mixed}\n" in averages
    tables = cli("tables", "--results", tmp_path / "r.json", "--format", "markdown").out
    assert "S: 4 of the protocol's 8 conditions" in tables
    # Beside a system of the later form.
    text = (FILES / GENDERS).read_text()
    later = tmp_path / "later"
    later.write_text(re.sub(r"(?m)^\d+ .* [fm] .*\n", "", text))
    imported(later, tmp_path / "o.json", conf="vpc2026_track1")
    text = (tmp_path / "o.json").read_text().replace('"system": "S"', '"system": "T"')
    (tmp_path / "o.json").write_text(text)
    assert list(read_results(tmp_path / "o.json").protocol.genders) == ["mixed"]
    for order in ("ro", "or"):
        files = [tmp_path / f"{name}.json" for name in order]
        ok(cli("tables", "--results", *files, "--out", tmp_path / order))


VARIANTS = {
    "CRLF with BOM": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    "tabs": lambda text: re.sub(r"(?m)(?<!-) +(?![a-z]+ ----)(?!----)", "\t", text),
    "trailing blanks": lambda text: text.replace("\n", "  \n"),
    "no numbers": lambda text: re.sub(r"(?m)^\d+ +(?=[a-zA-Z])", "", text),
    "appended again": lambda text: text + "\n" + text,
}


OF_TABLES = ("tabs", "no numbers")
CASES = [
    (n, v) for n in (TWO, INTERVALS, EARLY) for v in VARIANTS if n != EARLY or v not in OF_TABLES
]


@pytest.mark.parametrize(("name", "variant"), CASES)
def test_siblings_of_a_file_give_the_same(name: str, variant: str, tmp_path: Path) -> None:
    changed = VARIANTS[variant]((FILES / name).read_text())
    path = tmp_path / name
    path.write_bytes(changed.encode())
    numbers = []
    for number, file in enumerate((FILES / name, path)):
        out = tmp_path / f"{number}.json"
        if variant == "appended again" and file is path:
            done = run_import(path, out)
            assert done.code == 0 and "counted once" in done.err
        imported(file, out)
        numbers.append(rounded(numbers_of_json(out, name == EARLY)))
    assert numbers[0] == numbers[1]


def test_columns_in_another_order(tmp_path: Path) -> None:
    lines = (FILES / INTERVALS).read_text().split("\n")
    at = lines.index("---- ASV_eval^anon results ----") + 1
    order = [7, 0, 5, 4, 3, 2, 1, 6]
    for n in range(at, len(lines)):
        cells = lines[n].split()
        number, cells = (cells[:1], cells[1:]) if n > at else ([], cells)
        lines[n] = " ".join([*number, *(cells[i] for i in order)]) if cells else ""
    path = tmp_path / "2024_exchanged"
    path.write_text("\n".join(lines))
    for file in (FILES / INTERVALS, path):
        imported(file, tmp_path / f"{file.name}.json")
    first, second = (
        rounded(numbers_of_json(tmp_path / f"{name}.json", False))
        for name in (INTERVALS, path.name)
    )
    assert first == second


def test_one_block_needs_its_model(tmp_path: Path) -> None:
    """A neutral name: the file does not tell whether the attacker was trained anew."""
    path = tmp_path / "2024_mine.txt"
    path.write_text((FILES / ANON).read_text())
    done = run_import(path, tmp_path / "r.json")
    assert done.code == 1 and "--attack-model" in done.err and not (tmp_path / "r.json").exists()
    for attack, model in (("semi-informed", "anonymized"), ("lazy-informed", "original")):
        results = imported(path, tmp_path / "r.json", "--attack-model", attack)
        assert {v.condition.asv_model for v in results.verification} == {model}
    done = run_import(path, tmp_path / "r.json", "--attack-model", "semi-informed,lazy-informed")
    assert done.code == 1
    done = run_import(FILES / INTERVALS, tmp_path / "r.json", "--attack-model", "x")
    assert done.code == 1 and "it has original, ignorant, lazy-informed, semi-informed" in done.err


def edited(path: Path, text: str, *pairs: tuple[str, str]) -> Path:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return path


def test_blocks_that_may_be_of_one_model_need_it(tmp_path: Path) -> None:
    text = (FILES / TWO).read_text()
    pretrained = text.split("---- Time: 02")[0]
    third = text + "\n" + (FILES / ANON).read_text()
    dev, test = (re.sub(rf"(?m)^.* {split} .*\n", "", pretrained) for split in ("test", "dev"))
    cases = {
        "no time between": re.sub("---- Time.*", "", text),
        "a whole run twice, of other EERs": pretrained
        + re.sub(r"(anon +anon +)\d+", r"\g<1>33", pretrained),
        "three": third,
        "dev, then test": dev + re.sub(r"---- (SER|ASR) (?s:.*?)\n\n", "", test),
    }
    path = tmp_path / "2024_mine.txt"
    for case, content in cases.items():
        path.write_text(content)
        done = run_import(path, tmp_path / "r.json")
        assert done.code == 1 and "--attack-model" in done.err, case
    path.write_text(third)
    options = ("--attack-model", "lazy-informed,semi-informed,semi-informed")
    done = run_import(path, tmp_path / "r.json", *options)
    assert done.code == 1 and re.search(r":\d+: another EER than at .*:\d+", done.err)


def test_a_retrained_model_gives_other_eers_of_original_speech(tmp_path: Path) -> None:
    """Otherwise the second block is a later run of the same model."""
    block = (FILES / ANON).read_text()
    later = re.sub(r"(?m)(anon +anon +)[\d.]+$", r"\g<1>12.345", block)
    path = tmp_path / "2024_mine.txt"
    path.write_text(block + "\n" + later)
    refused(run_import(path, tmp_path / "r.json"), "--attack-model")


def test_several_runs_of_other_values_are_refused(tmp_path: Path) -> None:
    for name, before in ((INTERVALS, "dev +f +anon +anon +"), (EARLY, "EER: ")):
        text = (FILES / name).read_text()
        path = tmp_path / name
        path.write_text(re.sub(rf"({before})\d+\.\d+", r"\g<1>33.25", text, count=1) + "\n" + text)
        done = run_import(path, tmp_path / "r.json")
        assert done.code == 1 and re.search(r":\d+: another (EER|eer) than at .*:\d+: ", done.err)


def test_nan_is_left_out_and_named(tmp_path: Path) -> None:
    text = (FILES / INTERVALS).read_text()
    [line] = re.findall(r"(?m)^\d+ +libri +test +m +anon +anon .*$", text)
    new = re.sub(r"anon +\d+\.\d+ ", "anon     NaN ", line)
    path = edited(tmp_path / INTERVALS, text, (line, new))
    done = run_import(path, tmp_path / "r.json")
    number = path.read_text().split("\n").index(new) + 1
    assert done.code == 0 and f"{path}:{number}: EER is NaN" in done.err
    averages = cli("export", tmp_path / "r.json", "--format", "averages").out
    assert "EER (SpeechBrain) dev anon" in averages
    assert "EER (SpeechBrain) test anon" not in averages


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("2024_a", "", "empty file"),
        ("2024_a", "\n \n", "empty file"),
        ("2024_a", "---- Time: 05-03-24_01:19 ----\n", "no results"),
        (
            "2024_a",
            "---- ASV_eval results ----\nEmpty DataFrame\nColumns: []\nIndex: []\n",
            "no rows",
        ),
        ("2024_a", "---- GVD results ----\n  a\n0 1\n", ":1: unknown heading"),
        (
            "2024_a",
            "---- ASR results ----\ndataset split asr WER WER-median\n0 libri dev anon 1.0 2.0\n",
            ":2: expected the columns dataset split asr and WER",
        ),
        ("2022_results.anon_a", "ASV-a\n  EER: 0.123\n", ":2: fraction or percent"),
        ("2022_results.txt", "ASV-a\n  EER: 12.3%\n", "--attack-model"),
        (
            "2024_a",
            "---- ASV_eval results ----\n dataset split gender enrollment trial EER\n"
            "0 libri dev mixed anon anon 1.0\n",
            ":3: .* not part of protocol vpc2024 .*--conf",
        ),
    ],
)
def test_what_cannot_be_placed_is_refused(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    done = run_import(path, tmp_path / "r.json")
    assert done.code == 1 and re.search(message, done.err), done.err
    assert not (tmp_path / "r.json").exists()


def test_a_recognizer_tells_the_folder_of_2022(tmp_path: Path) -> None:
    line = (
        "  %WER 5.00 [ 5 / 100, 1 ins, 1 del, 3 sub ] exp/models/{}/decode_a_tglarge/wer_12_0.5\n"
    )
    path = tmp_path / "2022_mine"
    for recognizer, folder in (("asr_eval", ".orig"), ("user_asr_eval_anon", "")):
        path.write_text("ASR-libri_dev_asr\n" + line.format(recognizer))
        [record] = imported(path, tmp_path / "r.json").recognition
        assert record.condition.results_folder == folder


def test_a_file_of_a_model_that_the_protocol_lacks_is_named(tmp_path: Path) -> None:
    done = run_import(ANON_2022, tmp_path / "r.json", conf="vpc2020")
    assert done.code == 2 and "--conf" in done.err and not (tmp_path / "r.json").exists()
    for name, source in (
        ("x.txt", ANON_2022),
        ("y.txt", FILES / EARLY),
        ("orig.txt", FILES / EARLY),
    ):
        path = tmp_path / name
        path.write_text(
            re.sub(r"ASR-(?s:.*)", "", source.read_text())
            if name == "y.txt"
            else source.read_text()
        )
        done = run_import(path, tmp_path / "r.json", conf="vpc2020")
        assert done.code == 2 and f"{path}: not of vpc2020" in done.err and "--conf" in done.err
    imported(path, tmp_path / "r.json", "--attack-model", "lazy-informed", conf="vpc2020")
    done = run_import(ANON_2022, tmp_path / "r.json", conf="vpc2022")
    assert done.code == 0 and "not of" not in done.err


def test_a_file_of_2020_may_be_named_by_its_anonymization(tmp_path: Path) -> None:
    for name in ("B1_anon.txt", "results_anon", "anonymized/results.txt", "mine"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(B1.read_text())
        done = run_import(path, tmp_path / "r.json", conf="vpc2020")
        assert done.code == 0 and ": S, protocol vpc2020: 36 of 36 conditions, " in done.err


def test_a_file_to_import_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / ANON)
    first, second = tmp_path / "2024_results_orig.txt", tmp_path / ANON
    for path in (first, second):
        path.write_text((FILES / path.name).read_text())
    for out in (first, second, tmp_path / "link", tmp_path / f"../{tmp_path.name}/{ANON}"):
        done = run_import(first, out, "--also", f"semi-informed={second}")
        assert done.code == 2 and f"--out {out} would overwrite" in done.err
    for path in (first, second):
        assert path.read_text() == (FILES / path.name).read_text()


def test_a_missing_attack_that_ranks_is_named(tmp_path: Path) -> None:
    text = (FILES / INTERVALS).read_text()
    path, out = tmp_path / INTERVALS, tmp_path / "r.json"
    path.write_text(text.partition("---- ASV_eval^anon")[0])
    said = "no EER of the semi-informed attack, by which vpc2024 ranks"
    for file, is_missing in ((path, True), (FILES / INTERVALS, False)):
        done = run_import(file, out)
        assert done.code == 0 and (said in done.err) == is_missing
    done = run_import(FILES / "2024_results_orig.txt", out)
    assert done.code == 0 and said in done.err and "12 of 24 conditions" in done.err
    done = run_import(ORIG_2022, out, conf="vpc2022")
    assert "no EER of the semi-informed attack, by which vpc2022 ranks" in done.err
    path.write_text(text.rstrip()[:-1])  # within its last number
    done = run_import(path, out)
    assert done.code == 0 and f"{path}: " in done.err and "newline" in done.err


def test_an_attack_model_that_headings_contradict_is_refused(tmp_path: Path) -> None:
    text, out = (FILES / INTERVALS).read_text(), tmp_path / "r.json"
    path = tmp_path / "2024_one"
    path.write_text(text.partition("---- ASV_eval^anon")[0])
    for file, attack, is_right in (
        (path, "lazy-informed", True),
        (path, "semi-informed", False),
        (FILES / INTERVALS, "semi-informed", False),
        (FILES / INTERVALS, "lazy-informed,semi-informed", True),
    ):
        done = run_import(file, out, "--attack-model", attack)
        assert done.code == (0 if is_right else 2), done.err
        assert ("headings name " in done.err) != is_right
    done = run_import(SUMMARY, out, "--attack-model", "semi-informed", conf="vpc2022")
    assert done.code == 2 and "--attack-model" in done.err


def test_csv_tables_state_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "asv_orig"
    folder.mkdir()
    path = folder / "results.csv"
    path.write_text(
        ",dataset,split,gender,enrollment,trial,EER,EER-ci_lower,EER-ci_upper\n"
        "0,libri,dev,f,original,original,4.5,3.25,6.75\n"
    )
    [v] = imported(path, tmp_path / "r.json", conf="vpc2024").verification
    assert v.stated == {"EER-ci_lower": 0.0325, "EER-ci_upper": 0.0675}
    path.write_text(",dataset,split,ser,mean,min,max\n0,IEMOCAP,dev,anon,40.5,30.25,50.75\n")
    [e] = imported(path, tmp_path / "r.json", conf="vpc2024").emotion
    assert (e.values(), e.stated) == ({"uar": 0.405}, {"UAR-min": 0.3025, "UAR-max": 0.5075})


def test_repeated_rows_of_csv_are_those_of_other_files(tmp_path: Path) -> None:
    path = tmp_path / "asv_orig/results.csv"
    path.parent.mkdir()
    row = "libri,dev,f,original,original,4.5\n"
    path.write_text(f"dataset,split,gender,enrollment,trial,EER\n{row}{row}")
    done = run_import(path, tmp_path / "r.json", conf="vpc2024")
    assert done.code == 0 and "1 value repeated unchanged" in done.err
    path.write_text(path.read_text().replace("4.5", "5.5", 1))
    done = run_import(path, tmp_path / "r.json", conf="vpc2024")
    assert done.code == 1 and f"{path}:3: another EER than at {path}:2" in done.err


def test_a_stated_interval_beside_its_eer_is_kept(tmp_path: Path) -> None:
    """As feerci computes it where there are few errors."""
    path = tmp_path / "2024_rank"
    header = "dataset split gender enrollment trial EER EER-ci_lower EER-ci_upper"
    path.write_text(
        f"---- ASV_eval results ----\n{header}\n0 libri dev m original original 0.000 0.451 53.75\n"
    )
    [v] = imported(path, tmp_path / "r.json").verification
    assert v.by_variant()["challenge"]["eer_speechbrain"] == 0
    assert v.stated == {"EER-ci_lower": 0.00451, "EER-ci_upper": 0.5375}


@pytest.mark.parametrize("percent", ["8.962", "0.57", "56.97", "1.1", "7", "99.999"])
def test_fractions_have_the_digits_of_the_file(percent: str, tmp_path: Path) -> None:
    path = tmp_path / "2024_rank"
    head = "---- ASV_eval results ----\ndataset split gender enrollment trial EER EER-ci_lower"
    path.write_text(f"{head}\n0 libri dev m original original {percent} {percent}\n")
    [v] = imported(path, tmp_path / "r.json").verification
    shifted = float(f"{percent}e-2")
    assert (v.by_variant()["challenge"]["eer_speechbrain"], [*v.stated.values()]) == (
        shifted,
        [shifted],
    )


@pytest.mark.parametrize("value", ["..", ".", "1.2.3", "12,5"])
def test_an_eer_that_is_no_number_is_refused_with_its_line(value: str, tmp_path: Path) -> None:
    path = tmp_path / "results.anon_x"
    path.write_text(f"ASV-libri_dev_enrolls-libri_dev_trials_f\n  EER: {value}\n")
    refused(run_import(path, tmp_path / "out.json", conf="vpc2022"), f"{path}:2: ")
