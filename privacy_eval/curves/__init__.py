"""The wing of figures of curves and matrices."""

from ..wings import Wing

_DRAWS = f"{__name__}.figures:"

WING = Wing(
    "curves",
    figures={
        "det": (f"{_DRAWS}det_figures", "Detection error trade-off", "curves"),
        "ece": (f"{_DRAWS}ece_figures", "ZEBRA profiles", "curves"),
        "linkability": (f"{_DRAWS}linkability_figures", "Linkability", "curves"),
        "matrices": (f"{__name__}.matrices:figures", "Voice similarity"),
        "conventional": (f"{_DRAWS}conventional_figures", "Conventional plots", "conventional"),
    },
)
