"""ll_to_ptx/embedded_metadata.py: the notes in .ll and .ptx."""

import pytest

from tileiras_build.core.errors import InternalError
from tileiras_build.manifest.ptx_manifest import manifest_comment, manifest_of_ptx
from tileiras_build.pipeline.ll_to_ptx.embedded_metadata import named_string, read_manifest

MANIFEST = {"version": 1, "target": "sm_90a", "kernels": {"k": {"params": [], "note": 'a "b" \\ é\n'}}}


def as_metadata(text):
    escaped = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else
                      "".join(f"\\{byte:02X}" for byte in c.encode()) for c in text)  # fmt: skip
    names = "!tileiras.manifest = !{!3}\n!tileiras.libdevice = !{!10}\n"
    return f'{names}!3 = !{{!"{escaped}"}}\n!10 = !{{!"lib.bc"}}\n'


def test_manifest_survives_the_ll():
    import json

    assert read_manifest(as_metadata(json.dumps(MANIFEST, ensure_ascii=False))) == MANIFEST
    assert named_string(as_metadata("{}"), "tileiras.libdevice") == "lib.bc"


def test_modules_without_notes():
    assert read_manifest("define void @k() { ret void }") is None
    assert manifest_of_ptx(".version 9.0\n.target sm_90a\n") is None


def test_manifest_survives_the_ptx():
    comment = manifest_comment(MANIFEST)
    assert "\n" not in comment and comment.isascii()
    assert manifest_of_ptx(f".version 9.0\n{comment}\n.visible .entry k() {{ ret; }}\n") == MANIFEST


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_broken_manifest_is_our_fault(text):
    with pytest.raises(InternalError, match="manifest"):
        read_manifest(as_metadata(text))


def test_a_note_that_is_no_string():
    with pytest.raises(InternalError, match="ll-metadata"):
        read_manifest("!tileiras.manifest = !{!0}\n!0 = !{i32 1}\n")
