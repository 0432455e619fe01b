"""On PYTHONPATH, hides the libraries of extras, as if the core were installed alone."""

from importlib.machinery import PathFinder

HIDDEN = {
    *("soundfile", "h5py", "pyarrow", "kaldialign", "parselmouth", "pandas", "mkdocs"),
    *("webrtcvad", "soxr", "onnxruntime", "hama", "mkdocstrings", "pocketsphinx"),
}
_find_spec = PathFinder.find_spec


def _visible(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in HIDDEN else _find_spec(name, path, target)


PathFinder.find_spec = classmethod(_visible)
