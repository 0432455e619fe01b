"""The version of the package and where its recipes are, below everything that needs them."""

from pathlib import Path

__version__ = "1.0.0rc1"

#: Folder of recipes/, local/, scripts/ and conf/: the repository, or the installed package.
ROOT = (Path(__file__).parent / "recipes").resolve().parent
