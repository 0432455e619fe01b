"""Voice similarity matrices, original and anonymized speech in one block: Figures 8 to 12
of the supplement. Drawn as they were stored; every figure has the colours of 0 to 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from numpy.typing import NDArray

from ...metrics import Variant
from ...protocol.protocol import ORIGINAL, Protocol
from ...results.arrays import Arrays, Curves
from ...results.records import Results, SimilarityRecord
from . import style
from .style import Drawing

#: A system, what the model was trained on, and its block.
Labelled = tuple[str, str, NDArray[np.float64]]

_PARTS = ("oo", "oa", "aa")
_COLUMNS = 3
_MOST = 6  # blocks of a figure
_WHAT_BLOCKS_ARE = (
    "Rows: speakers i, columns: speakers j of the trial set, both original (M_oo), i original and "
    "j anonymized (M_oa, upper right; lower left: transposed), both anonymized (M_aa)."
)
_MIRRORED = (
    " M_oa is made, as by the challenge's script, from half of the pairs of original and "
    "anonymized utterances, and mirrored."
)
_COLOURS = "viridis"  # its lightness rises with similarity: readable in grey


def block(arrays: Arrays, variant: Variant) -> NDArray[np.float64]:
    """The four matrices as one of shape (2 S, 2 S): original speech against original
    (upper left) and anonymized (upper right), anonymized against anonymized (lower right).

    The lower left is the upper right transposed: the similarity of two utterances has no
    order, whereas a speaker's original speech with another's anonymized one does.
    """
    oo, oa, aa = (np.asarray(arrays[f"{variant}_{part}"], np.float64) for part in _PARTS)
    return np.block([[oo, oa], [oa.T, aa]])


def similarity_matrices(blocks: Sequence[Labelled], *, title: str = "") -> Canvas:
    """Blocks side by side, titled by system, at most three in a row."""
    rows = [blocks[i : i + _COLUMNS] for i in range(0, len(blocks), _COLUMNS)]
    titles = [[style.literal(system, 24) for system, _, _ in row] for row in rows]
    return _draw([[matrix for _, _, matrix in row] for row in rows], titles, title=title)


def compared_matrices(blocks: Sequence[Labelled], *, title: str = "") -> Canvas:
    """A column per system, a row per model in the order of their first blocks; a block
    that there is not leaves a gap."""
    systems = list(dict.fromkeys(system for system, _, _ in blocks))
    models = list(dict.fromkeys(model for _, model, _ in blocks))
    by_both = {(system, model): matrix for system, model, matrix in blocks}
    rows = [[by_both.get((system, model)) for system in systems] for model in models]
    titles = [[style.literal(system, 24) for system in systems]] * len(models)
    names = [f"Model trained on\n{style.literal(m)} speech" for m in models]
    return _draw(rows, titles, names, title=title)


def figures(
    results: Results, curves: Curves, *, systems: Sequence[str] | None = None
) -> Iterator[Drawing]:
    """All figures of matrices that were stored, one at a time.

    Of each split, data set and gender: `matrices_*` (Figures 8 to 11), by the model
    trained on original speech; `matrices_models_*` (Figure 12), systems that were measured
    by several models. At most six blocks to a figure.
    """
    protocol = results.protocol
    chosen = tuple(results.systems if systems is None else systems)
    for t in protocol.trial_sets():
        of_set: dict[str, dict[str, SimilarityRecord]] = {}
        for record in results.similarity:
            if (record.condition.split, record.condition.data_set, record.condition.gender) != (
                t.split,
                t.data_set.id,
                t.gender,
            ):
                continue
            if record.condition.system in chosen and record.curves is not None:
                of_set.setdefault(record.condition.system, {}).setdefault(record.asv_model, record)
        title = f"{t.data_set.title} {t.split}, {protocol.genders[t.gender]}"
        where = (
            f"on {t.data_set.title}, {protocol.split_title(t.split)}, for "
            f"{protocol.genders[t.gender]} speakers. {_WHAT_BLOCKS_ARE}"
            f"{_MIRRORED if protocol.variant == 'challenge' else ''}"
        )
        present = [s for s in chosen if s in of_set]
        yield from _pages(
            style.stem("matrices", t.data_set.id, t.split, t.gender),
            f"Voice similarity matrices {where}",
            title,
            curves,
            protocol,
            [[_preferred(of_set[s])] for s in present],
        )
        yield from _pages(
            style.stem("matrices_models", t.data_set.id, t.split, t.gender),
            "Voice similarity matrices by what the speaker-verification model was trained on, "
            f"{where}",
            title,
            curves,
            protocol,
            [_by_model(of_set[s].values()) for s in present if len(of_set[s]) > 1],
        )


def _pages(
    name: str,
    caption: str,
    title: str,
    curves: Curves,
    protocol: Protocol,
    records: Sequence[Sequence[SimilarityRecord]],
) -> Iterator[Drawing]:
    """Figures of the records, those of a system together; arrays are read page by page."""
    of_system = max(map(len, records), default=1)
    number = 0
    for page in style.pages(records, max(1, _MOST // of_system)):
        blocks = [
            (record.condition.system, record.asv_model, block(arrays, variant))
            for record in itertools.chain.from_iterable(page)
            if (arrays := curves.of(record)) is not None
            for variant in [_stored(arrays, protocol.variant)]
            if variant is not None
        ]
        if not blocks:
            continue
        number += 1
        yield Drawing(
            name if number == 1 else f"{name}_{number}",
            caption,
            (similarity_matrices if of_system == 1 else compared_matrices)(blocks, title=title),
        )


def _stored(arrays: Arrays, variant: Variant) -> Variant | None:
    return variant if all(f"{variant}_{part}" in arrays for part in _PARTS) else None


def _preferred(by_model: dict[str, SimilarityRecord]) -> SimilarityRecord:
    """Of the model trained on original speech, where there are several."""
    return by_model.get(ORIGINAL) or next(iter(by_model.values()))


def _by_model(records: Iterable[SimilarityRecord]) -> list[SimilarityRecord]:
    """The model trained on original speech first."""
    return sorted(records, key=lambda r: r.asv_model != ORIGINAL)


def _draw(
    rows: Sequence[Sequence[NDArray[np.float64] | None]],
    titles: Sequence[Sequence[str]],
    row_names: Sequence[str] = (),
    *,
    title: str,
) -> Canvas:
    columns = max(map(len, rows))
    side = 1.85
    colours = matplotlib.colormaps[_COLOURS].with_extremes(bad=style.GREY)
    width = min(style.FULL_WIDTH, max(style.COLUMN_WIDTH, 0.8 + side * columns))
    with style.figure(width, len(rows) * (side + 0.35) + (0.2 if title else 0.0)) as canvas:
        if title:
            canvas.suptitle(style.literal(title, 60))
        grid = canvas.subplots(len(rows), columns, squeeze=False)
        images = []
        for axes_of_row, row, names in zip(grid, rows, titles, strict=True):
            for axes, matrix, system in itertools.zip_longest(axes_of_row, row, names):
                if matrix is None:
                    axes.set_axis_off()
                    continue
                image = axes.imshow(
                    matrix, cmap=colours, vmin=0.0, vmax=1.0, interpolation="nearest"
                )
                images.append(image)
                _decorate(axes, matrix.shape[0] // 2, system)
        for axes_of_row, name in zip(grid, row_names, strict=False):
            axes_of_row[0].set_ylabel(name)
        bar = canvas.colorbar(images[0], ax=list(canvas.axes), shrink=0.8, aspect=25, pad=0.02)
        bar.set_label("Voice similarity")
        bar.ax.spines["outline"].set_linewidth(0.4)
        return canvas


def _decorate(axes: Axes, speakers: int, title: str) -> None:
    axes.axhline(speakers - 0.5, color="white", linewidth=0.8)
    axes.axvline(speakers - 0.5, color="white", linewidth=0.8)
    middles, names = [speakers / 2 - 0.5, 1.5 * speakers - 0.5], ["original", "anonymized"]
    axes.set_xticks(middles, names)
    axes.set_yticks(middles, names, rotation=90, va="center")
    axes.tick_params(length=0)
    axes.set_title(title)
