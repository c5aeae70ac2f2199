"""Load for the service in docs/guide/serving.md: its own code, many requests, bad ones mixed in.

    python tests/serving/service_load.py --requests 10000 --clients 8

Each answer is compared: a good request gets what the model predicts, a bad one the status 400.
Prints percentiles of the time from sending a request to having its answer.
"""

import argparse
import http.client
import json
import os
import re
import resource
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from xdcc.chain import DynamicChainClassifier
from xdcc.data import make_multilabel
from xdcc.serving import save_model

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "serving.md"

BAD = [
    b"",
    b"{",
    b"[" * 100_000,
    b"[[1,2],[3]]",
    b"[[1,2,3]]",
    b'[["x"]]',
    b"[[1e999]]",
    b"[]",
    b"7",
    b'{"rows": []}',
    b"\xff\xfe",
    b"null",
]


def service():
    """Get the server of the page, for the model at ``chain.xdcc`` in the present folder."""
    [code] = [
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
        if "ThreadingHTTPServer" in block
    ]
    namespace = {}
    exec(compile(code, str(PAGE), "exec"), namespace)
    return namespace["model"], namespace["server"]


def ask(connection, body):
    """Send a request; return status, answer and seconds."""
    begin = time.perf_counter()
    connection.request("POST", "/", body)
    response = connection.getresponse()
    answer = json.loads(response.read())
    return response.status, answer, time.perf_counter() - begin


def run(n_requests, n_clients, X):
    """Serve, ask and compare.

    Returns
    -------
    dict of str to list of float
        Seconds of the ``"good"`` and of the ``"bad"`` requests.
    """
    model, server = service()
    expected = model.predict_proba(X)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:

        def client(number):
            rng = np.random.default_rng(number)
            seconds = {"good": [], "bad": []}
            connection = http.client.HTTPConnection(*server.server_address, timeout=60)
            for _ in range(n_requests // n_clients):
                if rng.random() < 0.2:
                    status, answer, took = ask(connection, BAD[rng.integers(len(BAD))])
                    assert status == 400, (status, answer)
                    assert set(answer) == {"error"}, answer
                    seconds["bad"].append(took)
                    continue
                first = int(rng.integers(len(X) - 10))
                rows = slice(first, first + int(rng.integers(1, 10)))
                status, answer, took = ask(connection, json.dumps(X[rows].tolist()).encode())
                assert status == 200, (status, answer)
                np.testing.assert_array_equal(np.array(answer, np.float32), expected[rows])
                seconds["good"].append(took)
            connection.close()
            return seconds

        with ThreadPoolExecutor(n_clients) as pool:
            found = list(pool.map(client, range(n_clients)))
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
    return {kind: [s for one in found for s in one[kind]] for kind in ("good", "bad")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    arguments = parser.parse_args()
    data = make_multilabel(500, n_labels=6, random_state=0)
    X = data.X.astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        chain = DynamicChainClassifier(chain_length=3, n_estimators=50, random_state=0, n_jobs=1)
        save_model(chain.fit(X, data.Y), "chain.xdcc")
        before = resource.getrusage(resource.RUSAGE_SELF)
        begin = time.perf_counter()
        seconds = run(arguments.requests, arguments.clients, X)
        wall = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_SELF)
        os.chdir("/")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    n = sum(map(len, seconds.values()))
    print(f"{n} requests of {arguments.clients} clients in {wall:.1f} s, {cpu:.1f} s of CPU time,")
    print(
        f"peak memory {before.ru_maxrss / 1024:.0f} MiB before, {after.ru_maxrss / 1024:.0f} after"
    )
    for kind, values in seconds.items():
        at = np.percentile(np.array(values) * 1e3, [50, 90, 99, 99.9, 100])
        shown = ", ".join(f"{p}: {v:.1f}" for p, v in zip((50, 90, 99, 99.9, 100), at, strict=True))
        print(f"{len(values):6} {kind}; percentiles in ms: {shown}")


if __name__ == "__main__":
    main()
