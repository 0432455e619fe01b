"""What metrics are called in tables and figures: the only place that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ..metrics.summary import P_TARGETS
from .table import Column, Heading


@dataclass(frozen=True)
class Titles:
    """What one metric is called.

    Attributes
    ----------
    name : str
        Within a sentence of a table's caption.
    figure : str
        At the beginning of a figure's caption.
    column : Column
        Over a column of values.
    heading : Heading
        Over a block of a multi-system table, with the unit.
    axis : str
        Beside an axis, with the unit; mathtext of our own.
    percent : bool
        Shown in percent; stored as a fraction.
    """

    name: str
    figure: str
    column: Column
    heading: Heading
    axis: str
    percent: bool = False


#: Of every metric that multi-system tables or figures show.
TITLES: Mapping[str, Titles] = MappingProxyType(
    {
        "eer": Titles("EER", "EER", Column("EER, %"), Heading("EER, %"), "EER, %", True),
        "rocch_eer": Titles(
            "ROCCH-EER",
            "ROCCH-EER",
            Column("ROCCH-EER, %"),
            Heading("ROCCH-EER, %"),
            "ROCCH-EER, %",
            True,
        ),
        "cllr": Titles(
            "Cllr",
            "Cllr",
            Column("Cllr", r"$C_\mathrm{llr}$"),
            Heading("Cllr, bit", r"$C_\mathrm{llr}$, bit"),
            r"$C_\mathrm{llr}$, bit",
        ),
        "cllr_min": Titles(
            "min Cllr",
            "min Cllr",
            Column("min Cllr", r"$C_\mathrm{llr}^{\min}$"),
            Heading("min Cllr, bit", r"$C_\mathrm{llr}^{\min}$, bit"),
            r"$C_\mathrm{llr}^\mathrm{min}$, bit",
        ),
        "linkability": Titles(
            "linkability",
            "Linkability",
            Column("Linkability", r"$D_{\leftrightarrow}^{\mathrm{sys}}$"),
            Heading("Linkability"),
            "Linkability",
        ),
        "zebra_population": Titles(
            "expected privacy disclosure",
            "Expected privacy disclosure (population)",
            Column("Population, bit", r"$D_\mathrm{ECE}$, bit"),
            Heading("ZEBRA: expected privacy disclosure (population), bit"),
            "Population disclosure, bit",
        ),
        "zebra_individual": Titles(
            "worst-case privacy disclosure",
            "Worst-case privacy disclosure (individual)",
            Column("Individual, log10 LR", r"$\log_{10}(l)$"),
            Heading(
                "ZEBRA: worst-case privacy disclosure (individual), log10 LR",
                r"ZEBRA: worst-case privacy disclosure (individual), $\log_{10}$ LR",
            ),
            r"Individual disclosure, $\log_{10}$ LR",
        ),
        **{
            f"min_dcf_{p}": Titles(
                f"min DCF at {p}",
                f"Minimum detection cost at {p}",
                Column(f"min DCF {p}", f"min DCF$_{{{p}}}$"),
                Heading(f"min DCF at {p}"),
                f"min DCF at {p}",
            )
            for p in P_TARGETS
        },
        "deid": Titles(
            "de-identification (DeID)",
            "De-identification (DeID)",
            Column("DeID, %"),
            Heading("De-identification (DeID), %"),
            "DeID, %",
            True,
        ),
        "gvd_db": Titles(
            "gain of voice distinctiveness (G_VD)",
            "Gain of voice distinctiveness (G_VD)",
            Column("G_VD, dB", r"$G_\mathrm{VD}$, dB"),
            Heading(
                "Gain of voice distinctiveness (G_VD), dB",
                r"Gain of voice distinctiveness ($G_\mathrm{VD}$), dB",
            ),
            r"$G_\mathrm{VD}$, dB",
        ),
    }
)
