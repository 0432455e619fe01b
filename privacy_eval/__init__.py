"""Evaluation of voice anonymization on Kaldi experiment trees.

All that a notebook needs is reachable from here and imported on first use:

>>> import privacy_eval as pe
>>> result = pe.evaluate(target=[3, 5, 7, 8], nontarget=[1, 2, 4, 6])
>>> round(result.values["cllr_min"], 3), result.values["rocch_eer"]
(0.5, 0.25)

`privacy-eval VERB --help` must not wait for scipy; the names are listed in `__init__.pyi`.
"""

import importlib
import re
from pathlib import Path

_FOLDER = Path(__file__).parent
_IMPORT = re.compile(r"^from (\.\S+) import (\w+) as (\w+)$", re.MULTILINE)

#: Module and name in it by public name.
_PUBLIC = {
    public: (module, name)
    for module, name, public in _IMPORT.findall(
        Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    )
}
#: Those of wings that are not there, with the wing.
_ABSENT = {
    public: module.split(".")[1]
    for public, (module, _) in _PUBLIC.items()
    if module.count(".") > 1 and not (_FOLDER / module.split(".")[1]).is_dir()
}

__all__ = sorted(_PUBLIC.keys() - _ABSENT.keys())


def __getattr__(name: str) -> object:
    if name in _ABSENT:
        raise AttributeError(f"{__name__}.{name}: the wing {_ABSENT[name]} is not installed")
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _PUBLIC[name]
    value = getattr(importlib.import_module(module, __name__), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
