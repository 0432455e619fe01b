"""The files of a run that hold personal data, by kind, and the deletion of what can be spared.

Links are not followed, and neither they nor what they lead to is listed or deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..errors import PrivacyEvalError
from ..results.speaker_numbers import KEY

#: Kinds that `delete` removes: tables and report are made without them.
SPARED = ("vectors", "models", "caches")

_RECORDINGS = "wav flac ogg oga opus mp3 sph m4a mp4 3gp aac wma aif aiff au amr webm"
#: By kind: patterns of the path below the folder, where * is any text; the first that fits counts.
_PATTERNS: dict[str, tuple[str, ...]] = {
    "logs": ("*/log/*", "*.log"),
    "recordings": tuple(f"*.{suffix}" for suffix in _RECORDINGS.split()),
    "keys of pseudonyms": (f"*{KEY}",),
    "per-speaker values": (
        *("*records/*.json", "*records/*.npz", "*speakers.csv", "*results.json", "*results.csv"),
        *("*report.html", "*speakers.t*", "*tables.csv", "*per_speaker*", "*named_instead.*"),
        *("*/summary.t*", "*similarity_matrices*/*"),
    ),
    "ratings": ("*ratings*.csv", "*subjective/*.csv", "*subjective/*.npz", "*subjective.json"),
    "scores": ("*/scores", "*/scores.*", "*/scores-*"),
    "lists, keys and transcripts": (
        *("*/utt2*", "*/spk2*", "*/trials", "*/trials_*", "*/enrolls", "*/text", "*/text.*"),
        *("*/recordings.csv", "*/protocol.yaml", "*/wav/.*.json", "*/wav/.*.seconds"),
        *("*/wav.scp", "*/segments", "*keys-*/*", "*/hyp*.txt", "*/ref*.txt", "*/wer_details/*"),
    ),
    "vectors": (
        *("*/xvect*/*.ark", "*/xvect*/*.scp", "*/xvect*/*.np?", "*/xvect*/*.h*5", "*.ark"),
        *("*/speaker_vectors.pt", "*/id2idx", "*/xvector*", "*/spk_xvector*", "*/feats.scp"),
        *("*/xvect*/*.json", "*/emb_xvect/*", "*/vectors/*.np?", "*/vad.scp"),
    ),
    "models": (
        *("*/plda", "*/plda.*", "*/mean.vec", "*/transform.mat", "*/lda.mat", "*/final.raw"),
        *("*/final.mdl", "*.onnx", "*.ckpt", "*.pt", "*.pth", "*.safetensors"),
    ),
    "caches": ("*/measures/*/*.json", "*/cache/*", "*/.cache/*"),
}
#: Folders that hold programs.
_PROGRAMS = ("pyvenv.cfg", "HEAD")


def inventory(folder: Path) -> tuple[list[dict[str, Any]], int]:
    """List the files of a tree, or of a results folder, that hold personal data: path relative to
    the folder, kind and size of each; and how many links were not followed.

    Raises
    ------
    PrivacyEvalError
        It is neither: nothing is listed, or deleted, in any other folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "results.json").write_text("{}")
    >>> inventory(folder)
    ([{'path': 'results.json', 'kind': 'per-speaker values', 'size': 2}], 0)
    """
    if not (folder / "results.json").is_file() and not any(folder.glob("data/*/utt2spk")):
        expected = "expected an experiment tree (data/*/utt2spk) or a folder with results.json"
        raise PrivacyEvalError(f"{folder}: nothing to list: {expected}")
    files, links = list[dict[str, Any]](), 0
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            links += 1
        elif path.is_file() and (kind := kind_of(name)):
            files.append({"path": name, "kind": kind, "size": path.stat().st_size})
    return files, links


def delete(folder: Path, files: Iterable[Mapping[str, Any]]) -> int:
    """Delete those of the listed files that can be spared; return how many.

    Raises
    ------
    OSError
        One cannot be deleted.
    """
    spared = [file["path"] for file in files if file["kind"] in SPARED]
    for name in spared:
        (folder / name).unlink()
    return len(spared)


def kind_of(name: str) -> str | None:
    """Return the kind of personal data in a file by its path, None if it holds none."""
    for kind, patterns in _PATTERNS.items():
        if any(fnmatchcase(f"/{name.lower()}", pattern) for pattern in patterns):
            return kind
    return None


def _files(folder: Path) -> Iterator[Path]:
    """Yield files and links below a folder, but not in folders of programs."""
    for at, below, names in os.walk(folder):
        if any(name in names for name in _PROGRAMS):
            below.clear()
            continue
        yield from (Path(at, name) for name in below if Path(at, name).is_symlink())
        below.sort()
        yield from (Path(at, name) for name in sorted(names))
