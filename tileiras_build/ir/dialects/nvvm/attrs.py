"""Attributes of the ``nvvm`` dialect, in MLIR's text form."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


class Keyword(ParametrizedAttribute):
    """An attribute that is one keyword of a fixed set: ``#nvvm.mma_layout<row>``."""

    keyword: StringAttr

    @classmethod
    def valid(cls) -> tuple[str, ...]:
        """The keywords, in the order of MLIR's enumeration."""
        return KEYWORDS[cls.name]

    def verify(self) -> None:
        word = self.keyword.data
        if word not in self.valid():
            raise VerifyException(f"{self.name} {word!r} must be one of {', '.join(self.valid())}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.keyword.data)


class BareKeyword(Keyword, SpacedOpaqueSyntaxAttribute):
    """A keyword that is written alone in its operation, and as ``#nvvm<shfl_kind bfly>`` elsewhere."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [StringAttr(parser.parse_identifier())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(self.keyword.data)


KEYWORDS: dict[str, tuple[str, ...]] = {
    "nvvm.shfl_kind": ("bfly", "up", "down", "idx"),
    "nvvm.redux_kind": ("add", "and", "max", "min", "or", "umax", "umin", "xor", "fmin", "fmax"),
    "nvvm.load_cache_modifier": ("ca", "cg", "cs", "lu", "cv"),
    "nvvm.mma_layout": ("row", "col"),
    "nvvm.mma_type": ("f16", "f32", "tf32", "bf16", "s8", "u8", "s32", "s4", "u4", "b1", "f64", "e4m3", "e5m2"),
    "nvvm.mma_int_overflow": ("satfinite", "wrapped"),
    "nvvm.wgmma_type": ("f16", "tf32", "u8", "s8", "b1", "bf16", "e4m3", "e5m2", "f32", "s32"),
    "nvvm.wgmma_scale_in": ("one", "neg"),
    "nvvm.wgmma_scale_out": ("zero", "one"),
    "nvvm.mem_scope": ("cta", "cluster", "gpu", "sys"),
    "nvvm.load_mode": ("tile", "im2col"),
    "nvvm.ld_st_matrix_elt_type": ("b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"),
    "nvvm.fp_rnd_mode": ("none", "rn", "rm", "rp", "rz", "rna", "rs"),
}


def _keyword(name: str, base: type[Keyword] = Keyword) -> type[Keyword]:
    class_name = "".join(word.capitalize() for word in name.split("_")) + "Attr"
    body = {
        "__doc__": f"``nvvm.{name}``",
        "__module__": __name__,
        "name": f"nvvm.{name}",
    }
    return irdl_attr_definition(type(class_name, (base,), body))


ShflKindAttr = _keyword("shfl_kind", BareKeyword)
ReduxKindAttr = _keyword("redux_kind", BareKeyword)
LoadCacheModifierAttr = _keyword("load_cache_modifier", BareKeyword)
MmaLayoutAttr = _keyword("mma_layout")
MmaTypeAttr = _keyword("mma_type")
MmaIntOverflowAttr = _keyword("mma_int_overflow")
WgmmaTypeAttr = _keyword("wgmma_type")
WgmmaScaleInAttr = _keyword("wgmma_scale_in")
WgmmaScaleOutAttr = _keyword("wgmma_scale_out")
MemScopeAttr = _keyword("mem_scope")
LoadModeAttr = _keyword("load_mode")
MatrixElementAttr = _keyword("ld_st_matrix_elt_type")
RoundingAttr = _keyword("fp_rnd_mode")


class _Sizes(ParametrizedAttribute):
    """Sizes by name: ``<m = 16, n = 8, k = 16>``."""

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        found: list[Attribute] = []
        with parser.in_angle_brackets():
            for position, (name, _) in enumerate(cls.get_irdl_definition().parameters):
                if position:
                    parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                found.append(IntAttr(parser.parse_integer()))
        return found

    def print_parameters(self, printer: Printer) -> None:
        names = [name for name, _ in type(self).get_irdl_definition().parameters]
        values = [parameter.data for parameter in self.parameters if isinstance(parameter, IntAttr)]
        fields = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
        printer.print_string(f"<{fields}>")


@irdl_attr_definition
class ShapeAttr(_Sizes):
    """M, N and K of an MMA."""

    name = "nvvm.shape"
    m: IntAttr
    n: IntAttr
    k: IntAttr

    @property
    def sizes(self) -> tuple[int, int, int]:
        """(m, n, k)"""
        return self.m.data, self.n.data, self.k.data


@irdl_attr_definition
class MatrixShapeAttr(_Sizes):
    """Rows and columns of one matrix of ldmatrix."""

    name = "nvvm.ld_st_matrix_shape"
    m: IntAttr
    n: IntAttr


def parse_elided(parser: AttrParser, attribute: type[ParametrizedAttribute]) -> Attribute:
    """An attribute of a known class, in full or starting at its ``<``."""
    full = parser.parse_optional_attribute()
    return attribute.new(attribute.parse_parameters(parser)) if full is None else full


def print_elided(printer: Printer, attribute: ParametrizedAttribute) -> None:
    """Print the attribute starting at its ``<``, as MLIR does for a known class."""
    attribute.print_parameters(printer)
