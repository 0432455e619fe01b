"""Commands of privacy-eval in forks of one process that has imported the whole package.

Most of the time of a short command goes into imports, and recipes start dozens. Tests in which
a process of its own is not what is tested put the command of `preloaded` first on the PATH.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import marshal
import os
import pkgutil
import select
import socket
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

#: Loaded by functions, as they are not always needed.
OTHERS = (
    "fontTools.subset",
    "matplotlib.backends.backend_agg",
    "matplotlib.backends.backend_pdf",
    "multiprocessing.connection",
    "scipy.optimize",
    "scipy.signal",
    "scipy.stats",
)

#: Hands its arguments, folder, environment and standard streams to the server; ends as the fork.
CLIENT = """#!{python} -IS
import _socket, marshal, os, sys
server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
server.connect({address!r})
message = marshal.dumps((sys.argv, os.getcwd(), dict(os.environ)))
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)]
server.sendmsg([len(message).to_bytes(8, sys.byteorder)], rights)
server.sendall(message)
code = server.recv(1)
os._exit(code[0] if code else 137)
"""


def preloaded(command: Path, path: Path) -> subprocess.Popen[bytes]:
    """Write the command, which uses the package that is in a folder; return its server, which
    ends with this process."""
    address = Path(tempfile.mkdtemp()) / "socket"
    server = subprocess.Popen(
        [sys.executable, __file__, str(address)],
        env={**os.environ, "PYTHONPATH": str(path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdout is not None and server.stdout.read(1)
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(CLIENT.format(python=sys.executable, address=str(address)))
    command.chmod(0o755)
    return server


def _serve(address: str) -> None:
    """Run commands until the standard input is closed."""
    import privacy_eval

    names = (m.name for m in pkgutil.walk_packages(privacy_eval.__path__, "privacy_eval."))
    for name in (*names, *OTHERS):
        if not name.endswith("__main__"):
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                assert error.name in ("torch", "onnx"), error  # which training needs
    gc.freeze()  # what the forks share is not searched, and so not copied, by each of them
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    os.write(1, b"!")
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            _run(connection)
        connection.close()
        with contextlib.suppress(ChildProcessError):  # leave no zombies
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    os.unlink(address)
    os.rmdir(os.path.dirname(address))


def _run(connection: socket.socket) -> None:
    """Run the command that a client sends, and end with it."""
    from privacy_eval.cli import main

    size, rights, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    message = b""
    while len(message) < int.from_bytes(size, sys.byteorder):
        message += connection.recv(1 << 20)
    for number, stream in enumerate(array.array("i", rights[0][2])):
        os.dup2(stream, number)
        os.close(stream)
    sys.argv, folder, environment = marshal.loads(message)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    code: object = 1
    try:
        code = main()
        sys.stdout.flush()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
    atexit._run_exitfuncs()
    connection.sendall(bytes([code if isinstance(code, int) else bool(code)]))
    os._exit(0)


if __name__ == "__main__":
    sys.path.pop(0)  # this folder
    _serve(sys.argv[1])
