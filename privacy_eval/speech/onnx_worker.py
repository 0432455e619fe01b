"""A process that opens an untrusted ONNX file and computes with it; run as a script, not imported.

Messages on both pipes are a length of eight bytes and the content. In: the model, then arrays as
.npy. Out: a description of the model as JSON, then arrays as .npy; JSON with "error" otherwise.
"""

import contextlib
import io
import json
import os
import resource
import struct
import sys
import tempfile

# A script's own folder comes first, and has modules of common names.
sys.path.pop(0)

_MOST_BYTES = 16 << 30


def main() -> None:
    """Serve one model until the pipe is closed."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the library prints
    source = sys.stdin.buffer
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MOST_BYTES if hard < 0 else min(hard, _MOST_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    import numpy as np
    import onnxruntime

    def send(content: bytes) -> None:
        out.write(struct.pack("<q", len(content)) + content)
        out.flush()

    def receive() -> bytes:
        head = source.read(8)
        return source.read(struct.unpack("<q", head)[0]) if len(head) == 8 else b""

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as empty:  # paths of other files lead nowhere
        os.chdir(empty)
        try:
            providers = ["CPUExecutionProvider"]
            session = onnxruntime.InferenceSession(receive(), options, providers=providers)
            description = {
                "inputs": [(i.name, i.type, i.shape) for i in session.get_inputs()],
                "outputs": [(o.name, o.type, o.shape) for o in session.get_outputs()],
                "metadata": session.get_modelmeta().custom_metadata_map,
                "library": onnxruntime.__version__,
            }
        except Exception as error:
            return send(json.dumps({"error": str(error)[:2000]}).encode())
        finally:
            os.chdir(os.sep)
    send(json.dumps(description).encode())
    name = session.get_inputs()[0].name
    with contextlib.suppress(BrokenPipeError):
        while content := receive():
            try:
                array = np.load(io.BytesIO(content), allow_pickle=False)
                packed = io.BytesIO()
                result = session.run(None, {name: array})[0]
                np.save(packed, np.asarray(result), allow_pickle=False)
                send(packed.getvalue())
            except Exception as error:
                send(json.dumps({"error": str(error)[:2000]}).encode())


if __name__ == "__main__":
    main()
