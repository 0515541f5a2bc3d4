"""Functions for workers to run."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

from tileiras_build.core.errors import Location, Unsupported


def double(value):
    return value * 2


def process_id():
    return os.getpid()


def meet(folder, count):
    """The file of this process, as a stage returns its artifact, once ``count`` processes are here."""
    Path(folder, str(os.getpid())).touch()
    while len(os.listdir(folder)) < count:
        time.sleep(0.01)
    return {".pid": str(os.getpid()).encode()}


def read(data):
    return os.getpid()


def parent_process_id():
    return os.getppid()


def resource_tracker_after_sharing_memory():
    """The process that watches the shared memory of this one."""
    memory = SharedMemory(create=True, size=1)
    memory.close()
    memory.unlink()
    return vars(resource_tracker)["_resource_tracker"]._pid


def fail(message):
    raise Unsupported("mma-no-row", message, location=Location("k.py", 3, 4), remedy="use another")


def crash(last_words):
    print(last_words, file=sys.stderr)
    os.kill(os.getpid(), signal.SIGSEGV)


def end_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def hoard():
    kept = []
    while True:
        kept.append(bytearray(64 << 20))


def leave(status):
    os._exit(status)


def sleep(seconds):
    time.sleep(seconds)


def start_a_sleeper(note):
    """A program that outlives its parent, as ptxas would."""
    process = subprocess.Popen(["sleep", "600"])
    with open(note, "w") as stream:
        stream.write(str(process.pid))
    process.wait()


def say(text):
    print(text, file=sys.stderr)


def unpicklable():
    return lambda: None


def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    return "still here"


def main_module_file():
    return getattr(sys.modules["__main__"], "__file__", None)


def unpicklable_error():
    error = ValueError("a lambda inside")
    error.__reduce__ = None
    error.handle = lambda: None
    raise error
