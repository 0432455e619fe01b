"""The picture that answers: how often each attack on each system errs, on one axis from 0 % (the
speaker is identified) to 50 % (guessing), with what the anonymization costs on the same rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from ..choices import LEVEL
from ..metrics import describe
from ..numbers.cells import ORIGINAL_COLUMN, interval_of, system_column
from ..numbers.means import difference, is_paired
from ..numbers.report_data import ReportData
from ..results.measurements import Row
from .markup import Markup, join, tag

#: The name of the first row.
UNPROTECTED = "Original speech"

#: Utility of the picture's columns, and what their heads say.
COSTS: Mapping[str, str] = {
    "wer": "Word errors (WER)",
    "uar": "Emotion recall (UAR)",
    "dnsmos_ovrl": "Quality (DNSMOS)",
}

#: Rows whose marks lie below each other; those of more rows lie on one line.
_MOST_WIDE = 7

_BEST = "Best attack errs"

#: Shapes of marks in report.css.
_SHAPES = 8

#: The end of the axis: guessing.
GUESSING = 50.0


def attack_rows(data: ReportData) -> dict[str, list[Row]]:
    """Return the mean EERs of the main split by system, original speech first.

    Each row is one attack with a `title`, and `is_best` where it has the lowest EER of the system.
    Evaluated systems stand in the order of these EERs, and of their rank; where there are none,
    published ones in that of their source.
    """
    protocol, split = data.protocol, data.main_split
    models = [a for a in protocol.attack_models if not a.is_original]
    rows: dict[str, list[Row]] = {
        UNPROTECTED: [{**data.original_eer, "title": "without anonymization"}]
    }
    means = data.unpublished.means if data.results.systems else data.means
    for system in _systems(data):
        tried = data.tried.get((system, split))
        own: Iterable[Row] = (
            {
                **means.of(protocol.eer, model.id, split, _column(data, system)),
                "title": model.title,
                "model": model,
                "attacker": protocol.own_attacker,
            }
            for model in models
        )
        rows[system] = list(own if tried is None else tried.attackers)
    found: dict[str, list[Row]] = {}
    for system, of_system in rows.items():
        valid = [row for row in of_system if row["of_present"] is not None]
        compared = data.tried[system, split].compared if (system, split) in data.tried else valid
        lowest = min((row["of_present"] for row in compared), default=None)
        found[system] = [{**r, "is_best": r["of_present"] == lowest} for r in valid]
    kept = {s: of for s, of in found.items() if of or s != UNPROTECTED}
    if not data.results.systems:
        return kept
    lowest = {s: percent(best_attack(of) or {"of_present": 0}) for s, of in kept.items()}
    return dict(sorted(kept.items(), key=lambda of: (of[0] != UNPROTECTED, -lowest[of[0]])))


def best_attack(rows: Sequence[Row]) -> Row | None:
    """Return the attack with the lowest EER."""
    return next((row for row in rows if row["is_best"]), None)


def costs(data: ReportData) -> dict[str, dict[str, Row]]:
    """Return the mean utility of the main split, by metric and system; no metric without values of
    anonymized speech."""
    means = data.unpublished.means if data.results.systems else data.means
    columns = {UNPROTECTED: ORIGINAL_COLUMN} | {s: _column(data, s) for s in _systems(data)}
    found = {}
    for metric in COSTS:
        of = {s: means.of(metric, None, data.main_split, column) for s, column in columns.items()}
        valued = {s: row for s, row in of.items() if row["value"] is not None}
        if valued.keys() - {UNPROTECTED}:
            found[metric] = valued
    return found


def _systems(data: ReportData) -> Sequence[str]:
    """List the evaluated systems; the published ones, where nothing else was evaluated."""
    return data.systems_by_rank or data.cells.systems


def _column(data: ReportData, system: str) -> str:
    return system_column(system) if data.results.systems else system


def _ranks(data: ReportData) -> dict[str, int]:
    """Number the systems of the ranking, published ones beside evaluated ones included."""
    names = {_column(data, s): s for s in _systems(data)}
    ranked = enumerate(data.main_ranking.ranked, start=1)
    return {names[r["system"]]: number for number, r in ranked if r["system"] in names}


def ranks(data: ReportData) -> dict[str, dict[str, str]]:
    """Return the column of ranks among three systems or more."""
    of = {system: str(number) for system, number in _ranks(data).items()}
    return {f"Rank ({data.protocol.average_attack.phrase})": of} if len(of) > 2 else {}


def shapes(rows: Mapping[str, Sequence[Row]]) -> dict[str, int]:
    """Number the attacks, original speech aside, by their titles: each has a shape and a colour."""
    titles = dict.fromkeys(r["title"] for s, of in rows.items() if s != UNPROTECTED for r in of)
    return {title: number for number, title in enumerate(titles)}


def look_of(number: int) -> str:
    """Return the classes of an attack's shape and colour: pairs repeat after 64 attacks."""
    return f"s{number % _SHAPES} c{(number + number // _SHAPES) % _SHAPES}"


