"""YAML as plain values: lists, mappings, text, numbers, booleans, None."""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Hashable
from typing import Any

import yaml

from ..errors import PrivacyEvalError

#: A protocol has some 10 kB; PyYAML reads some 100 kB per second.
MAX_YAML_BYTES = 1 << 18


class _Loader(yaml.SafeLoader):
    """A safe loader without duplicate keys, without octal and sexagesimal numbers (`010` is 8,
    `1:30` is 90), and without `<<`, whose copies of mappings in mappings could grow
    exponentially."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise _refusal("merge keys (<<) are not supported", key)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        _check_decimal(node)
        return int(super().construct_yaml_int(node))

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        _check_decimal(node)
        return float(super().construct_yaml_float(node))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            seen = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if key in seen:
                    raise _refusal(f"duplicate {str(key)[:40]!r}", key_node)
                seen.add(key)
        return mapping


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


def _check_decimal(node: yaml.ScalarNode) -> None:
    text = str(node.value)
    if re.fullmatch(r"[-+]?0[0-9_]+|.*:.*", text):
        raise _refusal(f"a value that is no decimal number: {text[:40]!r}", node)


def _refusal(problem: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


@functools.lru_cache(maxsize=8)
def _loaded(text: str, trusted: bool) -> object:
    """Load a YAML text: a command reads its protocol several times, slowly."""
    if trusted:  # libyaml, ten times as fast, would crash at deep nesting
        parser = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return _Loader("").construct_document(yaml.compose(text, Loader=parser))
    return yaml.load(text, Loader=_Loader)


def parse_yaml(text: str, where: str, *, trusted: bool = False) -> object:
    """Parse a YAML text of plain values.

    Parameters
    ----------
    where : str
        Beginning of the message of any error: the file.
    trusted : bool
        Whether the text is the package's own.

    Raises
    ------
    PrivacyEvalError
        Not YAML (with the line), tags of other programs, a duplicate key, merge keys, values
        that cannot be parsed, more than 256 KiB.

    Examples
    --------
    >>> parse_yaml("splits: [dev, test]", "protocol.yaml")
    {'splits': ['dev', 'test']}
    """
    if len(text) > MAX_YAML_BYTES:
        raise PrivacyEvalError(f"{where}: larger than {MAX_YAML_BYTES} bytes")
    try:
        return copy.deepcopy(_loaded(text, trusted))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or error
        raise PrivacyEvalError(f"{where}{line}: invalid YAML ({problem})") from error
    except RecursionError as error:
        raise PrivacyEvalError(f"{where}: invalid YAML (nested too deeply)") from error
    except (ValueError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        # Raised by PyYAML's constructors for values such as the date 2020-13-45.
        raise PrivacyEvalError(f"{where}: invalid YAML (a value that cannot be read)") from error
