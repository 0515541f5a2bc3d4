"""The fork server ends with its build, also where that was over before the server had begun."""

import subprocess
import sys

from tileiras_build.pipeline.stages import PACKAGE

SHORT_BUILD = """
import multiprocessing, os
from multiprocessing import forkserver
os.environ["BUILD"] = str(os.getpid())
multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.workers.executor.slow_preload"])
forkserver.ensure_running()
os._exit(0)
"""


def test_a_server_whose_build_is_over_imports_nothing_and_waits_for_nobody():
    """Whoever reads what the build prints waits for both."""
    command = [sys.executable, "-c", SHORT_BUILD]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, timeout=120, check=True)
    assert (done.stdout, done.stderr) == ("", "")
