"""Exports in a process that has warmed up are those of one that has not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cuda.tile.compilation")
ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "examples/kernels" / name for name in ("argmax.py", "matmul.py", "softmax.py")]
EXPORT = """
import hashlib, json, sys
{before}
from tileiras_build.frontend.export_cutile import export_kernels
made = {name: hashlib.sha256(data).hexdigest() for path in sys.argv[1:] for name, data in export_kernels(path).items()}
print(json.dumps(made))
"""
TRACED = """
import sys
from tileiras_build.workers.executor import traced_fork_call as traced_call
traced_call._EXPORTS_BEFORE = 1
for number in range(3):
    made = traced_call.call("tileiras_build.frontend.export_cutile:export_kernels", sys.argv[1], "k.py")
    print([read.state for read in made.record.reads if read.name.endswith("//cuda") and read.kind == "candidates"])
    if number == 1:
        Path = __import__("pathlib").Path
        Path("cuda").mkdir(exist_ok=True)
        Path("cuda/tile_preview.py").write_text("open('preview', 'w').close()\\nPreviewForeignCall = type(None)\\n")
"""
KERNEL = """
import cuda.tile as ct
from tileiras_build.cases import Array, Case

@ct.kernel
def double(x, out):
    ct.store(out, (ct.bid(0),), 2 * ct.load(x, (ct.bid(0),), (64,)))

CASES = [Case("double", double, (Array("float32", 1), Array("float32", 1)))]
"""


def run(program: str, *arguments: object, folder: Path = ROOT) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-P", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exported(before: str) -> dict[str, str]:
    return json.loads(run(EXPORT.replace("{before}", before), *FILES))


def test_exports_are_those_of_a_process_that_has_exported_nothing():
    warm = exported("from tileiras_build.frontend.warm_up import warm_up; warm_up()")
    assert len(warm) > 3 and warm == exported("")


def test_what_is_kept_depends_on_no_place():
    kept = """
import sys
from tileiras_build.frontend.warm_up import warm_up
warm_up()
modules = [vars(module) for name, module in sys.modules.items() if name.startswith("cuda.tile")]
caches = {name: value for module in modules for name, value in module.items() if hasattr(value, "cache_info")}
print(*sorted(name for name, value in caches.items() if value.cache_info().currsize))
"""
    assert set(run(kept).split()) <= {"_get_dtype_spec", "get_function_hir", "get_preview_foreign_call_type"}


def test_a_part_of_the_namespace_that_a_project_adds_is_found(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "k.py").write_text(KERNEL)
    _, before, after = run(TRACED, tmp_path, folder=tmp_path).splitlines()
    assert before.startswith("['']") and after.startswith("['cuda'")
    assert (tmp_path / "preview").exists()
