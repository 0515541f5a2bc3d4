"""The launch manifest's file, and the question whether LLVM IR needs libdevice."""

import json

import pytest

from tileiras_build.pipeline.manifest import asks_libdevice, render_manifest


def test_file_keeps_the_order_and_ends_in_a_newline():
    manifest = {"version": 1, "target": "sm_90a", "kernels": {"b": {}, "a": {}}}
    data = render_manifest(manifest)
    assert list(json.loads(data)["kernels"]) == ["b", "a"] and data.endswith(b"}\n")


@pytest.mark.parametrize("before", ["", "define void @f() {\n}\n\n"])
def test_libdevice_is_asked_for(before):
    assert asks_libdevice(f'{before}!tileiras.libdevice = !{{!0}}\n!0 = !{{!"libdevice.10.bc"}}\n'.encode())


@pytest.mark.parametrize("text", ["", "!tileiras.manifest = !{!0}\n", "; !tileiras.libdevice = none\n"])
def test_libdevice_is_not_asked_for(text):
    assert not asks_libdevice(text.encode())
