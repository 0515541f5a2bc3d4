import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import fresh_environment
from tests.fresh_environment import Environment

# What a reader installs beside the project; pip and setuptools come with a virtual environment, or from an index.
LIBRARIES = ("cuda-tile", "pip", "setuptools")


@pytest.fixture(scope="session")
def environment() -> Environment:
    """What the documents' first commands make: the project and cuTile Python, installed."""
    pytest.importorskip("cuda.tile", reason="kernels are written in cuTile Python: pip install cuda-tile")
    return fresh_environment.shared(["."], LIBRARIES)


@pytest.fixture
def shell(environment, tmp_path) -> Callable[[str], subprocess.CompletedProcess]:
    """Runs a line in ``tmp_path`` as one who has that environment activated."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    paths = os.pathsep.join([str(environment.python.parent), *_system_paths()])
    # pip asks no index: nothing that the documents build needs one.
    more = {"VIRTUAL_ENV": str(environment.folder), "PATH": paths, "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}

    def run(line: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=kept | more,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )

    return run


def _system_paths() -> list[str]:
    """The folders of PATH that hold no Python environment."""
    return [path for path in os.environ["PATH"].split(os.pathsep) if not Path(path, "activate").exists()]
