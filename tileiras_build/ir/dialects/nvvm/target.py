"""``#nvvm.target``: the serialization target of a gpu.module."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ....target.isa.serializer_options import TRIPLE
from ..fast_xdsl import string_of

# MLIR's defaults for omitted fields (NVVMOps.td, NVVM_TargetAttr).
LEVEL = 2
DEFAULTS = {"triple": TRIPLE, "chip": "sm_75", "features": "+ptx60"}


@irdl_attr_definition
class TargetAttr(ParametrizedAttribute):
    """The serializer's target: ``#nvvm.target<O = 3, chip = "sm_90", features = "", flags = {"-Xopt"}>``.

    ``flags`` are options of libNVVM: unit entries are plain options, others ``key=value``. ``link`` has files to link;
    an empty list, which is not printed, links nothing.
    """

    name = "nvvm.target"

    level: IntAttr
    triple: StringAttr
    chip: StringAttr
    features: StringAttr
    flags: DictionaryAttr
    link: ArrayAttr

    @staticmethod
    def of(
        level: int, chip: str, flags: Mapping[str, Attribute], *, features: str = "", triple: str = TRIPLE
    ) -> TargetAttr:
        """A target that links nothing."""
        texts = (StringAttr(triple), StringAttr(chip), StringAttr(features))
        return TargetAttr(IntAttr(level), *texts, DictionaryAttr(dict(flags)), ArrayAttr([]))

    @property
    def links(self) -> bool:
        """Whether the target links files."""
        return bool(self.link.data)

    def options(self) -> list[str]:
        """The flags as a command line: ``-g``, ``-fma=0``, ``libNVVMUseNVGpuComp=true``."""
        flags = self.flags.data.items()
        return [key if isinstance(value, UnitAttr) else f"{key}={_plain(value)}" for key, value in flags]

    def verify(self) -> None:
        if not 0 <= self.level.data <= 3:
            raise VerifyException(f"the optimization level must be between 0 and 3, got {self.level.data}")
        if not self.triple.data or not self.chip.data:
            raise VerifyException("the target triple and chip cannot be empty")
        if self.features.data and not all(word[:1] in "+-" for word in self.features.data.split(",")):
            raise VerifyException("features must begin with + or -")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        values: dict[str, Attribute] = {"O": IntAttr(LEVEL), "flags": DictionaryAttr({}), "link": ArrayAttr([])}
        values |= {key: StringAttr(text) for key, text in DEFAULTS.items()}
        seen: set[str] = set()

        def entry() -> None:
            key = parser.parse_identifier()
            if key not in values or key in seen:
                parser.raise_error(f"#nvvm.target has no field {key} here")
            seen.add(key)
            parser.parse_punctuation("=")
            values[key] = IntAttr(parser.parse_integer()) if key == "O" else parser.parse_attribute()

        parser.parse_optional_comma_separated_list(parser.Delimiter.ANGLE, entry)
        return [values[key] for key in ("O", "triple", "chip", "features", "flags", "link")]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"O = {self.level.data}")
            for key, text in (("triple", self.triple), ("chip", self.chip), ("features", self.features)):
                printer.print_string(f", {key} = ")
                printer.print_string_literal(text.data)
            for key, value in (("flags", self.flags), ("link", self.link)):
                if value.data:
                    printer.print_string(f", {key} = ")
                    printer.print_attribute(value)


def _plain(value: Attribute) -> str:
    text = string_of(value)
    return text.strip('"') if isinstance(value, StringAttr) else text.partition(" : ")[0]
