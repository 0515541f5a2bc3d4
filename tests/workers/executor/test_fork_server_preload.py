"""The fork server ends with its build, also where that was over before the server had begun."""

import subprocess
import sys

import pytest

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


DIGESTS = """
import sys
import xdsl
from tileiras_build.core.tracing.dependency_record import Dependency, DependencyRecord
from tileiras_build.core.tracing.dependency_state import stamp
from tileiras_build.workers.executor import worker_pool
path, earlier, how = xdsl.__file__, sys.argv[1], sys.argv[2]
with open(earlier, "wb") as file:
    file.write(DependencyRecord.of([Dependency("contents", path, "as noted", stamp(path))], []).to_bytes())
worker_pool.warm_up({"no exports": [], "an export": [earlier], "a lost record": [earlier + "x"], "unknown": None}[how])
with worker_pool.WorkerPool(1) as pool:
    digest = pool.run("tests.workers.executor.worker_tasks:digest_at_load", path)
print(digest if digest in (None, "as noted") else len(digest))
"""


@pytest.mark.parametrize(
    ("exports", "digest"),
    [("no exports", "None"), ("an export", "as noted"), ("a lost record", "64"), ("unknown", "64")],
)
def test_libraries_are_read_for_records_of_exports_unless_an_earlier_one_has_their_digests(tmp_path, exports, digest):
    command = [sys.executable, "-c", DIGESTS, str(tmp_path / "k.reads"), exports]
    done = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == (f"{digest}\n", "")
