"""The inline assembly of accesses: the words, masks and constraints of each element width."""

import pytest

from tileiras_build.pipeline.shared.element_types import ELEMENTS, POINTER
from tileiras_build.pipeline.tileas_to_ll.access_text import CONSTRAINT, load_text, register_type, store_text

F32, F16, F64, I8, I1 = (ELEMENTS[name] for name in ("f32", "f16", "f64", "i8", "i1"))


@pytest.mark.parametrize(
    ("element", "count", "masked", "fill", "offset", "template", "constraints"),
    [
        (F32, 1, False, 0, 0, "ld.global.b32 $0, [$1];", "=&f,l"),
        (F32, 4, False, 0, 16, "ld.global.v4.b32 {$0, $1, $2, $3}, [$4+16];", "=&f,=&f,=&f,=&f,l"),
        (F32, 1, True, 0, 0, "mov.b32 $0, 0x0; @$2 ld.global.b32 $0, [$1];", "=&f,l,b"),
        (F64, 2, False, 0, -8, "ld.global.v2.b64 {$0, $1}, [$2-8];", "=&d,=&d,l"),
        (I8, 1, True, 255, 0, "mov.b16 $0, 0xff; @$2 ld.global.b8 $0, [$1];", "=&h,l,b"),
        (POINTER, 1, False, 0, 0, "ld.global.b64 $0, [$1];", "=&l,l"),
        (F16, 2, False, 0, 0, "{ .reg .b32 w0; ld.global.b32 w0, [$2]; mov.b32 {$0, $1}, w0; }", "=&h,=&h,l"),
    ],
)
def test_loads(element, count, masked, fill, offset, template, constraints):
    text, found, type = load_text(element, count, masked, fill, "ld.global", offset)
    assert (" ".join(text.split()), found) == (template, constraints)
    assert type == (register_type(element) if count == 1 else "{" + ", ".join([register_type(element)] * count) + "}")


@pytest.mark.parametrize(
    ("element", "count", "masked", "template", "constraints"),
    [
        (F32, 1, False, "st.global.b32 [$0], $1;", "l,f,~{memory}"),
        (F32, 2, True, "@$3 st.global.v2.b32 [$0], {$1, $2};", "l,f,f,b,~{memory}"),
        (I1, 1, False, "st.global.b8 [$0], $1;", "l,h,~{memory}"),
        (F16, 2, False, "{ .reg .b32 w0; mov.b32 w0, {$1, $2}; st.global.b32 [$0], w0; }", "l,h,h,~{memory}"),
    ],
)
def test_stores(element, count, masked, template, constraints):
    text, found = store_text(element, count, masked, "st.global", 0)
    assert (" ".join(text.split()), found) == (template, constraints)


@pytest.mark.parametrize("name", ELEMENTS)
def test_every_element_crosses_the_border_in_a_register_of_its_width(name):
    element = ELEMENTS[name]
    type = register_type(element)
    assert type in CONSTRAINT
    width = {"half": 16, "bfloat": 16, "float": 32, "double": 64}.get(type) or int(type[1:])
    assert width == element.bits


@pytest.mark.parametrize(
    ("name", "count"),
    # An access moves 16 bytes at most.
    [(name, count) for name in ("i8", "f16", "i1") for count in (2, 4, 8, 16) if ELEMENTS[name].bits * count <= 128],
)
def test_packed_accesses_name_every_element_once(name, count):
    element = ELEMENTS[name]
    text, constraints, _ = load_text(element, count, False, 0, "ld.global", 0)
    stored, _ = store_text(element, count, False, "st.global", 0)
    for number in range(count):
        assert text.count(f"${number},") + text.count(f"${number}}}") == 1
        assert stored.count(f"${number + 1},") + stored.count(f"${number + 1}}}") + stored.count(f"${number + 1};") == 1
    assert constraints.count("=&h") == count
