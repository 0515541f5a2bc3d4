"""Runs each call in a fork of the calling process: for a command that makes one call and has no threads yet."""

from __future__ import annotations

import os
import pickle
import sys
import traceback

from ..errors import InternalError
from ..pipeline.stages import load
from .isolation import make_expendable
from .worker_pool import describe_exit


class ForkedExecutor:
    """An executor that survives an LLVM abort without the cost of a worker pool; ``timeout`` is ignored."""

    def run(self, function: str, *arguments: object, timeout: float | None = None) -> object:
        """The result of the function named ``"module:function"``; InternalError[worker-died] if its process dies."""
        read_end, write_end = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _serve(write_end, function, arguments)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as stream:
            data = stream.read()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != 0 or not data:
            raise InternalError("worker-died", f"the compiler process {describe_exit(code)}")
        succeeded, result = pickle.loads(data)
        if succeeded:
            return result
        raise result

    def close(self) -> None:
        """Nothing to end."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def _bare(error: Exception) -> Exception:
    """The diagnostic without where it was raised, which some libraries teach pickle to walk through."""
    for part in (error, *getattr(error, "errors", ())):
        part.__traceback__ = part.__cause__ = part.__context__ = None
    return error


def _serve(write_end: int, function: str, arguments: tuple) -> None:
    """The child: never returns to the caller's code."""
    status = 1
    make_expendable()
    try:
        try:
            answer = (True, load(function)(*arguments))
        except Exception as error:
            answer = (False, _bare(error))
        with os.fdopen(write_end, "wb") as stream:
            stream.write(pickle.dumps(answer))
        status = 0
    except KeyboardInterrupt:
        status = 130
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
