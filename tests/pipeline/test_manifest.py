"""The launch manifest travels through .ll metadata and a .ptx comment."""

import json

import pytest

from tileiras_build.pipeline.manifest import asks_libdevice, libdevice_of_ll, manifest_of_ll, manifest_of_ptx

MANIFEST = {"version": 1, "target": "sm_90a", "kernels": {"größe": {"param_sizes": [8, 4]}}}


def ll(named: str, string: str) -> str:
    escaped = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in string.encode())
    return f'define void @f() {{\n  ret void\n}}\n\n!other = !{{!1}}\n!{named} = !{{!0}}\n\n!0 = !{{!"{escaped}"}}\n!1 = !{{!"x"}}\n'


def test_ll_metadata_is_read_back():
    assert manifest_of_ll(ll("tileiras.manifest", json.dumps(MANIFEST, ensure_ascii=False))) == MANIFEST


def test_ptx_comment_is_read_back():
    assert manifest_of_ptx(f".version 9.0\n// tileiras.manifest: {json.dumps(MANIFEST)}\n.visible\n") == MANIFEST


def test_text_without_a_manifest_has_an_empty_one():
    assert manifest_of_ll("define void @f()") == {} == manifest_of_ptx(".version 9.0\n")


def test_libdevice_is_named():
    text = ll("tileiras.libdevice", "libdevice.10.bc")
    assert libdevice_of_ll(text) == "libdevice.10.bc" and asks_libdevice(text.encode())


@pytest.mark.parametrize("text", [ll("tileiras.manifest", "{}"), "; !tileiras.libdevice = none\n"])
def test_libdevice_is_not_asked_for(text):
    assert libdevice_of_ll(text) is None and not asks_libdevice(text.encode())
