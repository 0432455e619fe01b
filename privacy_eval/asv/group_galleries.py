"""Identification within groups of speakers, each in the group's own gallery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import located
from ..io.data_dir import read_utt2spk
from ..io.files import Loaded
from ..io.user_tables import Labels
from ..io.vectors import Vectors
from ..metrics.groups import MIN_TESTED
from ..metrics.identification import GroupLinkage
from .backend import BackendName, PldaBackend
from .galleries import (
    Conversations,
    Gallery,
    count_beaters,
    identified,
    ranked,
    whole_tests,
)


def groups_of_gallery(
    gallery: Gallery, utt2spk: Path | Loaded, labels: Labels, distractors: Gallery | None = None
) -> tuple[dict[str, str], list[str]]:
    """Look up the groups of all enrolled and test speakers; also return those without one.

    Parameters
    ----------
    gallery : Gallery
    utt2spk : Path or Loaded
        The test utterances and their speakers.
    labels : Labels
    distractors : Gallery, optional
        Those without a group are in no gallery, and not returned.

    Returns
    -------
    group_of : dict of str to str
    without : list of str

    Raises
    ------
    PrivacyEvalError
        As `Labels.of_speakers`.
    """
    enrolled = [g.enrollment.members for g in (gallery, distractors) if g is not None]
    members = {u: s for of in enrolled for s, utterances in of.items() for u in utterances}
    group_of, without = labels.groups({**members, **read_utt2spk(utt2spk)})
    more = set() if distractors is None else {*distractors.enrollment.members}
    return group_of, [speaker for speaker in without if speaker not in more]


def identify_groups(
    gallery: Gallery,
    tests: Vectors,
    utt2spk: Path | Loaded,
    group_of: Mapping[str, str],
    *,
    backend: BackendName = "plda",
    model: PldaBackend | None = None,
    rank: int = 1,
    length: int = 1,
    distractors: Gallery | None = None,
    allow_missing: bool = False,
    replicates: int = 0,
    seed: int = 0,
) -> dict[str, GroupLinkage]:
    """Compute how often the test speakers of each group are identified among its enrolled ones.

    Parameters
    ----------
    gallery, tests, utt2spk, backend, model, length, distractors, allow_missing
        See `galleries.rank_tests`.
    group_of : mapping of str to str
        Groups of speakers; others are in no gallery.
    rank : int
        Number of top scores among which the right speaker must be.
    replicates, seed : int
        Of the intervals, see `Identification.intervals`; 0 for none.

    Returns
    -------
    dict of str to GroupLinkage
        Sorted by name.

    Raises
    ------
    PrivacyEvalError
        As `galleries.rank_tests`.
    """
    speaker_of = read_utt2spk(utt2spk)
    if allow_missing:
        speaker_of = {u: s for u, s in speaker_of.items() if u in tests}
        gallery = gallery.present()
        distractors = None if distractors is None else distractors.present()
    galleries = [gallery] if distractors is None else [gallery, distractors]
    speakers = [s for each in galleries for s in each.enrollment.members] + [*speaker_of.values()]
    groups, ranks = {}, {}
    for group in sorted({group_of[s] for s in speakers if s in group_of}):
        own = [
            each.of(s for s in each.enrollment.members if group_of.get(s) == group)
            for each in galleries
        ]
        of_group = {u: s for u, s in speaker_of.items() if group_of.get(s) == group}
        utterances = whole_tests(of_group, own[0].enrollment.members, length)
        n_enrolled = sum(len(each.enrollment.members) for each in own)
        conversations = Conversations(tests, utterances, length)
        n_tests = len(conversations.used) // length
        groups[group] = GroupLinkage(n_tests, len(utterances), n_enrolled)
        if utterances and n_enrolled > 1:
            with located(f"{gallery.vectors.path}, {tests.path}"):
                score = conversations.scorer(utt2spk, backend, model)
                _, beaten = count_beaters(own, conversations, score)
            ranks[group] = ranked(utterances, conversations.speaker, beaten, n_enrolled)
    equal = min((of.n_enrolled for of in ranks.values()), default=0)
    for group, of in ranks.items():
        drawn = replicates if len(of.test_speakers) >= MIN_TESTED else 0
        attack = identified(of, sorted({equal, of.n_enrolled}), rank, drawn, seed)
        groups[group] = replace(
            groups[group],
            sizes=attack.sizes,
            linkage=tuple(attack.linkage.tolist()),
            intervals=tuple((i.low, i.high) for i in attack.bounds),
        )
    return groups
