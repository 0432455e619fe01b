"""Where tables, figures and reports take their data from: enough to tell whether they are current,
without reading it (`report_data`)."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..choices import Variant
from ..errors import abbreviate
from ..io.files import digest, read_bytes
from ..protocol.protocol import Protocol, bundled, load_protocol
from ..results.record_files import made_by_user
from ..wings import of_wings

#: What the core leaves to a wing: what reports say of identification, amounts and attributes.
DISCLOSED = "disclosure in reports"

if TYPE_CHECKING:
    from ..protocol.published import PublishedResults
    from ..results.records import Results

# Protocol to use without any results.
_USUAL = "vpc2020"


@dataclass(frozen=True)
class ReportSources:
    """Sources of tables, figures and the report.

    Attributes
    ----------
    paths : tuple of Path
        The results files; without any there are no records.
    conf : str or None
        Name or file of a protocol, instead of that of the results.
    published : str
        Name of the published results beside them; "" for none.
    variant : str or None
        Of the metrics, instead of the protocol's.
    systems : tuple of str
        The only systems shown, in this order; () for all.
    by_strongest : bool
        Systems are ranked, and drawn in the plane, by their strongest attacker.
    utility : tuple of str
        Metrics of the plane's second axis; () for word error rates and recalls of emotions.
    confirmed : tuple of str
        As of `Results.confirm`.
    tables : tuple of Path
        Files of tables of one's own.
    rank_by : str
        Metric of the rankings.
    attack_model : str or None
        Of the rankings; by default the one that the protocol averages.
    """

    paths: tuple[Path, ...] = ()
    conf: str | None = None
    published: str = ""
    variant: Variant | None = None
    systems: tuple[str, ...] = ()
    by_strongest: bool = False
    utility: tuple[str, ...] = ()
    confirmed: tuple[str, ...] = ()
    tables: tuple[Path, ...] = ()
    rank_by: str = "eer"
    attack_model: str | None = None

    @functools.cached_property
    def named_protocol(self) -> Protocol | None:
        """The protocol to show results under, unless it is theirs; without results that of the
        published ones, if they name one."""
        if self.paths and not self.conf:
            return None
        usual = self.published if self.published in bundled() else _USUAL
        return load_protocol(self.conf or usual)

    @functools.cached_property
    def results(self) -> tuple[Results, ...]:
        """The results in the files; without any, empty ones."""
        from ..results.json_store import read_results
        from ..results.records import Results
        from ..results.speaker_numbers import kept_apart

        if self.named_protocol is not None and not self.paths:
            return (Results(self.named_protocol),)
        return kept_apart(map(read_results, self.paths))

    @functools.cached_property
    def published_results(self) -> PublishedResults | None:
        """All published results of the name."""
        from ..protocol.published import load_published_results

        return load_published_results(self.published) if self.published else None

    def digest(self) -> str:
        """Return a digest of the results files, the protocol, and whether their arrays exist and
        this user made them."""
        files = [
            (digest(read_bytes(path)), path.with_name("records").is_dir(), made_by_user(path))
            for path in self.paths
        ]
        # The same digest whether the protocol of the results is named or not.
        protocol = self.named_protocol or self.results[0].protocol
        choices: list[object] = [self.variant, self.systems]
        choices = choices if any(choices) else []
        choices += ["by strongest"] * self.by_strongest
        choices += [["utility", *self.utility]] if self.utility else []
        choices += [["confirmed", *self.confirmed]] if self.confirmed else []
        # The files tell whether the data are simulated, which a protocol by name does not.
        plain = protocol.simulated().to_dict()
        return digest(json.dumps([plain, files, *choices]).encode())

    @property
    def files(self) -> str:
        """Names of the results files; "" without any."""
        return abbreviate([f"{p.absolute().parent.name}/{p.name}" for p in self.paths])

    def subject(self) -> dict[str, object]:
        """Return what products made from these sources depend on."""
        tables = [digest(read_bytes(path)) for path in self.tables]
        about: dict[str, object] = {"results": self.digest(), "published": self.published}
        about |= {"tables": tables} if tables else {}
        about |= {} if DISCLOSED in of_wings("provides") else {DISCLOSED: None}
        ranking = (self.rank_by, self.attack_model)
        return {**about, "ranking": ranking} if ranking != ("eer", None) else about