def lanes(of_system: Sequence[Row], rows: Mapping[str, Sequence[Row]]) -> int:
    """Return how many lines the marks of a system take: one, among many systems."""
    return 1 if len(rows) > _MOST_WIDE else len(of_system)


def percent(row: Row) -> float:
    """Return the EER of a row, in %."""
    return 100 * float(row["of_present"])


def answer_picture(data: ReportData, named: Mapping[str, Mapping[str, str]]) -> Markup:
    """Draw the picture as a table: systems, marks on the axis, and numbers beside it.

    Parameters
    ----------
    named : mapping of str to mapping of str to str
        Further columns: texts by system.
    """
    rows, beside = attack_rows(data), costs(data)
    number_of, eer = shapes(rows), describe(data.protocol.eer)
    heads = [
        tag("th", "System", class_="l", scope="col"),
        tag(
            "th",
            f"Errors of each attack ({eer.name}, %; more is better)",
            _ticks(),
            class_="l strip",
            scope="col",
        ),
        tag("th", _BEST, scope="col"),
        *(tag("th", title, scope="col") for title in named),
        *(tag("th", COSTS[metric], scope="col") for metric in beside),
    ]
    body = []
    for system, of_system in rows.items():
        best = best_attack(of_system)
        cells = [
            tag("th", system, class_="l", scope="row", title=system),
            _strip(system, of_system, number_of, data),
            _best(best, system),
            *(tag("td", of.get(system, ""), data_head=title) for title, of in named.items()),
            *(_cost(of.get(system), metric) for metric, of in beside.items()),
        ]
        body.append(tag("tr", *cells, id=_address(system)))
    every = [row for of in rows.values() for row in of]
    legend = [
        tag(
            "li",
            tag("span", class_=f"mark {look_of(number)}", aria_hidden="true"),
            title,
            tag("small", _knowledge(title, every, data)),
        )
        for title, number in number_of.items()
    ]
    if any(interval_of(row) for row in every):
        legend.append(
            tag(
                "li",
                tag("small", "large: best attack; lines: 95 % intervals; certain: paired test"),
            )
        )
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body), class_="picture")
    dense = " dense" * (len(rows) > _MOST_WIDE)
    return tag("div", tag("ul", *legend, class_="attacks"), table, class_=f"answer{dense}")


def _knowledge(title: str, rows: Sequence[Row], data: ReportData) -> str:
    """Say what an attacker of the challenge's own knows, or of the words alone."""
    row = next(row for row in rows if row["title"] == title)
    if row["attacker"] == data.protocol.own_attacker:
        return f" {row['model'].knowledge.removeprefix('who ')}"
    return " reads what is said" if row["is_words"] else ""


