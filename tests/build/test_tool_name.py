"""``Environment(tools=["tileiras"])`` finds the tool by its name, in a wheel and in an editable install."""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests import fresh_environment
from tests.build.test_build_session import SCRIPT_AGE
from tests.fresh_environment import ROOT

SCRIPT = 'env = Environment(tools=["tileiras"])\nDefault(env.KernelLibrary("kernels", ["k.tilebc"]))\n'
EDITABLE = "import sys; from setuptools import build_meta; build_meta.build_editable(sys.argv[1])"
TOOL = "SCons/Tool/tileiras.py"


def test_a_build_script_needs_no_import(tmp_path):
    environment = fresh_environment.shared(["."])
    assert (environment.site / TOOL).exists()
    (tmp_path / "SConstruct").write_text(SCRIPT)
    shutil.copy(ROOT / "examples/prebuilt/vector_add_f32.tilebc", tmp_path / "k.tilebc")
    time.sleep(SCRIPT_AGE)
    scons = [environment.python, "-m", "SCons"]
    assert "cubin" in environment.run([*scons, "-Q", "sm=90"], tmp_path)
    done = environment.run([*scons, "sm=90"], tmp_path)
    assert "is up to date" in done and "done reading SConscript files" not in done  # by the shortcut
    assert "build_dir" in environment.run([*scons, "-h"], tmp_path)


def test_an_editable_install_has_the_file_beside_a_plain_path(tmp_path):
    pytest.importorskip("setuptools", reason="no setuptools to build a wheel with")
    subprocess.run([sys.executable, "-c", EDITABLE, tmp_path], cwd=ROOT, check=True, capture_output=True)
    (made,) = Path(tmp_path).glob("*.whl")
    with ZipFile(made) as wheel:
        (path,) = (name for name in wheel.namelist() if name.endswith(".pth"))
        assert wheel.read(path).decode().strip() == str(ROOT)
        source = ROOT / "tileiras_build/build/toolpath/tileiras.py"
        assert wheel.read(TOOL) == source.read_bytes()
