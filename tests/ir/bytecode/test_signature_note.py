"""Names of arguments travel as a note in the producer string, and are nobody's where it is none of ours."""

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build import compile
from tileiras_build.frontend.argument_names_in_producer import (
    PRODUCER,
    Argument,
    Signature,
    parse,
    render,
    signature_note,
)
from tileiras_build.frontend.portable_source_names import with_producer
from tileiras_build.ir.bytecode.reader import read_module as read

SIGNATURE = Signature((Argument("x", 2, 1), Argument("n"), Argument("y", 1)), ("rows", "tiles of 64"))


def test_a_note_is_read_as_it_was_written():
    text = render({"k": SIGNATURE, "other": Signature(())})
    assert parse(signature_note(text, "k")) == SIGNATURE and SIGNATURE.parameters == 5 + 1 + 3
    assert parse(signature_note(text, "other")) == Signature(())
    assert signature_note(text, "absent") is None


@pytest.mark.parametrize(
    "producer", ["", "Cuda compilation tools", PRODUCER, PRODUCER + "{", PRODUCER + "[]", PRODUCER + "3"]
)
def test_other_producers_say_nothing(producer):
    assert signature_note(producer, "k") is None


@pytest.mark.parametrize(
    "note",
    ["", "[]", "{}", '{"arguments": [["x", "y"]]}', '{"arguments": [["a b"]]}', '{"arguments": [["x"], ["x"]]}',
     '{"arguments": [["x", 1, 1]]}', '{"arguments": [["x", -1]]}', '{"arguments": [["x", 1, 0, 0]]}', '{"arguments": [3]}',
     '{"arguments": [], "grid": [3]}', '{"arguments": [["grö"]]}'],
)  # fmt: skip
def test_damaged_notes_say_nothing(note):
    assert parse(note) is None


def test_exports_are_signed_and_signed_once():
    data = bytecode_of("vector_add_f32")
    inner = next(iter(read(data).body.block.ops))
    note = parse(signature_note(inner.producer.data, "vector_add_f32"))
    assert note == Signature((Argument("x", 1, 0), Argument("y", 1, 0), Argument("out", 1, 0)))
    assert with_producer(data, "somebody else") == data


def test_a_note_of_another_kernel_changes_nothing():
    """Names that do not fit the parameters are not believed."""
    data = bytecode_of("vector_add_f32")
    lies = data.replace(b'["x", 1, 0]', b'["x", 2, 0]')
    assert lies != data
    names = [row["name"] for row in _params(lies)]
    assert names == [f"arg{index}" for index in (0,)] + names[1:] and "x" not in names
    assert _params(data)[0]["name"] == "x"


def _params(data):
    from tileiras_build.pipeline.ll_to_ptx.embedded_metadata import read_manifest

    return read_manifest(compile(data, "sm_80", stop_at="ll").ll)["kernels"]["vector_add_f32"]["params"]
