"""A service under test: the program that cargo built, on a port of its own."""

import re
import signal
import subprocess
import time
from contextlib import contextmanager

from test_runs import program

WORLD = "treatment"


@contextmanager
def served(directory, store=None, world=WORLD, port=0, options=()):
    """`dowise serve` in a directory; the process with its address as `.url`."""
    file = directory / f"{world}.toml"
    if not file.exists():
        subprocess.run([program(), "--quiet", "new", world, "-o", str(file)], check=True)
    command = [
        program(),
        "serve",
        str(file),
        "--store",
        store or str(directory / "store"),
        "--listen",
        f"127.0.0.1:{port}",
    ]
    log = directory / f"serve-{time.monotonic_ns()}.log"
    with log.open("w") as given:
        process = subprocess.Popen([*command, "--pace", "0.1", *options], stderr=given, stdout=given)
    try:
        until = time.monotonic() + 60
        while not (found := re.search(r"http://[\d.]+:\d+", log.read_text())):
            assert process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        process.url = found[0]
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def crowd(url, directory, customers, seed=1, world=WORLD):
    """A simulated load against a service."""
    command = [program(), "--quiet", "crowd", url, str(directory / f"{world}.toml"), "--prefix", f"customer-{seed}-"]
    subprocess.run([*command, "--customers", str(customers), "--seed", str(seed)], check=True, capture_output=True)


def replayed(store):
    """What `dowise replay` says of a store; it fails if anything comes out otherwise."""
    return subprocess.run([program(), "replay", str(store)], check=True, capture_output=True, text=True).stdout
