"""Stages 2 and 5: train the encoders that attackers need, each on the anonymized training speech of
a system, where they are missing or stale. External ones are kept."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..cli import parse, parser
from ..cli.inputs import chosen_attackers, load_asv_systems, log_notes, report_outcome, run_settings
from ..cli.stages import words_of
from ..errors import PrivacyEvalError, counted
from ..io.files import Inputs, digest, relative
from ..io.schema import to_plain
from ..options import fill
from ..products.freshness import (
    NOTE,
    Content,
    Fingerprint,
    MissingInput,
    Paths,
    Product,
    Run,
    Source,
    Sources,
)
from ..protocol.protocol import COEFFICIENTS, LEARNT, load_protocol
from ..results.attacker_costs import duration_text
from ..speech.trees.recordings import audio_reader
from ..stages.access import AsvSystems
from ..stages.attackers import TRAINING
from ..wings import provided
from .options import CHECKPOINT, DEFAULT_CHANNELS, ENCODER, REPORT, Training, TreeTraining
from .verbs import device_of, trained

if TYPE_CHECKING:
    from ..speech.audio import AudioReader
    from .learn import Learner

#: Files of a product.
_FILES = (REPORT, ENCODER, CHECKPOINT)
#: Begins the name of the folder of what is not yet trained.
_WORK = "training_"
#: The runner of jobs on this machine, which trains one encoder after another.
_LOCAL = "run_jobs.sh"
#: Crops a second of 3 s by 512 channels, the power of more channels that divides them, and seconds
#: to the first: on a GPU such as an H200, and on a core (scripts/bench.py train).
_ON_GPU, _ON_CORE = (10_200, 1.0, 50), (5, 1.3, 5)


def train_encoders(arguments: argparse.Namespace) -> int:
    """Train the encoders of the named attackers, by default those that were trained before."""
    protocol = load_protocol(arguments.conf, base=arguments.tree)
    chosen = chosen_attackers(arguments, protocol)
    ids = {a.id for a in protocol.other_attackers if a.is_trained}
    ids &= ids if chosen is None else chosen
    if not ids:
        return 0
    asv = load_asv_systems(arguments, protocol, anonymized=False)
    options = fill(TreeTraining, arguments)
    encoders = [
        _Encoder(path.parent, suffix, asv, options, arguments.nj)
        for path, suffix in asv.trained_encoders(ids).items()
        if path.name in _FILES
    ]
    if chosen is None:
        encoders = [one.earlier(options) for one in encoders if one.is_there()]
    else:
        encoders = [one.earlier(TreeTraining()) for one in encoders]
    if not encoders:
        return 0
    lacking, code = [one for one in encoders if one.absent()], 0
    if lacking and arguments.anonymizer and not arguments.job:
        code = _anonymize(arguments)
    log_notes(asv.notes)
    run = run_settings(arguments)
    if run.start_jobs is not None and arguments.cmd.split()[0].endswith(_LOCAL):
        run = replace(run, start_jobs=None)
    if run.start_jobs is not None:
        arguments.cmd += " --gpu 1" * (options.device != "cpu")
        encoders = [replace(one, by_job=True) for one in encoders]
    products = [one.product() for one in encoders]
    if not arguments.job:
        planned = asv.access.bring_up_to_date(products, Run(dry_run=True))
        names = {*planned.made}
        log_notes(one.duration() for one in encoders if one.product().name in names)
    outcome = asv.access.bring_up_to_date(products, run)
    return max(code, report_outcome(arguments, outcome, "trained encoders"))


def _anonymize(arguments: argparse.Namespace) -> int:
    """Anonymize the training speech, as stage 4 does."""
    verb = "stage anonymize"
    words = words_of(arguments.words, parser(verb)._option_string_actions)
    of_stage = parse(verb, words)
    of_stage.ending, of_stage.verb = arguments.ending, arguments.verb  # whose failures they are
    code = int(provided("anonymize")(of_stage, evaluated=False))
    arguments.recorded = bool(code)
    return code


@dataclass(frozen=True)
class _Encoder:
    """The encoder of a system, in a folder of its own; `by_job`: not trained by this process."""

    folder: Path
    suffix: str
    asv: AsvSystems
    options: TreeTraining
    nj: int
    by_job: bool = False

    @property
    def data(self) -> Path:
        """The speech."""
        name = f"{self.asv.protocol.attacker_training}{self.suffix}"
        return self.asv.access.tree / "data" / name

    @cached_property
    def reader(self) -> AudioReader:
        return audio_reader(self.asv.access, self.data, mix=True)

    def is_there(self) -> bool:
        """Tell whether it was trained here, and not deleted since."""
        files = (self.folder / CHECKPOINT, self.folder / ENCODER)
        return self.product().read_fingerprint() is not None and any(p.is_file() for p in files)

    def earlier(self, unnamed: TreeTraining) -> _Encoder:
        """Return the encoder with the options that it was trained with, if it was, in place of
        those that are as if nobody named them."""
        stored = self.product().read_fingerprint()
        if stored is None:
            return self
        init = stored.inputs.get("init")
        before = {**stored.options, "init": None if init is None else Path(init.path)}
        free = (k for k, v in asdict(self.options).items() if v == getattr(unnamed, k))
        kept = {k: before[k] for k in free if k in before}
        return replace(self, options=replace(self.options, **kept))

    def absent(self) -> list[MissingInput]:
        if not self.asv.protocol.attacker_training:
            return [MissingInput(TRAINING, "no training_set in the protocol")]
        paths = (self.data / name for name in ("wav.scp", "utt2spk"))
        where = (relative(path, self.asv.access.tree) for path in paths if not path.is_file())
        hint = " (--anonymizer makes it)" * (not self.asv.protocol.has_own_scoring)
        return [MissingInput(TRAINING, f"{path}{hint}", self.data.name) for path in where]

    def product(self) -> Product:
        options = {k: v for k, v in asdict(self.options).items() if k not in ("device", "init")}
        return Product(
            relative(self.folder, self.asv.access.tree),
            self.asv.access.tree,
            self.folder / NOTE,
            tuple(self.folder / name for name in _FILES),
            self.find,
            self.make,
            options=options,
            cost=partial(float, 1.0),
            guarded=True,
            absent=self.absent,
            optional=True,
        )

    def find(self, inputs: Inputs) -> Sources:
        access, init = self.asv.access, self.options.init
        access.check_in_tree(self.folder)
        lists = (self.data / name for name in ("utt2spk", "wav.scp", "segments"))
        sources = {path.name: path for path in lists if path.is_file()}
        access.check_inside(*sources.values())
        files = dict.fromkeys(self.reader.existing_files(self.reader.ids).values())
        speech = digest("".join(map(inputs.sha256, files)).encode())
        begun = {} if init is None else {"init": access.tree / init}
        return {**sources, **begun, "speech": Source(self.data, speech)}

    def make(self, inputs: Inputs, paths: Paths, now: Fingerprint) -> Content:
        """Train it, or go on after the last epoch of a killed run with the same sources."""
        if self.by_job:
            device_of("cpu")
            raise PrivacyEvalError("no job has trained it: see train_encoders.*.log")
        device, access = device_of(self.options.device), self.asv.access
        of = to_plain(now.inputs), to_plain(now.options)
        work = self.folder / f"{_WORK}{digest(json.dumps(of, sort_keys=True).encode())[:8]}"
        options = {f.name: getattr(self.options, f.name) for f in fields(Training)}
        learner = trained(
            [self.data],
            work,
            Training(**{**options, "init": paths.get("init")}),
            device,
            nj=self.nj,
            leave_out=True,
            base=access.tree,
            allow_pipes=access.allow_pipes,
            allow_outside=access.allow_outside,
        )
        shutil.rmtree(work / "cache")
        for other in self.folder.glob(f"{_WORK}*"):  # which were begun with other options
            if other != work:
                shutil.rmtree(other)
        content = {self.folder / name: (work / name).read_bytes() for name in _FILES}
        return Content(content, remarks=tuple(self._remarks(learner)))

    def duration(self) -> str:
        """Say how long training takes, by what it took elsewhere."""
        options, number = self.options, len(self.reader.ids)
        batch, steps = options.batches(number)
        channels = (options.channels or DEFAULT_CHANNELS) / DEFAULT_CHANNELS
        crops = options.epochs * steps * batch * options.crop / 3

        def text(speed: float, power: float, begin: float, cores: int = 1) -> str:
            return duration_text(begin + crops * channels**power / (speed * cores))

        cores = os.cpu_count() or 1
        on = {"cuda": f"{text(*_ON_GPU)} on a GPU such as an H200"}
        on["cpu"] = f"{text(*_ON_CORE, cores)} on {counted(cores, 'core')} such as this machine's"
        told = on.get(options.device) or " or ".join(on.values())
        name = relative(self.folder, self.asv.access.tree)
        return f"{name}: to train it on {number} utterances from the beginning takes {told}"

    def _remarks(self, learner: Learner) -> list[str]:
        """Say what it learnt, and what limits that."""
        from ..asv.shared_speech import training_remarks

        another = " with another seed" * (self.data / COEFFICIENTS).is_file()
        short = len(self.reader.ids) - len(learner.recordings.ids)
        few = training_remarks(learner.classes * 2, self.data.name)  # each speaker with two crops
        seconds = learner.options.longest
        left_out = f"{counted(short, 'utterance')} shorter than {seconds:g} s, left out"
        return [described(learner.report(), another), *few, *[left_out] * (short > 0)]


def described(report: Mapping[str, Any], another: str = "") -> str:
    """Say what an encoder learnt from, how, and how well, by its `training.json`; `another`: of
    the anonymization."""
    data, epochs, of = report["data"], report["epochs"], report["held_out"]
    hours, took = data["hours_learnt"], duration_text(sum(epoch["seconds"] for epoch in epochs))
    amount = f"{hours:.3g} hours" if hours >= 2 else f"{60 * hours:.3g} minutes"
    channels, number = report["options"]["channels"], counted(len(epochs) - 1, "epoch")
    on = "a GPU" if report["device"] == "cuda" else "a CPU"
    first, last = (epoch["held_out_eer"] for epoch in (epochs[0], epochs[-1]))
    tested = "there are too few speakers to test it on some"
    if None not in (first, last):
        eers = f"EER {100 * last:.1f} %, untrained {100 * first:.1f} %"
        spectrum = of["spectrum_eer"]
        beside = "" if spectrum is None else f", of the spectrum {100 * spectrum:.1f} %"
        trials = f"{of['n_target']} target, {of['n_nontarget']} nontarget trials"
        speakers = f"on {of['speakers']} speakers that it did not learn from"
        tested = f"{speakers}: {eers}{beside} ({trials} of {of['crop']:g} s)"
    speech = f"{amount} of anonymized speech, of the same system{another}"
    learnt = f"{LEARNT} {data['speakers']} other speakers, {speech}"
    network = f"ECAPA-TDNN of {channels} channels"
    return f"{learnt}; {network}; training took {took} on {on}, {number}; {tested}"
