"""The wing of figures of curves and matrices."""

from ..wings import Wing

_HERE = __name__.rpartition(".")[0]
_DRAWS = f"{_HERE}.figures:"

WING = Wing(
    "curves",
    figures={
        "det": (f"{_DRAWS}det_figures", "Detection error trade-off", "curves"),
        "ece": (f"{_DRAWS}ece_figures", "ZEBRA profiles", "curves"),
        "linkability": (f"{_DRAWS}linkability_figures", "Linkability", "curves"),
        "matrices": (f"{_HERE}.matrices:figures", "Voice similarity"),
        "conventional": (f"{_DRAWS}conventional_figures", "Conventional plots", "conventional"),
    },
)
