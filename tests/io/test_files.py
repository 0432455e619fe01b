"""Reading whole files and writing them atomically."""

import gzip
import hashlib
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from support import run_program, write

from privacy_eval import PrivacyEvalError
from privacy_eval.io import files, vectors
from privacy_eval.io import files as module
from privacy_eval.io.files import (
    MAX_BYTES,
    Inputs,
    LineLimit,
    atomic_path,
    check_inside,
    file_names,
    max_unpacked_bytes,
    opened,
    paths_outside,
    read_bytes,
    read_text,
    refuse_symlinks,
    refuse_symlinks_below,
    write_text,
)

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def umask_077() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


# Reading


@pytest.mark.parametrize("name", ["scores.gz", "scores"])
def test_gzip_is_detected_by_content(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for content in (b"", b"a\nb", b"\x1f", bytes(range(256))):
        path.write_bytes(content)
        assert read_bytes(path) == content
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert read_bytes(path) == b"one\ntwo\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_one_byte_order_mark_is_removed(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(BOM + BOM + b"a"))
    assert read_bytes(path) == BOM + b"a"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_size_limit(tmp_path: Path, pack: type[bytes]) -> None:
    path = tmp_path / "file"
    path.write_bytes(pack(b"0" * 1000))
    assert len(read_bytes(path, max_bytes=1000)) == 1000
    with pytest.raises(PrivacyEvalError, match="file: larger than 999 bytes"):
        read_bytes(path, max_bytes=999)


def test_unpacked_size_is_limited_by_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files are limited to a usual compression ratio, small ones are not."""
    monkeypatch.setattr("privacy_eval.io.files._HARMLESS_BYTES", 100_000)
    path = tmp_path / "file"
    bomb = gzip.compress(bytes(100_000))
    path.write_bytes(bomb)
    assert len(read_bytes(path)) == 100_000
    path.write_bytes(gzip.compress(bytes(100_001)))
    with pytest.raises(PrivacyEvalError, match=r"file: larger than 100000 bytes \(unpacked, if"):
        read_bytes(path)
    trials = b"".join(b"speaker utterance-%d nontarget\n" % n for n in range(9999))
    path.write_bytes(gzip.compress(trials))
    assert read_bytes(path) == trials
    assert max_unpacked_bytes(1 << 20) == 200 << 20
    assert max_unpacked_bytes(1 << 40) == MAX_BYTES


PACKED = gzip.compress(b"spk utt 1.5\n" * 50)


def flipped(at: int) -> bytes:
    content = bytearray(PACKED)
    content[at] ^= 0xFF
    return bytes(content)


DAMAGED = {
    **{f"cut at {size}": PACKED[:size] for size in (2, 9, 20, -1, -5)},
    **{n: flipped(at) for n, at in {"method": 2, "data": 15, "crc": -8, "size": -4}.items()},
    "text behind": PACKED + b"spk utt2 3\n",
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_gzip(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "scores"
    path.write_bytes(DAMAGED[damage])
    with pytest.raises(PrivacyEvalError, match="scores: truncated or damaged gzip file"):
        read_bytes(path)


def test_unreadable_paths_are_errors(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError, match=r"none: cannot be read \(No such file"):
        read_bytes(tmp_path / "none")
    with pytest.raises(PrivacyEvalError, match=r"cannot be read \(Is a directory\)"):
        read_bytes(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0o000)
    with pytest.raises(PrivacyEvalError, match=r"secret: cannot be read \(Permission denied\)"):
        read_bytes(path)


def test_text_must_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(BOM + "é 語\r\n".encode())
    assert read_text(path) == "é 語\r\n"
    path.write_bytes(b"fine\nfine\nna\xefve\n")
    with pytest.raises(PrivacyEvalError, match="file:3: not UTF-8 text"):
        read_text(path)


# Writing


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_write_text_leaves_no_other_files(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    write_text(path, "é\nb\n")
    assert path.read_bytes() == b"\xc3\xa9\nb\n"
    write_text(path, "again")
    assert path.read_bytes() == b"again"
    assert names(path.parent) == ["file"]


def test_file_is_replaced_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, PrivacyEvalError])
@pytest.mark.parametrize("existing", [True, False])
def test_error_keeps_existing_file(
    tmp_path: Path, existing: bool, error: type[BaseException]
) -> None:
    path = tmp_path / "file"
    if existing:
        path.write_text("old")
    with pytest.raises(error, match="half"), atomic_path(path) as temporary:
        temporary.write_text("new")
        raise error("half way")
    assert names(tmp_path) == (["file"] if existing else [])
    assert not existing or path.read_text() == "old"


def test_full_disk_is_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with (
        pytest.raises(PrivacyEvalError, match=r"file: cannot be written \(No space left"),
        atomic_path(path),
    ):
        raise OSError(28, "No space left on device")
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_permissions_follow_umask(tmp_path: Path, umask_077: None) -> None:
    path = tmp_path / "file"
    write_text(path, "text")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    os.umask(0o022)
    write_text(path, "text")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_leftover_of_killed_writer_is_removed(tmp_path: Path) -> None:
    """A killed writer leaves its temporary file without the lock."""
    path = tmp_path / "file"
    with atomic_path(path) as temporary:
        left = temporary.with_name(temporary.name.replace(temporary.suffixes[-2], ".killed_1"))
    assert names(tmp_path) == ["file"]
    left.write_text("half")
    write_text(path, "whole")
    assert names(tmp_path) == ["file"]
    assert path.read_text() == "whole"


def test_concurrent_writers_do_not_interfere(tmp_path: Path) -> None:
    """The second ends first and sweeps; the first still has its own temporary file."""
    path = tmp_path / "file"
    with atomic_path(path) as first:
        first.write_text("first")
        with atomic_path(path) as second:
            assert first != second
            second.write_text("second")
        assert path.read_text() == "second"
        assert first.read_text() == "first"
    assert path.read_text() == "first"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_folders_and_pipes_are_not_replaced(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "taken")
    with pytest.raises(PrivacyEvalError, match="taken: .* not a regular file"):
        write_text(tmp_path / "taken", "text")
    assert names(tmp_path) == ["taken"]
    assert not (tmp_path / "taken").is_file()


def test_file_as_parent_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(PrivacyEvalError, match="new: cannot be written"):
        write_text(tmp_path / "file" / "new", "text")
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(PrivacyEvalError, match=r"cannot be written \(Permission denied\)"):
        write_text(folder / "file", "text")
    assert names(folder) == []


def test_symlink_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "precious"
    assert (tmp_path / "link").read_text() == "new"


def test_pipe_of_a_shell_is_read(tmp_path: Path) -> None:
    write(tmp_path / "packed", gzip.compress(b"text"))
    code = (
        "import sys; from pathlib import Path; from privacy_eval.io.files import read_bytes\n"
        "sys.stdout.buffer.write(read_bytes(Path(sys.argv[1])))"
    )
    command = f"{sys.executable} -c '{code}' <(cat packed)"
    assert run_program("bash", "-c", command, cwd=tmp_path).out == "text"


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


SPECIAL = {
    "a named pipe": os.mkfifo,
    "a socket": _socket,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", SPECIAL)
def test_special_files_are_refused_at_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody writes to the pipe: waiting for it would never end."""
    monkeypatch.chdir(tmp_path)
    SPECIAL[kind](tmp_path / "special")
    with pytest.raises(PrivacyEvalError, match=f"^{tmp_path}/special: cannot be read"):
        read_bytes(tmp_path / "special")


def test_long_names_are_shortened_and_distinct(tmp_path: Path) -> None:
    names = ["n" * 255, "n" * 256, "n" * 400, "n" * 120, "short"]
    files = file_names(names)
    assert len(set(files.values())) == len(names)
    assert files["short"] == "short" and files["n" * 120] == "n" * 120
    for file in files.values():
        write_text(tmp_path / f"{file}_asv.txt", "x")
    assert len(list(tmp_path.glob("*_asv.txt"))) == len(names)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("line", ["", "a b 1", "a " * 2000])
def test_no_more_lines_are_read_than_the_limit_allows(
    line: str, packed: bool, tmp_path: Path
) -> None:
    """Nor more bytes than so many lines have."""
    path = tmp_path / "file"
    text = f"{line}\n".encode() * 1001
    path.write_bytes(gzip.compress(text) if packed else text)
    assert read_bytes(path, limit=LineLimit(20_000, "")) == text
    with pytest.raises(PrivacyEvalError, match=r"(?s)file(:1001: .*\(few\)|: larger than)"):
        read_bytes(path, limit=LineLimit(1000, "few"))


def _rewrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"b")


