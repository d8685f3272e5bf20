# SPDX-License-Identifier: BSD-3-Clause
"""Resources that a benchmark takes from the machine and returns: hugepages, processes, files.

Everything is undone at the end of the Machine block, whatever the reason.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
HUGEPAGES = "/sys/kernel/mm/hugepages/hugepages-2048kB/"
PAGE_MB = 2


class BenchError(Exception):
    """The benchmark cannot run; the text says why and what to do."""


class Disturbed(BenchError):
    """A measurement failed, as can happen on a busy machine: it is tried again."""


def run(*argv, timeout=60, **kwargs):
    """Runs a command to its end; raises BenchError with its output if it fails."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=timeout, **kwargs
        )
    except FileNotFoundError:
        raise BenchError(f"{argv[0]}: not found") from None
    except subprocess.TimeoutExpired:
        raise BenchError(f"{argv[0]}: not done within {timeout} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2000:]
        raise BenchError(f"{' '.join(argv)}: exit status {done.returncode}: {said}")
    return done


def end_process(process, timeout=5):
    """SIGTERM, then SIGKILL, to a process that we started."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def read_number(path):
    with open(path) as file:
        return int(file.read())


def write_number(path, value):
    with open(path, "w") as file:
        file.write(str(value))


class Hugepages:
    """Additional 2 MB pages, as long as they are needed."""

    def __init__(self, folder=HUGEPAGES):
        self.folder = folder
        self.added = 0

    def free(self):
        return read_number(self.folder + "free_hugepages")

    def total(self):
        return read_number(self.folder + "nr_hugepages")

    def kept(self):
        """The permanent pages: the number that can be set."""
        return self.total() - read_number(self.folder + "surplus_hugepages")

    def need(self, megabytes):
        """Adds missing pages until that many are free."""
        wanted = -(-megabytes // PAGE_MB)
        if self.free() >= wanted:
            return
        before = self.kept()
        self.set(max(before, self.total() - self.free() + wanted))
        self.added += self.kept() - before
        if self.free() < wanted:
            raise BenchError(
                f"{wanted} free hugepages of 2 MB are needed, and only {self.free()} could be "
                "had: free memory, or start the machine with hugepages=N"
            )

    def set(self, number):
        path = self.folder + "nr_hugepages"
        try:
            write_number(path, number)
        except OSError as error:
            raise BenchError(f"{path}: {error.strerror}: run it as root") from None

    def restore(self):
        """Removes the added pages; changes by others remain."""
        if self.added:
            self.set(max(0, self.kept() - self.added))
            self.added = 0


class Machine:
    """Resources of one run. Use as a context manager; SIGTERM and SIGHUP end it cleanly."""

    def __init__(self, build):
        self.build = build
        self.stack = contextlib.ExitStack()
        self.cpus = sorted(os.sched_getaffinity(0))
        self.files = 0

    def __enter__(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, terminated)
        # A shell that starts this in the background makes it ignore SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.dir = tempfile.mkdtemp(prefix="slipring-bench-")
        self.stack.callback(shutil.rmtree, self.dir, ignore_errors=True)
        self.hugepages = Hugepages()
        self.stack.callback(self.hugepages.restore)
        return self

    def __exit__(self, *_):
        # A second Ctrl-C must not interrupt the clean-up.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self.stack.close()

    def binary(self, path):
        """Path of a program of the build."""
        full = os.path.join(self.build, path)
        if not os.access(full, os.X_OK):
            raise BenchError(f"{full} is not built: ninja -C {self.build}")
        return full

    def path(self, name):
        """A new file name in the scratch directory."""
        self.files += 1
        return os.path.join(self.dir, f"{self.files:03}-{name}")

    @contextlib.contextmanager
    def process(self, argv, patience=5, **kwargs):
        """A child that ends with the block: by SIGTERM, then killed after `patience`."""
        try:
            child = subprocess.Popen(argv, **kwargs)
        except FileNotFoundError:
            raise BenchError(f"{argv[0]}: not found") from None
        try:
            yield child
        finally:
            end_process(child, patience)


def terminated(*_):
    raise SystemExit(143)


def wait_until(condition, timeout, awaited):
    """Polls until condition() is true and returns its value."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise Disturbed(f"not within {timeout:g} s: {awaited}")
        time.sleep(0.02)
    return value
