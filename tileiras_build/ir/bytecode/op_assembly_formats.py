"""FORMATS: the public text of each operation, one row each, which the printer and the parser share.

A row is text with directives in braces: ``{name}`` is a value, ``{:name}`` its type, any other word the name of
a directive that is passed to ``compile_formats``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_UNARY = "{source} : {:result}"
_FLUSHED_UNARY = "{source}{flag flush_to_zero} : {:result}"
_BINARY = "{lhs}, {rhs} : {:result}"
_ROUNDED_BINARY = "{lhs}, {rhs} {rounding nearest_even}{flag flush_to_zero} : {:result}"
_MIN_MAX = "{lhs}, {rhs}{flag flush_to_zero}{flag propagate_nan} : {:result}"
_OVERFLOWING = "{lhs}, {rhs}{overflow} : {:result}"
_SIGNED = "{lhs}, {rhs} {enum signedness} : {:result}"
_RETYPE = "{source} : {:source} -> {:result}"
_ACCESS = "{enum memory_ordering_semantics}{opt memory_scope} "
_ATOMIC_TYPES = " -> {:result}, {:result_token}"
_VIEW_ACCESS = "[{index}]{token_spaced}{hints}{inbounds} : "
_MULTIMEM = "[{index}]{token_spaced} {inbounds_word}{reduction} : "
_MULTIMEM_TYPES = "{:view}, {:tile}{index_types}{token_type} -> {:result_token}"
_TERMINATOR_FORMAT = "{passed}"
_MAKE_VIEW = "{tensor_view} : {:result}"
_SHAPE_QUERY = "{src} : {:src} -> {result_type}"

# fmt: off  (continued texts start below each other)
FORMATS: dict[str, str] = {
    "absf": _UNARY,
    "absi": _UNARY,
    "addf": _ROUNDED_BINARY,
    "addi": _OVERFLOWING,
    "alloca": "num_elem = {int num_elem}, alignment = {int alignment}{flag global} : {:result}",
    "andi": _BINARY,
    "assert": "{condition}, {string message} : {:condition}",
    "assume": "{predicate}, {value} : {:value}",
    "atan2": "{x}, {y} : {:result}",
    "atomic_cas_tko": _ACCESS
    + "{pointers}, {cmp}, {val}{more mask}{token} : {:pointers}, {:val}{moretype mask}"
    + _ATOMIC_TYPES,
    "atomic_rmw_tko": _ACCESS
    + "{pointers}, {enum mode}, {arg}{more mask}{token} : {:pointers}, {:arg}{moretype mask}"
    + _ATOMIC_TYPES,
    "atomic_red_view_tko": _ACCESS + "{view}[{index}], {enum mode}, {value}{token_spaced}{inbounds} : "
    "{:value}, {:view}{index_types} -> {:result_token}",
    "bitcast": _RETYPE,
    "break": _TERMINATOR_FORMAT,
    "broadcast": _RETYPE,
    "cat": "{lhs}, {rhs} dim = {int dim} : {:lhs}, {:rhs} -> {:result}",
    "ceil": _UNARY,
    "cmpf": "{enum comparison_predicate} {enum comparison_ordering} {lhs}, {rhs} : {:lhs} -> {:result}",
    "cmpi": "{enum comparison_predicate} {lhs}, {rhs}, {enum signedness} : {:lhs} -> {:result}",
    "constant": "{dense}",
    "continue": _TERMINATOR_FORMAT,
    "cos": _UNARY,
    "cosh": _UNARY,
    "divf": _ROUNDED_BINARY,
    "divi": "{lhs}, {rhs} {enum signedness}{division} : {:result}",
    "exp": "{source} {rounding full} : {:result}",
    "exp2": _FLUSHED_UNARY,
    "exti": "{from_} {enum signedness} : {:from_} -> {:to}",
    "extract": "{source}[{indices}] : {:source} -> {:result}",
    "floor": _UNARY,
    "fma": "{lhs}, {rhs}, {acc} {rounding nearest_even}{flag flush_to_zero} : {:result}",
    "for": "{for_header}{region 0 continue}",
    "fpowf": "{source}, {exponent} : {:result}",
    "fpowi": "{source}, {exponent} : {:source}, {:exponent}",
    "ftof": "{from_} {rounding nearest_even} : {:from_} -> {:to}",
    "ftoi": "{from_} {enum signedness} {rounding nearest_int_to_zero}{flag saturating} : {:from_} -> {:to}",
    "gdc_launch_dependents_tko": "{token_only}-> {:result_token}",
    "gdc_wait_tko": "{token_only}-> {:result_token}",
    "get_global": "{symbol} : {:result}",
    "get_index_space_shape": _SHAPE_QUERY,
    "get_num_tile_blocks": ": {:grid_size_x}",
    "get_tensor_shape": _SHAPE_QUERY,
    "get_tile_block_id": ": {:block_id_x}",
    "if": "{condition}{if_types} {region 0 yield}{else}",
    "insert": "{source}, {destination}[{indices}] : {:source}, {:destination}",
    "int_to_ptr": _RETYPE,
    "iota": ": {:result}",
    "itof": "{from_} {enum signedness} {rounding nearest_even} : {:from_} -> {:to}",
    "join_tokens": "{tokens} : {:result}",
    "load_ptr_tko": _ACCESS + "{source}{more mask}{more padding_value}{token}{hints} : "
    "{:source}{moretype mask}{moretype padding_value}" + _ATOMIC_TYPES,
    "load_view_tko": _ACCESS + "{view}" + _VIEW_ACCESS + "{:view}{index_types} -> {:tile}, {:result_token}",
    "log": _UNARY,
    "log2": _UNARY,
    "loop": "{loop_header}{region 0 continue}",
    "make_gather_scatter_view": _MAKE_VIEW,
    "make_partition_view": _MAKE_VIEW,
    "make_strided_view": _MAKE_VIEW,
    "make_tensor_view": "{base}, {sizes} : {dynamic_type}{:result}",
    "make_token": ": {:result}",
    "maxf": _MIN_MAX,
    "maxi": _SIGNED,
    "memory_fence_alias_tko": "{token_operand}",
    "minf": _MIN_MAX,
    "mini": _SIGNED,
    "mmaf": "{lhs}, {rhs}, {acc}{flag fast_acc} : {:lhs}, {:rhs}, {:acc}",
    "mmaf_scaled": "{lhs}, {rhs}, {acc}, {lhs_scale}, {rhs_scale} : {:lhs}, {:rhs}, {:acc}, {:lhs_scale}, {:rhs_scale}",
    "mmai": "{lhs}, {rhs}, {acc} {enum signedness_lhs} {enum signedness_rhs} : {:lhs}, {:rhs}, {:acc}",
    "mulf": _ROUNDED_BINARY,
    "mulhii": "{x}, {y} : {:result}",
    "muli": _OVERFLOWING,
    "multimem_load_reduce_view_tko": _ACCESS
    + "{view}"
    + _MULTIMEM
    + "{:view}{index_types}{token_type} -> {:reduced_values}, {:result_token}",
    "multimem_reduce_view_tko": _ACCESS + "{view}, {tile}" + _MULTIMEM + _MULTIMEM_TYPES,
    "multimem_store_view_tko": _ACCESS + "{view}, {tile}[{index}]{token_spaced} {inbounds_word} : " + _MULTIMEM_TYPES,
    "negf": _UNARY,
    "negi": "{source}{overflow} : {:result}",
    "offset": "{ptr}, {offset} : {:ptr}, {:offset} -> {:result}",
    "ori": _BINARY,
    "pack": _RETYPE,
    "permute": "{source} {permutation} : {:source} -> {:result}",
    "print_tko": "{string str}{more args}{token}{print_types} -> {:result_token}",
    "ptr_to_int": _RETYPE,
    "ptr_to_ptr": _RETYPE,
    "reduce": "{operands} dim={int dim} identities={identities} : {operand_types} -> {result_types} {combiner}",
    "remf": _BINARY,
    "remi": _SIGNED,
    "reshape": _RETYPE,
    "return": _TERMINATOR_FORMAT,
    "rsqrt": _FLUSHED_UNARY,
    "scan": "{operands} dim={int dim} reverse={bool reverse} identities={identities} : "
    "{operand_types} -> {result_types} {combiner}",
    "select": "{cond}, {val_if_true}, {val_if_false} : {:cond}, {:result}",
    "shli": _OVERFLOWING,
    "shri": _SIGNED,
    "sin": _UNARY,
    "sinh": _UNARY,
    "sqrt": "{source} {rounding nearest_even}{flag flush_to_zero} : {:result}",
    "store_ptr_tko": _ACCESS + "{destination}, {value}{more mask}{token}{hints} : "
    "{:destination}, {:value}{moretype mask} -> {:result_token}",
    "store_view_tko": _ACCESS + "{tile}, {view}" + _VIEW_ACCESS + "{:tile}, {:view}{index_types} -> {:result_token}",
    "subf": _ROUNDED_BINARY,
    "subi": _OVERFLOWING,
    "tan": _UNARY,
    "tanh": "{source} {rounding full} : {:result}",
    "trunci": "{from_}{overflow} : {:from_} -> {:to}",
    "unpack": _RETYPE,
    "xori": _BINARY,
    "yield": _TERMINATOR_FORMAT,
}
# fmt: on

Step = tuple[str, Callable | None, str]  # literal text, then a directive and its argument


def compile_formats(
    directives: dict[str, Callable], of_value: Callable, of_type: Callable
) -> dict[str, tuple[Step, ...]]:
    """Every row of FORMATS as steps: ``{name}`` is ``of_value``, ``{:name}`` ``of_type``, any other word its directive."""
    return {name: tuple(_steps(template, directives, of_value, of_type)) for name, template in FORMATS.items()}


def _steps(template: str, directives: dict[str, Callable], of_value: Callable, of_type: Callable) -> Iterable[Step]:
    position = 0
    for match in re.finditer(r"\{(:?)(\w+) ?([^}]*)\}", template):
        kind, word, argument = match.groups()
        text, position = template[position : match.start()], match.end()
        if not kind and word in directives:
            yield text, directives[word], argument
        else:
            yield text, of_type if kind else of_value, word
    yield template[position:], None, ""