def _rewrite_under_the_old_time(path: Path) -> None:
    old = path.stat()
    _rewrite(path)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))


CHANGES: list[tuple[Callable[[Path], None], bool]] = [
    (_rewrite, True),
    (_rewrite_under_the_old_time, True),
    (lambda path: os.truncate(path, 1), True),
    (lambda path: write_text(path, "other"), False),  # replaced: what is read stays whole
    (lambda path: os.link(path, path.with_name("copy")), False),
]


@pytest.mark.parametrize(("change", "is_refused"), CHANGES)
def test_a_file_that_changes_while_it_is_read_is_refused(
    change: Callable[[Path], None],
    is_refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_up_to = files._read_up_to

    def changing(*arguments: Any) -> bytes:
        change(path)
        return read_up_to(*arguments)

    monkeypatch.setattr(files, "_read_up_to", changing)
    path = tmp_path / "scores"
    for whole in (True, False):
        path.write_bytes(b"a" * 100)
        os.utime(path, ns=(0, 0))
        (tmp_path / "copy").unlink(missing_ok=True)
        message = f"^{path}: changed while it was read"
        with pytest.raises(PrivacyEvalError, match=message) if is_refused else nullcontext():
            if whole:
                assert read_bytes(path) == b"a" * 100
            else:
                with opened(path, path) as file:
                    change(path)
                    assert file.read() == b"a" * 100


@pytest.mark.parametrize("content", [b"u1 s1\n" * 99, b"\xef\xbb\xbfu1 s1\n" * 99])
@pytest.mark.parametrize("packed", [False, True])
def test_large_files_are_hashed_like_small_ones(
    content: bytes, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(content) if packed else content)
    expected = hashlib.sha256(content.removeprefix(b"\xef\xbb\xbf")).hexdigest()
    assert Inputs().sha256(path) == expected
    monkeypatch.setattr(module, "_KEPT_BYTES", 10)
    large = Inputs()
    assert large.sha256(path) == expected
    assert hashlib.sha256(read_bytes(large.load(path))).hexdigest() == expected


def test_a_large_file_that_changes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_KEPT_BYTES", 10)
    path, inputs = tmp_path / "file", Inputs()
    path.write_bytes(b"u1 s1\n" * 99)
    inputs.sha256(path)
    path.write_bytes(b"u1 s2\n" * 99)
    with pytest.raises(PrivacyEvalError, match="file: changed"):
        inputs.load(path)


def test_a_folder_is_forgotten_with_what_is_below_it_alone(tmp_path: Path) -> None:
    below, inputs = {"of/a", "of/b/c"}, Inputs()
    names = (*below, "of.b/a", "of-a", "of0", "o")
    written = {name: write(tmp_path / name, "old") for name in names}
    old = {name: inputs.sha256(path) for name, path in written.items()}
    for path in written.values():
        path.write_text("new")
    inputs.forget(tmp_path / "of")
    assert {n for n, path in written.items() if inputs.sha256(path) != old[n]} == below
    inputs.forget(written["o"])
    assert inputs.sha256(written["o"]) != old["o"]


def test_paths_outside_are_told_by_where_they_lead(tmp_path: Path) -> None:
    tree, other = tmp_path / "tree", tmp_path / "tree-2"
    tree.mkdir()
    other.mkdir()
    (tree / "out").symlink_to(other)
    (other / "in").symlink_to(tree)
    outside = [tree / "out", tree / "out/x", other, tree / "../tree-2/x"]
    inside = [tree, tree / "missing", other / "in/x", tree / "../tree/x"]
    assert paths_outside([*inside, None, *outside], [tree]) == tuple(outside)
    assert paths_outside(outside, [tree, other]) == paths_outside(outside, []) == ()
    check_inside(inside, [tree])
    with pytest.raises(PrivacyEvalError, match=r"^f:1: .*tree/out: is outside .*--allow-outside"):
        check_inside(outside, [tree], "f:1: ")


def test_long_paths_are_cut_in_messages(tmp_path: Path) -> None:
    with pytest.raises(PrivacyEvalError) as caught:
        check_inside([Path("/" + "x" * 10_000)], [tmp_path])
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("check", [refuse_symlinks, refuse_symlinks_below])
@pytest.mark.parametrize("link", ["team", "team/results", "team/results/out"])
def test_symlinks_on_the_way_to_an_output_are_refused(
    tmp_path: Path, link: str, check: object
) -> None:
    results, out = tmp_path / "exp", tmp_path / "exp/team/results/out"
    (results / link).parent.mkdir(parents=True)
    (results / link).symlink_to(tmp_path)
    with pytest.raises(PrivacyEvalError, match=f"{link}: refusing to write through a symlink"):
        check(out, results)  # type: ignore[operator]


@pytest.mark.parametrize("path", ["log/privacy_metrics.1.log", "tables/tables.pdf", "results.json"])
def test_special_files_within_an_output_are_refused(tmp_path: Path, path: str) -> None:
    pipe = tmp_path / "exp/privacy_eval" / path
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    with pytest.raises(PrivacyEvalError, match=f"^{pipe}: refusing to write next to a named pipe"):
        refuse_symlinks_below(tmp_path / "exp/privacy_eval", tmp_path / "exp")


def test_symlinks_of_the_user_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "exp").symlink_to("real")
    (tmp_path / "mine").symlink_to("real")
    refuse_symlinks(tmp_path / "exp/results-x", tmp_path / "exp")
    refuse_symlinks_below(tmp_path / "mine", tmp_path / "exp")


