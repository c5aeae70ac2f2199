"""How many requests a second the service of ``docs/guide/serving.md`` answers, and how fast.

``python -m experiments.speed.service [model ...]`` trains the models on yeast and starts two
processes with the page's own code: one serves the estimator, the other the compiled model. A third
process sends one row in each request, over connections that stay open, to both in turns. It prints
the requests a second and percentiles of the time from sending a request to having its answer. A
server uses one core, and the client part of a second one.
"""

import json
import multiprocessing
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from experiments.engine.process import process_environment
from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.data import load_dataset
from xdcc.serving import CompiledModel, save_model

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "serving.md"
DATA = "yeast"
N_CONNECTIONS = 4
N_TURNS = 5
SECONDS = 2.0
"""Duration of a turn, in seconds."""
MODELS = {
    "booster": MultiLabelXGBClassifier(n_estimators=100, n_jobs=1),
    "dynamic chain": DynamicChainClassifier(propagate="in_sample", n_jobs=1),
    "mixture": MultiLabelClassifier("example_f1", n_jobs=1),
}


def serve(folder: str, is_compiled: bool, address: Connection) -> None:
    """Run the code of the page on the model in ``chain.xdcc`` of a folder, and send its address."""
    os.chdir(folder)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [code] = [block for block in blocks if "ThreadingHTTPServer(" in block]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    if is_compiled:
        names["model"] = CompiledModel(names["model"], n_jobs=1)
    address.send(names["server"].server_address)
    names["server"].serve_forever()


def ask(connection: socket.socket, request: bytes) -> bytes:
    """Send a request and return the body of its answer."""
    connection.sendall(request)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return body


def load(address: tuple[str, int], requests: Sequence[bytes]) -> list[float]:
    """Send requests over several connections for a turn; return the seconds of each answer."""

    def client(number: int) -> list[float]:
        seconds = []
        with socket.create_connection(address) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            at, now, end = number, time.perf_counter(), time.perf_counter() + SECONDS
            while now < end:
                begin = now
                ask(connection, requests[at % len(requests)])
                now = time.perf_counter()
                seconds.append(now - begin)
                at += N_CONNECTIONS
        return seconds

    with ThreadPoolExecutor(N_CONNECTIONS) as pool:
        return [took for found in pool.map(client, range(N_CONNECTIONS)) for took in found]


def compare(name: str, model: Any) -> None:
    """Print the speed of a service with an estimator, and of one with its compiled model."""
    train, test = load_dataset(DATA, "train"), load_dataset(DATA, "test")
    model.fit(train.X, train.Y)
    rows: Any = np.float32(test.X)
    bodies = [json.dumps([row.tolist()]).encode() for row in rows]
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    requests = [head % len(body) + body for body in bodies]
    expected = CompiledModel(model, n_jobs=1).predict_proba(rows[:1])
    spawn, addresses, servers = multiprocessing.get_context("spawn"), [], []
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, Path(folder, "chain.xdcc"))
        try:
            for is_compiled in (False, True):
                receiver, sender = spawn.Pipe(duplex=False)
                with process_environment(1):
                    servers.append(
                        spawn.Process(target=serve, args=(folder, is_compiled, sender), daemon=True)
                    )
                    servers[-1].start()
                addresses.append(receiver.recv())
                with socket.create_connection(addresses[-1]) as connection:
                    found = json.loads(ask(connection, requests[0]))
                np.testing.assert_allclose(found, expected, atol=1e-6)
            seconds: tuple[list[float], list[float]] = ([], [])
            for _ in range(N_TURNS):
                for address, found in zip(addresses, seconds, strict=True):
                    found += load(address, requests)
        finally:
            for server in servers:
                server.terminate()
                server.join()
    for kind, found in zip(("estimator", "compiled"), seconds, strict=True):
        per_second = len(found) / (N_TURNS * SECONDS)
        p50, p99 = np.percentile(np.array(found) * 1e3, [50, 99])
        print(
            f"{name}, {kind}: {per_second:.0f} requests a second, median {p50:.2f} ms, "
            f"p99 {p99:.2f} ms",
            flush=True,
        )
    print(f"{name}: {len(seconds[1]) / len(seconds[0]):.1f} times as many", flush=True)


if __name__ == "__main__":
    for each in sys.argv[1:] or MODELS:
        compare(each, MODELS[each])
