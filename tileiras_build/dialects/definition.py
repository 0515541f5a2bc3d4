"""Operations defined by one row each: name, operands, results, meaning.

A row such as

    LoadOp = define("nv_tileaa.load", "pointer mask? other? token?", "value token?", "read a tile of pointers")

makes an xDSL operation whose operand groups are attributes of the object: ``op.pointer`` is a value, ``op.mask`` a
value or None, a ``*`` group a tuple of values. With more than one optional or variadic group the sizes are kept in the
property ``operandSegmentSizes``, as MLIR does. Attributes are kept in ``op.attributes``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, NoTerminator, Pure
from xdsl.irdl import traits_def
from xdsl.utils.exceptions import VerifyException


def _parse_groups(spec: str) -> tuple[tuple[str, str], ...]:
    return tuple((word.rstrip("?*"), word[-1] if word[-1] in "?*" else "1") for word in spec.split())


class TableOperation(Operation):
    """Base of operations made by ``define``."""

    operand_groups: tuple[tuple[str, str], ...] = ()
    result_groups: tuple[tuple[str, str], ...] = ()
    region_count: int = 0

    @classmethod
    def make(
        cls,
        operands: Sequence[SSAValue | None | Sequence[SSAValue]],
        result_types: Sequence[Attribute],
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ):
        """An operation from one entry per operand group: a value, None, or a sequence of values."""
        flat: list[SSAValue] = []
        sizes: list[int] = []
        for entry in operands:
            before = len(flat)
            if entry is not None:
                flat.extend((entry,) if isinstance(entry, SSAValue) else entry)
            sizes.append(len(flat) - before)
        properties = {"operandSegmentSizes": DenseArrayBase.from_list(i32, sizes)} if cls.segmented else {}
        return cls.create(
            operands=flat,
            result_types=result_types,
            properties=properties,
            attributes=dict(attributes or {}),
            regions=list(regions),
        )

    segmented = False

    def group(self, index: int) -> tuple[SSAValue, ...]:
        """The operands of one group."""
        if not self.segmented:
            return self._single_group(index)
        sizes = self.properties["operandSegmentSizes"].get_values()
        start = sum(sizes[:index])
        return tuple(self.operands[start : start + sizes[index]])

    def _single_group(self, index: int) -> tuple[SSAValue, ...]:
        kinds = [kind for _, kind in self.operand_groups]
        extra = len(self.operands) - (len(kinds) - (1 if set(kinds) - {"1"} else 0))
        start = sum(extra if kind != "1" else 1 for kind in kinds[:index])
        return tuple(self.operands[start : start + (extra if kinds[index] != "1" else 1)])

    def verify_(self) -> None:
        minimum = sum(kind == "1" for _, kind in self.operand_groups)
        fixed = all(kind == "1" for _, kind in self.operand_groups)
        if len(self.operands) < minimum or (fixed and len(self.operands) != minimum):
            raise VerifyException(f"{self.name} takes {minimum} operands, got {len(self.operands)}")
        if self.segmented and "operandSegmentSizes" not in self.properties:
            raise VerifyException(f"{self.name} needs operandSegmentSizes")
        if len(self.regions) != self.region_count:
            raise VerifyException(f"{self.name} takes {self.region_count} regions, got {len(self.regions)}")


def _operand_property(index: int, kind: str):
    def read(self: TableOperation):
        values = self.group(index)
        return values if kind == "*" else (values[0] if values else None)

    return property(read)


def _result_property(index: int):
    return property(lambda self: self.results[index] if index < len(self.results) else None)


def define(
    name: str,
    operands: str,
    results: str,
    meaning: str,
    *,
    pure: bool = True,
    terminator: bool = False,
    regions: int = 0,
) -> type[TableOperation]:
    """The operation class of one row; ``?`` marks an optional group, ``*`` a variadic one."""
    groups, outputs = _parse_groups(operands), _parse_groups(results)
    traits = [IsTerminator()] if terminator else []
    traits += [Pure()] if pure and not terminator else []
    traits += [NoTerminator()] if regions == -1 else []
    body: dict[str, object] = {
        "__doc__": meaning,
        "name": name,
        "operand_groups": groups,
        "result_groups": outputs,
        "region_count": max(regions, 0),
        "segmented": sum(kind != "1" for _, kind in groups) > 1,
        "traits": traits_def(*traits),
    }
    body |= {group: _operand_property(index, kind) for index, (group, kind) in enumerate(groups)}
    body |= {group: _result_property(index) for index, (group, kind) in enumerate(outputs) if kind != "*"}
    class_name = "".join(part[0].upper() + part[1:] for part in name.split(".", 1)[1].replace(".", "_").split("_"))
    return type(f"{class_name}Op", (TableOperation,), body)


def single_block(op: Operation, index: int = 0) -> Block:
    """The only block of a region."""
    return op.regions[index].blocks[0]
