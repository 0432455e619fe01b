"""A process that opens an untrusted ONNX file and computes with it; run as a script, not imported.

The pipe, whose number is the argument, takes and gives bytes, none of them unpickled. In: the
model, then arrays as .npy. Out: a description of the model as JSON, then arrays as .npy; JSON with
"error" otherwise.
"""

import contextlib
import io
import json
import os
import resource
import sys
import tempfile

# A script's own folder comes first, and has modules of common names.
sys.path.pop(0)

_MOST_BYTES = 16 << 30


def main() -> None:
    """Serve one model until the pipe is closed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MOST_BYTES if hard < 0 else min(hard, _MOST_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    from multiprocessing.connection import Connection

    import numpy as np
    import onnxruntime

    pipe = Connection(int(sys.argv[1]))
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as empty:  # paths of other files lead nowhere
        os.chdir(empty)
        try:
            providers = ["CPUExecutionProvider"]
            session = onnxruntime.InferenceSession(pipe.recv_bytes(), options, providers=providers)
            description = {
                "inputs": [(i.name, i.type, i.shape) for i in session.get_inputs()],
                "outputs": [(o.name, o.type, o.shape) for o in session.get_outputs()],
                "metadata": session.get_modelmeta().custom_metadata_map,
            }
        except Exception as error:
            return pipe.send_bytes(json.dumps({"error": str(error)[:2000]}).encode())
        finally:
            os.chdir(os.sep)
    pipe.send_bytes(json.dumps(description).encode())
    name = session.get_inputs()[0].name
    with contextlib.suppress(EOFError, OSError):
        while True:
            content = pipe.recv_bytes()
            try:
                array = np.load(io.BytesIO(content), allow_pickle=False)
                packed = io.BytesIO()
                result = session.run(None, {name: array})[0]
                np.save(packed, np.asarray(result), allow_pickle=False)
                pipe.send_bytes(packed.getvalue())
            except Exception as error:
                pipe.send_bytes(json.dumps({"error": str(error)[:2000]}).encode())


if __name__ == "__main__":
    main()
