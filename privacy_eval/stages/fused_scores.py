"""Stage 5: scores of attackers who fuse the scores of others, over folds that share no speaker.

Edited and external score files are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..choices import FOLDS
from ..errors import located
from ..io.files import Inputs, relative
from ..products.freshness import Content, Fingerprint, MissingInput, Paths, Product, Sources, absent
from ..protocol.protocol import ANONYMIZED, Attacker
from ..tree.conditions import by_attacker
from ..tree.discovery import first_file
from .access import TRIALS, AsvSystems
from .attackers import Attacked, Scoring, attacked

#: Kind of `MissingInput`.
SCORES = "scores to fuse"

_SUFFIX = "_scores"


def fused_products(asv: AsvSystems) -> list[Product]:
    """The scores of conditions of anonymized trials: those of ignorant attackers, and others of the
    same trials, to which the attackers who need no model of anonymized speech add their scores."""
    return [scoring.product() for scoring in _scorings(asv)]


def _scorings(asv: AsvSystems) -> Iterator[_FusedScoring]:
    every = list(attacked(asv, "fused"))
    ignorant = {
        (_place(one), _key(one, asv)): one.folder.parent for one in every if one.is_ignorant
    }
    for one in every:
        beside = ignorant.get((_place(one), _key(one, asv)), one.folder.parent)
        scoring = _FusedScoring(one.folder, one.condition, asv, one.attacker, beside)
        if one.is_ignorant or (one.condition.trial == ANONYMIZED and scoring.adds_to_ignorant()):
            yield scoring


def _place(one: Attacked) -> tuple[str, str, str, str]:
    """What the speech of a condition is of."""
    c = one.condition
    return c.system, c.data_set, c.split, c.gender


def _key(one: Attacked, asv: AsvSystems) -> Path | None:
    return asv.access.trial_key(one.condition, asv.protocol)[0]


@dataclass(frozen=True)
class _FusedScoring(Scoring):
    """The scores of one condition.

    Attributes
    ----------
    ignorant : Path
        Folder of the condition of an ignorant attacker with the same trials, for scores of
        attackers beside the challenge's own that the condition itself has not.
    """

    attacker: Attacker
    ignorant: Path

    def product(self) -> Product:
        return self.score_product({"scoring": "fused"}, {"folds": FOLDS})

    def score_files(self) -> dict[str, Path]:
        """The score files of other attackers, by their ids."""
        protocol = self.asv.protocol
        folders = {protocol.own_attacker: [self.folder.parent]}
        for other in protocol.other_attackers:
            of_other = by_attacker(self.condition, other, protocol)
            # Who states another attack model knows more than the attackers of this one.
            if other.scoring != "fused" and of_other.asv_model == self.condition.asv_model:
                folders[other.id] = [at / other.id for at in (self.folder.parent, self.ignorant)]
        files = {
            attacker: first_file([at / name for at in places for name in ("scores", "scores.gz")])
            for attacker, places in folders.items()
            if not self.attacker.fuses or attacker in self.attacker.fuses
        }
        return {attacker: path for attacker, path in files.items() if path is not None}

    def adds_to_ignorant(self) -> bool:
        """Whether several attackers have scores, and one of them other than an ignorant one's."""
        files = self.score_files()
        return len(files) > 1 and any(self.folder.parent in path.parents for path in files.values())

    def _scores(self) -> dict[str, Path]:
        files, named = self.score_files(), self.attacker.fuses
        where = relative(self.folder.parent, self.asv.access.tree)
        for attacker in named:
            if attacker not in files:
                raise MissingInput(SCORES, f"{where}: none of {attacker}")
        if len(files) < 2:
            raise MissingInput(SCORES, f"{where}: {len(files)} attackers have scores, not several")
        return files

    def _utt2spk(self) -> Path:
        name = self.original_sets[1][0]
        in_data = self.asv.access.tree / "data" / name / "utt2spk"
        path = first_file([self.key().with_name("utt2spk"), in_data])
        if path is None:
            raise MissingInput(TRIALS, relative(in_data, self.asv.access.tree), name)
        return path

    def absent(self) -> list[MissingInput]:
        return absent(self._utt2spk, self._scores)

    def find(self, inputs: Inputs) -> Sources:
        key = self.key(check=True)
        scores = {f"{name}{_SUFFIX}": path for name, path in self._scores().items()}
        self.asv.access.check_inside(self._utt2spk(), *scores.values())
        return {"trials": key, "utt2spk": self._utt2spk(), **scores}

    def make(self, inputs: Inputs, paths: Paths, _: Fingerprint) -> Content:
        from ..attackers.fusion import fuse_scores
        from ..io.scores import read_scores, read_trials, with_speakers
        from ..metrics.pairing import score_table

        trials = read_trials(inputs.load(paths["trials"]), format="kaldi")
        names = [role for role in paths if role.endswith(_SUFFIX)]
        files = [read_scores(inputs.load(paths[name]), format="kaldi") for name in names]
        table = score_table(files, trials)
        known = with_speakers(trials, inputs.load(paths["utt2spk"]))
        speakers = known.enrolled_speaker.tolist(), known.trial_speaker.tolist()
        attackers = [name.removesuffix(_SUFFIX) for name in names]
        with located(", ".join(attackers)):
            fused = fuse_scores(table, trials.is_target, *speakers, attackers=attackers)
        return self.content(trials.with_columns(score=fused))
