"""The text of kernels on multicast objects."""

from collections.abc import Sequence


def _words(extents: Sequence[int]) -> str:
    return "x".join(map(str, extents))


def _reduction(kind: str) -> str:
    return "" if kind == "add" else f" attributes {{reduction = #cuda_tile.multimem_reduction_kind<{kind}>}}"


def reduce_and_store(
    element: str, shape: Sequence[int], strides: Sequence[int], tile: Sequence[int], load: str, add: str
) -> str:
    """Kernel ``k``: block i loads tile (i, 0) of an array reduced over the copies by ``load``, updates the copies with it by
    ``add``, and stores what it then loads to all copies.
    """
    pointer, sizes = f"tile<ptr<{element}, <multicast>>>", ", ".join(map(str, shape))
    steps, value = ",".join(map(str, strides)), f"tile<{_words(tile)}x{element}>"
    tensor = f"tensor_view<{_words(shape)}x{element}, strides=[{steps}], #cuda_tile.ptr_attr<multicast>>"
    view, place = f"partition_view<tile=({_words(tile)}), {tensor}>", "[%i, %zero]"
    return f"""entry @k(%p : {pointer}) {{
  %i, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %base = assume div_by<16>, %p : {pointer}
  %array = make_tensor_view %base, shape = [{sizes}], strides = [{steps}] : {pointer} -> {tensor}
  %tiles = make_partition_view %array : {view}
  %first, %t0 = multimem_load_reduce_view_tko relaxed sys %tiles{place}{_reduction(load)} : {view}, tile<i32> -> {value}, token
  %t1 = multimem_reduce_view_tko relaxed sys %tiles, %first{place} token = %t0{_reduction(add)} : {view}, {value}, tile<i32>, token -> token
  %second, %t2 = multimem_load_reduce_view_tko relaxed sys %tiles{place} token = %t1{_reduction(load)} : {view}, tile<i32>, token -> {value}, token
  %t3 = multimem_store_view_tko relaxed sys %tiles, %second{place} token = %t2 : {view}, {value}, tile<i32>, token -> token
  return
}}"""
