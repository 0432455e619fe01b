"""Voice similarity matrices, original and anonymized speech in one block: Figures 8 to 12
of the supplement. Stored arrays are drawn unchanged; the colour scale is always 0 to 1.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure as Canvas
from numpy.typing import NDArray

from ..numbers.report_data import ReportData
from ..protocol.protocol import ORIGINAL
from ..report.figures import style
from ..report.figures.drawing import Drawing
from ..results.arrays import Arrays
from ..results.records import Record

#: A system, the training speech of the ASV model, and the block.
Labelled = tuple[str, str, NDArray[np.float64]]

_PARTS = ("oo", "oa", "aa")
_COLUMNS = 3
_MOST = 6  # blocks of a figure
_NAME = 24
_BY_MODEL = "by the training speech of the ASV model, "
_BLOCKS_CAPTION = (
    "Rows: speakers i, columns: speakers j of the trial set. M_oo: both are original. M_oa, upper "
    "right: i is original, j anonymized; lower left: transposed. M_aa: both are anonymized."
)
_MIRRORED = (
    " M_oa is computed, as by the challenge's script, from half of the pairs of original and "
    "anonymized utterances, and mirrored."
)
_COLOURS = "viridis"  # lightness increases with similarity: readable in grey


def block(arrays: Arrays, variant: str, *, by_value: bool = False) -> NDArray[np.float64]:
    """Compose the four matrices as one of shape (2 S, 2 S): original speech against original
    (upper left) and anonymized (upper right), anonymized against anonymized (lower right).

    The lower left is the upper right transposed: the similarity of two utterances is symmetric,
    but M_oa (i original, j anonymized) is not. Speakers are in the order of their names, or
    `by_value` in that of the similarity of their own original utterances.
    """
    oo, oa, aa = (np.asarray(arrays[f"{variant}_{part}"], np.float64) for part in _PARTS)
    if by_value:
        order = np.argsort(oo.diagonal(), kind="stable")
        oo, oa, aa = (matrix[np.ix_(order, order)] for matrix in (oo, oa, aa))
    return np.block([[oo, oa], [oa.T, aa]])


def similarity_matrices(blocks: Sequence[Labelled], *, title: str = "") -> Canvas:
    """Draw blocks side by side, titled by system, at most three in a row."""
    drawn = [(style.escape_mathtext(system, _NAME), "", matrix) for system, _, matrix in blocks]
    rows = [drawn[i : i + _COLUMNS] for i in range(0, len(drawn), _COLUMNS)]
    return _draw(rows, title)


def compared_matrices(blocks: Sequence[Labelled], *, title: str = "") -> Canvas:
    """Draw a column per system, a row per model in the order of their first blocks; a
    missing block leaves a gap."""
    systems = list(dict.fromkeys(system for system, _, _ in blocks))
    models = list(dict.fromkeys(model for _, model, _ in blocks))
    by_both = {(system, model): matrix for system, model, matrix in blocks}
    rows = []
    for model in models:
        labels = {systems[0]: f"Model trained on\n{style.escape_mathtext(model)} speech"}
        rows.append(
            [
                (style.escape_mathtext(s, _NAME), labels.get(s, ""), by_both[s, model])
                if (s, model) in by_both
                else None
                for s in systems
            ]
        )
    return _draw(rows, title)


def figures(data: ReportData) -> Iterator[Drawing]:
    """Yield all figures of stored matrices.

    Of each split, data set and gender: `matrices_*` (Figures 8 to 11), by the ASV model
    trained on original speech; `matrices_models_*` (Figure 12), systems evaluated with several
    models; `matrices_challenge_*` as the challenge's script computes them. At most six blocks per
    figure. By default the exact ones of the last split, the test set: the others look alike.
    """
    protocol = data.protocol
    for t in protocol.trial_sets():
        key = (t.data_set.id, t.split, t.gender)
        of_set: dict[str, dict[str, Record]] = {}
        for r in data.results.similarity:
            c = r.condition
            if (c.data_set, c.split, c.gender) == key and r.curves is not None:
                of_set.setdefault(c.system, {}).setdefault(r.condition.asv_model, r)
        title = protocol.title_of_set(*key)
        where = (
            f"on {t.data_set.title}, {protocol.split_name(t.split)}, for "
            f"{protocol.genders[t.gender]} speakers. {_BLOCKS_CAPTION}"
        )
        # The model trained on original speech first.
        by_system = [
            sorted(of_set[s].values(), key=lambda r: r.condition.asv_model != ORIGINAL)
            for s in data.results.systems
            if s in of_set
        ]
        first = [some[:1] for some in by_system]
        several = [some for some in by_system if len(some) > 1]
        for name, words, records, draw, variant in (
            ("matrices", "", first, similarity_matrices, "exact"),
            ("matrices_models", _BY_MODEL, several, compared_matrices, "exact"),
            ("matrices_challenge", "", first, similarity_matrices, "challenge"),
        ):
            if variant == "challenge" and protocol.variant != variant:
                continue
            for number, blocks in enumerate(_pages(data, records, variant), start=1):
                yield Drawing(
                    style.page_name(style.file_stem(name, *key), number),
                    f"Voice similarity matrices {words}{where}"
                    + _MIRRORED * (variant == "challenge"),
                    functools.partial(draw, blocks, title=title),
                    default=variant == "exact" and t.split == protocol.splits[-1],
                )


def _pages(
    data: ReportData, records: Sequence[Sequence[Record]], variant: str
) -> Iterator[list[Labelled]]:
    """Yield the blocks of each figure, those of a system together; arrays are read page by page."""
    of_system, by_value = max(map(len, records), default=1), bool(data.results.speaker_key)
    for page in style.split_evenly(records, max(1, _MOST // of_system)):
        blocks = [
            (c.system, c.asv_model, block(arrays, variant, by_value=by_value))
            for record in itertools.chain.from_iterable(page)
            for c in [record.condition]
            if (arrays := data.arrays.of(record)) is not None
            and all(f"{variant}_{part}" in arrays for part in _PARTS)
        ]
        if blocks:
            yield blocks


def _draw(
    rows: Sequence[Sequence[tuple[str, str, NDArray[np.float64]] | None]], title: str
) -> Canvas:
    """Draw rows of blocks, each with a title and the label of its row."""
    side = 1.85
    colours = matplotlib.colormaps[_COLOURS].with_extremes(bad=style.GREY)
    width = min(style.FULL_WIDTH, max(style.COLUMN_WIDTH, 0.8 + side * max(map(len, rows))))
    with style.figure(width, len(rows) * (side + 0.35) + (0.2 if title else 0.0)) as canvas:
        if title:
            canvas.suptitle(style.escape_mathtext(title, 60))
        for axes, (name, label, matrix) in style.panels(canvas, rows):
            image = axes.imshow(matrix, cmap=colours, vmin=0.0, vmax=1.0, interpolation="nearest")
            axes.set_ylabel(label)
            axes.set_title(name)
            speakers = matrix.shape[0] // 2
            axes.axhline(speakers - 0.5, color="white", linewidth=0.8)
            axes.axvline(speakers - 0.5, color="white", linewidth=0.8)
            middles, names = [speakers / 2 - 0.5, 1.5 * speakers - 0.5], ["original", "anonymized"]
            axes.set_xticks(middles, names)
            axes.set_yticks(middles, names, rotation=90, va="center")
            axes.tick_params(length=0)
        bar = canvas.colorbar(image, ax=list(canvas.axes), shrink=0.8, aspect=25, pad=0.02)
        bar.set_label("Voice similarity")
        bar.ax.spines["outline"].set_linewidth(0.4)
    return canvas
