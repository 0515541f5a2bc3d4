"""The manifests' classes: JSON schemas as published, and what is wrong with a manifest in words."""

import json
import os
import subprocess
import sys
from inspect import cleandoc
from pathlib import Path

import msgspec
import pytest

from tests.compiled_once import compiled
from tests.examples.example_library import bytecode_of
from tileiras_build.launch.runtime.library_manifest import Document
from tileiras_build.manifest.launch_manifest import LaunchManifest, read_launch_manifest

SCHEMAS = Path(__file__).parents[2] / "docs/schemas"
KERNEL = "matmul_f16_nt"


def tidy(node):
    """A schema whose descriptions have no indentation, which Python takes out of docstrings from 3.13 on."""
    if isinstance(node, dict):
        made = {key: tidy(value) for key, value in node.items()}
        return made | (
            {"description": cleandoc(made["description"])} if isinstance(made.get("description"), str) else {}
        )
    return [tidy(value) for value in node] if isinstance(node, list) else node


@pytest.mark.parametrize(("name", "kind"), [("launch-manifest-2", LaunchManifest), ("library-manifest-2", Document)])
def test_schemas_are_published(name, kind):
    """TILEIRAS_BLESS=1 writes them."""
    path, text = SCHEMAS / f"{name}.json", json.dumps(tidy(msgspec.json.schema(kind)), indent=1) + "\n"
    if os.environ.get("TILEIRAS_BLESS"):
        path.write_text(text)
    assert path.read_text() == text


def manifest():
    return json.loads(json.dumps(compiled(bytecode_of(KERNEL), "sm_90", stop_at="cubin").manifest))


def test_what_the_compiler_writes_is_read():
    launch = read_launch_manifest(manifest()).kernels[KERNEL]
    a = launch.arguments[0]
    assert (a.name, a.kind, a.rank, a.parameters) == ("a", "array", 2, 5)
    assert [param.access for param in launch.params if param.role == "pointer"] == ["loaded", "loaded", "stored"]
    assert launch.params[3].divisible_by == 8 and launch.params[4].value == 1
    assert len(launch.tensor_maps) == 2 and launch.resources["registers"] > 0
    assert len(launch.caller_parameters) == len(launch.params) - 2


def change(**more):
    return lambda content: content["kernels"][KERNEL].update(more)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda content: content.update(version=1), "unsupported version 1 (expected 2)"),
        (lambda content: content.pop("version"), "object missing required field version"),
        (lambda content: content.pop("target"), "object missing required field target"),
        (lambda content: content.update(kernels=[]), "kernels: expected object, got array"),
        (change(threads_per_cta="many"), "kernels[...].threads_per_cta: expected int, got str"),
        (change(cluster=[0, 1, 1]), "invalid cluster (0, 1, 1)"),
        (change(grid={"persistent": 2}), "0 grid extent parameters do not match grid.persistent"),
        (change(arguments=[]), "arguments fill 0 parameters in order, kernel has 15"),
        (lambda content: content["kernels"][KERNEL]["params"][0].pop("size"), "kernels[...].params[0]: object missing required field size"),
        (lambda content: content["kernels"][KERNEL]["params"][0].update(role="king"), "kernels[...].params[0].role: invalid enum value 'king'"),
        (lambda content: content["kernels"][KERNEL]["arguments"][1].update(param=3), "arguments fill 15 parameters in order"),
        (lambda content: content["kernels"][KERNEL]["arguments"][1].update(name="a b"), "argument names are not unique identifiers: ['a', 'a b', 'c']"),
        (lambda content: content["kernels"][KERNEL]["arguments"][1].update(name="a"), "argument names are not unique identifiers: ['a', 'a', 'c']"),
        (lambda content: content["kernels"][KERNEL]["tensor_maps"][0].update(box=["wide"]), "tensor_maps[0].box[0]: expected int, got str"),
    ],
)  # fmt: skip
def test_damage_is_reported_in_words(damage, sentence):
    content = manifest()
    damage(content)
    with pytest.raises(ValueError, match=".") as caught:
        read_launch_manifest(content)
    assert sentence in str(caught.value) and "`" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"least": 4, "most": 3}, "invalid grid of 4 to 3 tile blocks"),
        ({"most": 3, "minimum": -1}, "invalid grid of 1 to 3 tile blocks, from -1"),
        ({"most": 3, "param": 0}, "a grid refers to parameter 0, which is no integer of the caller"),
        ({"most": 3, "param": 15}, "a grid refers to parameter 15"),
    ],
)
def test_grids_of_a_variant_are_checked(row, sentence):
    content = manifest()
    content["kernels"][KERNEL]["grid"]["programs"] = [{"most": 3, "param": 1, "minimum": 64}, row]
    with pytest.raises(ValueError, match=sentence):
        read_launch_manifest(content)


def test_what_a_newer_writer_adds_is_passed_over():
    content = manifest()
    content["kernels"][KERNEL]["params"][0]["color"] = "blue"
    assert read_launch_manifest(content) == read_launch_manifest(manifest())


THREADS = """
import json, sys, threading
from tileiras_build.manifest.launch_manifest import read_launch_manifest
sys.setswitchinterval(1e-6)
content, start = json.loads(sys.argv[1]), threading.Barrier(8)
threads = [threading.Thread(target=lambda: start.wait() + 1 and read_launch_manifest(content)) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_threads_may_read_their_first_manifest_at_once():
    """msgspec alone ends such a process in four of ten runs."""
    command = [sys.executable, "-c", THREADS, json.dumps(manifest())]
    assert [subprocess.run(command, check=False).returncode for _ in range(4)] == [0] * 4
