"""Files of figures: the same bytes on every run, whatever the user's settings are."""

import contextlib
import errno
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from privacy_eval.errors import OutputError
from privacy_eval.io import files
from privacy_eval.report.figures import drawing, style
from privacy_eval.report.figures.drawing import Drawing, write
from privacy_eval.report.figures.plot import Curve, Panel, Plot

X = np.linspace(0, 1, 9)
PLOT = Drawing("p", "A plot.", Plot(((Panel((Curve(X, X, "x"),), "x", "y", (0, 1), (0, 1)),),)))


def sample() -> Canvas:
    with style.figure(3.0, 2.0) as canvas:
        axes = canvas.subplots()
        axes.plot([1, 2], [1, 100])
        axes.set_yscale("log")
        axes.set_title("title")
    return canvas


def test_files_have_no_time_stamp_and_reduced_fonts(tmp_path: Path) -> None:
    files = write(Drawing("f", "", sample), tmp_path)
    assert [p.name for p in files] == ["f.png", "f.pdf"]
    png, pdf = (path.read_bytes() for path in files)
    assert all(b"CreationDate" not in c and b"atplotlib" not in c for c in (png, pdf))
    assert b"/FontType 3" not in pdf
    streams = re.findall(rb"/Filter /FlateDecode.*?stream\n(.*?)\nendstream", pdf, re.S)
    fonts = [f for f in map(zlib.decompress, streams) if f.startswith(b"\0\1\0\0")]
    assert fonts
    for font in fonts:
        tables = {font[i : i + 4] for i in range(12, 12 + 16 * font[5], 16)}
        assert b"glyf" in tables
        assert not tables & {b"GDEF", b"GPOS", b"GSUB"}


def test_only_plots_of_curves_are_written_as_tex(tmp_path: Path) -> None:
    assert [p.name for p in write(PLOT, tmp_path)] == ["p.png", "p.pdf", "p.tex"]
    assert [p.name for p in write(PLOT, tmp_path, ["tex"])] == ["p.tex"]
    assert write(Drawing("f", "", sample), tmp_path, ["tex"]) == ()


def test_a_figure_is_drawn_when_needed_and_freed_when_written(tmp_path: Path) -> None:
    drawn = []

    def draw() -> Canvas:
        drawn.append(sample())
        return drawn[0]

    one = Drawing("f", "", draw)
    assert not drawn
    write(one, tmp_path, ["pdf"])
    assert len(drawn) == 1 and not drawn[0].axes


def test_the_users_settings_and_display_do_not_matter(tmp_path: Path) -> None:
    script = (
        "import sys, pathlib, matplotlib; matplotlib.rcParams['font.size'] = 30\n"
        "from test_drawing import Drawing, sample, write\n"
        "write(Drawing('f', '', sample), pathlib.Path(sys.argv[1]))\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert matplotlib.rcParams['font.size'] == 30\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a")],
        check=True,
        cwd=Path(__file__).parent,
        env={
            "PYTHONHASHSEED": "1",
            "PYTHONPATH": str(Path(drawing.__file__).parents[3]),
            "HOME": os.environ.get("HOME", ""),  # of the list of fonts that are installed
        },
    )
    for path in write(Drawing("f", "", sample), tmp_path / "b"):
        assert path.read_bytes() == (tmp_path / "a" / path.name).read_bytes()


@pytest.mark.parametrize("form", ["png", "pdf"])
def test_a_full_disk_is_an_error_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    @contextlib.contextmanager
    def on_full_disk(path: Path) -> Iterator[Path]:
        with whole(path) as temporary:
            temporary.unlink()
            temporary.symlink_to("/dev/full")
            yield temporary

    whole = files.atomic_path
    monkeypatch.setattr(drawing, "atomic_path", on_full_disk)
    path, canvas = tmp_path / f"x.{form}", Canvas()
    canvas.subplots().imshow(np.random.default_rng(0).random((300, 300)))
    with pytest.raises(OutputError, match=re.escape(os.strerror(errno.ENOSPC))):
        drawing.save(canvas, {form: path})
    assert list(tmp_path.iterdir()) == []
