"""The launch manifest's file."""

import json

from tileiras_build.pipeline.launch_manifest_json import render_manifest


def test_file_keeps_the_order_and_ends_in_a_newline():
    manifest = {"version": 1, "target": "sm_90a", "kernels": {"b": {}, "a": {}}}
    data = render_manifest(manifest)
    assert list(json.loads(data)["kernels"]) == ["b", "a"] and data.endswith(b"}\n")
