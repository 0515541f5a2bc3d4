"""Attributes that rows declare: each kind read, assigned and refused, and each error of the verifier once."""

import re

import pytest
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, UnitAttr, i1, i32, i64
from xdsl.utils.exceptions import VerifyException

from tileiras_build.core.code_digest import PACKAGE
from tileiras_build.ir.dialects.arith import TileArith
from tileiras_build.ir.dialects.attribute_kinds import BOOLS, FLAG, I32, I32S, I64, I64S, TEXT, data_kind, named_kind
from tileiras_build.ir.dialects.cute.layout_attr import LayoutAttr
from tileiras_build.ir.dialects.cute.shared_layout_attr import SharedLayoutAttr
from tileiras_build.ir.dialects.nv_tileaa.ops import OPERATIONS
from tileiras_build.ir.dialects.nv_tileas.ops import COUNTERPARTS, SCHEDULED
from tileiras_build.ir.dialects.op_definition import define, location_of
from tileiras_build.ir.layouts import LinearLayout, SharedLayout

PLACED = SharedLayout((4,), 16, (1, 2))
LAYOUT = LinearLayout((), (1, 2, 0, 0, 0), (), (4,))
# Kind, the attribute, its plain value, and what is of another kind.
KINDS = {
    "i32": (I32, IntegerAttr(3, i32), 3, IntegerAttr(3, i64), "3"),
    "i64": (I64, IntegerAttr(3, i64), 3, IntegerAttr(3, i32), 1.5),
    "text": (TEXT, StringAttr("weak"), "weak", UnitAttr(), 1),
    "flag": (FLAG, UnitAttr(), True, StringAttr("yes"), "yes"),
    "i32s": (I32S, DenseArrayBase.from_list(i32, [1, 0]), (1, 0), DenseArrayBase.from_list(i64, [1, 0]), 1),
    "i64s": (I64S, DenseArrayBase.from_list(i64, [1, 0]), (1, 0), IntegerAttr(1, i64), 1),
    "bools": (BOOLS, DenseArrayBase.from_list(i1, [1, 0]), (True, False), DenseArrayBase.from_list(i32, [1, 0]), True),
    "shared": (
        data_kind("a placement", SharedLayoutAttr, SharedLayout), SharedLayoutAttr(PLACED), PLACED, UnitAttr(), 1
    ),
    "layout": (data_kind("a layout", LayoutAttr, LinearLayout), LayoutAttr(LAYOUT), LAYOUT, UnitAttr(), PLACED),
    "named": (named_kind("a marker", "string"), StringAttr("x"), StringAttr("x"), UnitAttr(), UnitAttr()),
}  # fmt: skip
Row = define(
    "row.told",
    "",
    "",
    "told more than its operands",
    attributes={"axis": I32, "scope": TEXT.optional("device"), "words": I32.optional(), "global": FLAG, "x.spec": FLAG},
)


@pytest.mark.parametrize("name", KINDS)
def test_kind_reads_and_writes(name):
    kind, attribute, plain, *_ = KINDS[name]
    made = define("row.one", "", "", "one", attributes={"given": kind}).make([], [], {"given": attribute})
    made.verify()
    assert made.given == plain and type(made.given) is type(plain)
    made.attributes.clear()
    made.given = plain
    assert made.attributes == {"given": attribute}


@pytest.mark.parametrize("name", KINDS)
def test_kind_refuses_others(name):
    kind, attribute, _, other, wrong = KINDS[name]
    row = define("row.one", "", "", "one", attributes={"given": kind})
    with pytest.raises(VerifyException, match=f"row.one takes {kind.text} as its attribute given, got"):
        row.make([], [], {"given": other}).verify()
    made = row.make([], [], {"given": attribute})
    with pytest.raises(VerifyException, match=f"row.one takes {kind.text} as its attribute given, got"):
        made.given = wrong
    assert made.attributes == {"given": attribute}


def test_absent_attributes_read_as_their_defaults():
    op = Row.make([], [], axis=1)
    op.verify()
    assert (op.axis, op.scope, op.words, op.global_, op.spec) == (1, "device", None, False, False)


def test_what_means_absence_removes_an_attribute():
    op = Row.make([], [], axis=1, words=4, global_=True, spec=True)
    assert op.attributes.keys() == {"axis", "words", "global", "x.spec"}
    op.words, op.global_, op.spec = None, False, False
    assert op.attributes == {"axis": IntegerAttr(1, i32)}


def test_undeclared_attribute():
    with pytest.raises(VerifyException, match="row.told has no attribute again"):
        Row.make([], [], {"axis": IntegerAttr(1, i32), "again": UnitAttr()}).verify()
    with pytest.raises(VerifyException, match="row.told has no attribute again"):
        Row.make([], [], axis=1, again=True)
    with pytest.raises(VerifyException, match="row.told has no attribute name"):
        Row.make([], [], axis=1, name="x")


def test_missing_attribute():
    op = Row.make([], [])
    with pytest.raises(VerifyException, match="row.told needs its attribute axis"):
        op.verify()
    with pytest.raises(VerifyException, match="row.told needs its attribute axis"):
        _ = op.axis


def test_locations_are_for_all():
    loc = StringAttr("here")
    op = Row.make([], [], {"axis": IntegerAttr(1, i32), "loc": loc})
    op.verify()
    assert location_of(op) == {"loc": loc} and location_of(Row.make([], [], axis=1)) == {}


def test_open_rows_take_anything():
    define("row.open", "", "", "of a document", attributes=None).make([], [], {"any": UnitAttr()}).verify()


def test_accessors_hide_nothing():
    with pytest.raises(AssertionError, match="axis"):
        define("row.twice", "axis", "", "an operand of this name", attributes={"axis": I32})
    with pytest.raises(AssertionError, match="regions"):
        define("row.twice", "", "", "a word of xDSL's", attributes={"regions": I32})


ROWS = [row for row in (*OPERATIONS, *COUNTERPARTS.values(), *SCHEDULED, *TileArith.operations)]


def test_every_declared_attribute_is_spoken_of():
    """A name that no pass reads or writes is declared for nothing."""
    code = "\n".join(
        path.read_text() for folder in ("pipeline", "reports", "checkers") for path in (PACKAGE / folder).rglob("*.py")
    )
    declared = {name for row in ROWS for name in getattr(row, "declared", None) or ()}
    names = {name: re.escape(name) for name in sorted(declared)}
    spoken = {name: re.search(rf'"{text}"|\.{text}\b|\b{text}_?=', code) for name, text in names.items()}
    assert [name for name, found in spoken.items() if found is None] == []