def _ticks() -> Markup:
    """Write the scale of the axis."""
    labels = {0: "0 identified", 50: "50 guessing"}
    ticks = (
        tag("span", labels.get(value, str(value)), style=f"left:{2 * value}%", class_=name)
        for value, name in zip(range(0, 51, 10), ("first", *[None] * 4, "last"), strict=True)
    )
    return tag("div", *ticks, class_="ticks", aria_hidden="true")


def _strip(
    system: str, rows: Sequence[Row], number_of: Mapping[str, int], data: ReportData
) -> Markup:
    """Draw the marks of a system, with their intervals, above the bands of the protocol."""
    marks = [
        tag("i", style=f"left:{200 * threshold:.4g}%", class_="band")
        for threshold in data.protocol.eer_thresholds
    ]
    for lane, row in enumerate(sorted(rows, key=percent), start=1):
        top = f"top:{100 * lane / (len(rows) + 1):.4g}%"
        bounds = interval_of(row)
        if bounds is not None:
            low, high = (min(max(100 * end, 0.0), GUESSING) for end in bounds)
            place = f"left:{2 * low:.4g}%;width:{2 * (high - low):.4g}%;{top}"
            marks.append(tag("i", style=place, class_="ci" + " best" * row["is_best"]))
        name = look_of(number_of[row["title"]]) if row["title"] in number_of else "original"
        beyond = percent(row) > GUESSING
        side = " right" * (percent(row) > GUESSING / 2)
        marks.append(
            tag(
                "span",
                tag("b", row["printed"]) if beyond else "",
                class_=f"mark {name}{' best' * row['is_best']}{side}",
                style=f"left:{2 * min(percent(row), GUESSING):.4g}%;{top}",
                tabindex="0",
                role="img",
                aria_label=described(system, row),
            )
        )
    height = f"--lanes:{len(rows)}"
    return tag("td", tag("div", *marks, class_="axis", style=height), class_="strip")


def described(system: str, row: Row) -> str:
    """Describe a mark: system, attack, value, interval, counts."""
    metric = describe(row["metric"])
    bounds = metric.interval(interval_of(row))
    parts = len(row["parts"])
    sets = f"mean of {parts} trial sets" if parts > 1 else "1 trial set"
    best = ", the best attack" * (row["is_best"] and system != UNPROTECTED)
    value = f"{metric.name} {row['printed']} % {bounds}".rstrip()
    return f"{system}, {row['title']}{best}: {value}; {sets}"


def _best(row: Row | None, system: str) -> Markup:
    """Write the cell of the best attack: its EER, and which attack it is."""
    if row is None:
        return tag("td", "n/a", data_head=_BEST)
    name = [" ", tag("small", row["title"])] * (system != UNPROTECTED)
    return tag("td", f"{row['printed']} %", *name, data_head=_BEST)


def _cost(row: Row | None, metric: str) -> Markup:
    """Write a cell of utility, with its interval for those who point at it."""
    if row is None:
        return tag("td", "n/a", data_head=COSTS[metric])
    unit = " %" * describe(metric).percent
    bounds = describe(metric).interval(interval_of(row))
    title = f"{row['printed']}{unit} {bounds}" if bounds else None
    return tag("td", join([f"{row['printed']}{unit}"]), title=title, data_head=COSTS[metric])