def test_a_link_that_is_exchanged_after_its_check_is_not_followed(tmp_path: Path) -> None:
    """Whatever is exchanged when: never the content of a file outside the roots."""
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("secret")
    path, link = tree / "scores", tree / "link"
    path.write_text("scores")
    with pytest.raises(PrivacyEvalError, match="--allow-outside"):
        link.symlink_to(secret)
        Inputs([tree]).load(link)
    assert Inputs([]).load(link).content == Inputs().load(link).content == b"secret"
    assert Inputs([tree]).load(secret).content == b"secret"  # named by the user
    within = tree / "within"
    within.symlink_to(path)
    assert Inputs([tree]).load(within).content == b"scores"


def test_archives_exchanged_after_their_check_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("u1 [ 1 2 ]\n")
    archive = tree / "x.ark"
    archive.write_text("u1 [ 3 4 ]\n")
    write_text(tree / "x.scp", "u1 x.ark:3\n")
    checked = vectors._archives

    def exchange(*given: Any) -> Any:
        archives = checked(*given)
        archive.unlink()
        archive.symlink_to(secret)
        return archives

    assert vectors.read_vectors(tree / "x.scp", tree=tree).matrix.tolist() == [[3, 4]]
    monkeypatch.setattr(vectors, "_archives", exchange)
    with pytest.raises(PrivacyEvalError, match="--allow-outside"):
        vectors.read_vectors(tree / "x.scp", tree=tree)
    monkeypatch.undo()
    read = vectors.read_vectors(tree / "x.scp", tree=tree, allow_outside=True)
    assert read.matrix.tolist() == [[1, 2]]


@pytest.mark.parametrize("stays", [False, True])
def test_a_file_exchanged_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    tree, secret = tmp_path / "tree", tmp_path / "secret"
    tree.mkdir()
    secret.write_text("secret")
    path = tree / "scores"
    path.symlink_to(secret)
    real = os.path.realpath
    calls: list[object] = []

    def exchange(name: Any, **options: Any) -> str:
        """Between opening and looking where the path leads: put a harmless file there."""
        calls.append(name)
        if os.fspath(name) != os.fspath(path) or (len(calls) > 1 and not stays):
            return str(real(name, **options))
        path.unlink()
        path.write_text("scores")
        leads_to = str(real(path))
        if stays:
            path.unlink()
            path.symlink_to(secret)
        return leads_to

    monkeypatch.setattr(os.path, "realpath", exchange)
    if stays:
        with pytest.raises(PrivacyEvalError, match="changed while it was opened"):
            Inputs([tree]).load(path)
    else:
        assert Inputs([tree]).load(path).content == b"scores"
