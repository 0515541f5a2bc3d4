"""Small kernels for the interpreter's tests: text around one operation, arrays in and out."""

import numpy as np

from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.simulate import interpreter
from tileiras_build.simulate.interpreter.element_types import STORAGE_DTYPES, from_bit_patterns, to_bit_patterns
from tileiras_build.simulate.interpreter.parse_arguments import TYPE_NAMES


def tile(shape, element: str) -> str:
    return f"tile<{''.join(f'{size}x' for size in shape)}{element}>"


def load(name: str, pointer: str, shape, element: str) -> str:
    """Text that loads a whole row-major array."""
    return (
        _view(name, pointer, shape, element)
        + f"""
  %{name}, %{name}_t = load_view_tko weak %{name}_p[{", ".join(["%zero"] * len(shape))}] : {_type(shape, element)}, tile<i32> -> {tile(shape, element)}, token"""
    )


def store(name: str, pointer: str, shape, element: str) -> str:
    """Text that stores a whole row-major array."""
    return (
        _view(f"{name}_o", pointer, shape, element)
        + f"""
  %{name}_s = store_view_tko weak %{name}, %{name}_o_p[{", ".join(["%zero"] * len(shape))}] : {tile(shape, element)}, {_type(shape, element)}, tile<i32> -> token"""
    )


def _tensor(shape, element: str) -> str:
    return f"tensor_view<{'x'.join(map(str, shape))}x{element}, strides=[{','.join(map(str, strides(shape)))}]>"


def _type(shape, element: str) -> str:
    return f"partition_view<tile=({'x'.join(map(str, shape))}), {_tensor(shape, element)}>"


def strides(shape) -> list[int]:
    return [int(np.prod(shape[dim + 1 :])) for dim in range(len(shape))]


def _view(name: str, pointer: str, shape, element: str) -> str:
    return f"""
  %{name}_v = make_tensor_view %{pointer}, shape = [{", ".join(map(str, shape))}], strides = [{", ".join(map(str, strides(shape)))}] : {_tensor(shape, element)}
  %{name}_p = make_partition_view %{name}_v : {_type(shape, element)}"""


def kernel(parameters: dict[str, str], body: str) -> str:
    """The text of an entry ``k`` with pointer parameters name -> element type."""
    arguments = ", ".join(f"%{name}: tile<ptr<{element}>>" for name, element in parameters.items())
    return f"entry @k({arguments}) {{\n  %zero = constant <i32: 0> : tile<i32>\n{body}\n  return\n}}\n"


def held_array(values, element: str) -> np.ndarray:
    return np.asarray(values).astype(STORAGE_DTYPES[TYPE_NAMES[element]])


def run(text: str, arrays, elements, *, grid=1, **options) -> list[np.ndarray]:
    """Run ``k`` on copies of held arrays; what they hold afterwards."""
    memory, places = interpreter.Memory(), []
    for array, element in zip(arrays, elements):
        places.append(np.ascontiguousarray(to_bit_patterns(np.asarray(array), TYPE_NAMES[element])).copy())
        memory.map_array(places[-1])
    params = [place.ctypes.data.to_bytes(8, "little") for place in places]
    interpreter.launch(parse_text(text), "k", grid, params, memory=memory, **options)
    return [from_bit_patterns(place, TYPE_NAMES[element]) for place, element in zip(places, elements)]


def apply(operation: str, inputs, result: tuple, **options) -> np.ndarray:
    """The result of one operation: ``inputs`` are (name, array, element), ``result`` is (shape, element)."""
    shape, element = result
    parameters = {f"p{name}": kind for name, _, kind in inputs} | {"pr": element}
    loads = "".join(load(name, f"p{name}", array.shape, kind) for name, array, kind in inputs)
    text = kernel(parameters, f"{loads}\n  {operation}{store('r', 'pr', shape, element)}")
    arrays = [*(array for _, array, _ in inputs), np.zeros(shape, STORAGE_DTYPES[TYPE_NAMES[element]])]
    return run(text, arrays, list(parameters.values()), **options)[-1].reshape(shape)


def pointers_text(name: str, pointer: str, element: str, index: str) -> str:
    """Text that makes eight pointers from a base and an index tile."""
    return f"""
  %{name}_1 = reshape %{pointer} : tile<ptr<{element}>> -> tile<1xptr<{element}>>
  %{name}_b = broadcast %{name}_1 : tile<1xptr<{element}>> -> tile<8xptr<{element}>>
  %{name} = offset %{name}_b, %{index} : tile<8xptr<{element}>>, tile<8xi32> -> tile<8xptr<{element}>>"""
