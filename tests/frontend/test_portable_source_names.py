"""Renaming the sources of a bytecode file leaves everything but the names as it was."""

import sys
from pathlib import Path

import pytest

from tileiras_build.frontend.portable_source_names import (
    _encode_varint,
    _read_varint,
    _split_sections,
    make_paths_portable,
    rewrite_strings,
)

PREBUILT = Path(__file__).parents[2] / "examples/prebuilt"
FILES = sorted(PREBUILT.glob("*.tilebc"))
STRINGS = 1


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def bytecode(request):
    return request.param.read_bytes()


def test_there_are_files_to_read():
    assert FILES


def test_renaming_nothing_changes_nothing(bytecode):
    assert rewrite_strings(bytecode, lambda text: text) == bytecode


def test_longer_names_move_only_the_string_section(bytecode):
    changed = rewrite_strings(bytecode, lambda text: text + b"x" * 100)
    before, after = _split_sections(bytecode), _split_sections(changed)
    for (section, alignment, payload), (new_section, new_alignment, new_payload) in zip(before, after, strict=True):
        assert (section, alignment) == (new_section, new_alignment)
        assert section == STRINGS or payload == new_payload
    assert rewrite_strings(changed, lambda text: text[:-100]) == bytecode


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("{root}/kernels/k.py", b"kernels/k.py"),
        ("{root}", b"."),
        ("{root}ed/k.py", "{root}ed/k.py"),
        ("{root}/venv/site-packages/cuda/tile/_stub.py", b"cuda/tile/_stub.py"),
        ("/elsewhere/k.py", b"/elsewhere/k.py"),
        ("reshape@_stub:664:5_s0", b"reshape@_stub:664:5_s0"),
    ],
)
def test_names_are_shortened_by_the_right_folder(bytecode, tmp_path, monkeypatch, name, expected):
    # sys.path may hold a folder below the root: it must not decide how the root's own files are called.
    monkeypatch.setattr(sys, "path", [str(tmp_path / "kernels"), str(tmp_path / "venv/site-packages")])
    path = name.format(root=tmp_path)
    expected = expected.format(root=tmp_path).encode() if isinstance(expected, str) else expected
    named = rewrite_strings(bytecode, lambda text: path.encode() if text == b"default" else text)
    assert make_paths_portable(named, tmp_path) == rewrite_strings(
        bytecode, lambda text: expected if text == b"default" else text
    )


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32])
def test_varints_round_trip(value):
    encoded = _encode_varint(value)
    assert _read_varint(b"\xff" + encoded + b"\xff", 1) == (value, 1 + len(encoded))