def answer_sentence(data: ReportData) -> str:
    """Answer in one sentence which system protects, and how well; "" without a ranking."""
    rows, ranking = attack_rows(data), data.main_ranking
    ranked = [r for r in ranking.ranked if r["system"] in ranking.own or not ranking.own]
    names = {_column(data, s): s for s in _systems(data)}
    best = {s: best_attack(of) for s, of in rows.items()}
    means = {s: r for r in ranked if best.get(s := names.get(r["system"], ""))}
    if not means:
        return ""
    average, order = data.protocol.average_attack, [*means]
    attacks = {s: {r["title"] for r in of} for s, of in rows.items()}
    alike = [s for s in order if attacks[s] == attacks[order[0]]]
    first, *others = sorted(alike, key=lambda s: -percent(best[s] or {}))
    errs, of_first = "the best attack errs in", _whole(best[first])
    if len(order) == 1:
        return f"On {first}, {errs} {of_first} of its decisions; guessing errs in 50 %."
    second = order[1]
    if second in alike:  # by the average attack another one may lead
        second = order[0] if first != order[0] else others[0]
    of_second = _whole(best[second])
    both = f"{errs} {of_first} of decisions on {first}, {of_second} on {second}"
    if second not in alike:
        return f"{first} and {second} faced different attacks: {both}."
    found = _compared(rows[first], rows[second])
    if first != order[0]:
        by_average = _compared([means[second]], [{**means[first], "is_best": True}])
        if {found, by_average} <= {_CERTAIN, _UNTESTED}:
            how = "is certainly" if found == by_average == _CERTAIN else "seems"
            return (
                f"It depends: each against its best attack, {first} {how} better ({of_first}, "
                f"{second} {of_second}), {second} against the {average.phrase} one."
            )
    how = "protected these speakers" if data.has_few_speakers else "certainly protects"
    said = {
        _CERTAIN: f"{first} {how} better than {second}",
        _UNCERTAIN: f"Neither {first} nor {second} is certainly better",
        _UNTESTED: f"Untested whether {first} protects better than {second}",
    }
    return f"{said.get(found, f'Too few {found} to compare {first}, {second}')}: {both}."


_CERTAIN, _UNCERTAIN, _UNTESTED = "certain", "uncertain", "untested"


def _compared(ones: Sequence[Row], others: Sequence[Row]) -> str:
    """Tell whether every attack on a system certainly errs more than the best one on another: or
    what is too few for a test. If several attacks may be the best one, p-values are corrected for
    the choice (Bonferroni)."""
    best, lowest = best_attack(others), min(ones, key=percent)
    if best is None or not is_paired(lowest, best):
        return _UNTESTED
    tests = [difference(one, best, named="") for one in ones if is_paired(one, best)]
    worse = [difference(one, best, named="")["better"] for one in others if is_paired(one, best)]
    level = (1 - LEVEL) / (len(others) - sum(worse))
    is_certain = all(t["better"] and t["p"] < level for t in tests)
    return tests[0]["too_few"] or (_CERTAIN if is_certain else _UNCERTAIN)


def _whole(row: Row | None) -> str:
    """Write an EER in whole percent, small ones with a digit more."""
    value = percent(row) if row is not None else 0.0
    return f"{value:.0f} %" if value >= 10 else f"{value:.1f} %"


def answer_json(data: ReportData, title: str, cautions: Sequence[str]) -> str:
    """Write the answer for programs: docs/answer.schema.json describes it."""
    numbers, beside = _ranks(data), costs(data)

    def number(row: Row, value: float) -> dict[str, object]:
        low, high = interval_of(row) or (None, None)
        return {"value": value, "low": low, "high": high}

    systems = [
        {
            "system": system,
            "address": f"#{_address(system)}" if _address(system) else None,
            "rank": numbers.get(system),
            "attacks": [
                {"attack": r["title"], "best": r["is_best"], **number(r, float(r["of_present"]))}
                for r in of_system
            ],
            "utility": {
                m: number(of[system], float(of[system]["value"]))
                for m, of in beside.items()
                if system in of
            },
        }
        for system, of_system in attack_rows(data).items()
    ]
    plain = {
        "format": 1,
        "title": title,
        "protocol": data.protocol.name,
        "split": data.main_split,
        "metric": data.protocol.eer,
        "answer": answer_sentence(data),
        "cautions": [*cautions],
        "systems": systems,
    }
    return f"{json.dumps(plain, indent=1, ensure_ascii=False)}\n"


def _address(system: str) -> str:
    """Return the anchor of a system in the report."""
    return "" if system == UNPROTECTED else "-".join(system.split())
