"""Small arrays of functions of libdevice as registers, where an index is not constant: selections in place of local memory.

Range reduction of large arguments (sine, cosine, tangent) writes the words of the argument times 2 / pi to an array, and reads those
that its exponent tells. LLVM promotes arrays whose indices are constants alone (SROA), so a load at another index becomes one of each
element, of which the index selects one.
"""

from __future__ import annotations

import re
from functools import partial

LARGEST = 8  # elements: each selection is two instructions
_DEFINITION = re.compile(r"^define .*?^}$", re.DOTALL | re.MULTILINE)
_NAME = r"%[\w.$-]+"
_ARRAY = re.compile(rf"^  ({_NAME}) = alloca \[(\d+) x (i32|i64)\], align \d+$", re.MULTILINE)


def has_arrays(text: str) -> bool:
    """Whether a module's text has small arrays."""
    return _ARRAY.search(text) is not None


def select_elements(text: str) -> str:
    """The text of a module whose loads at computed indices of small arrays are loads of all elements and selections."""
    return _DEFINITION.sub(lambda definition: _of_function(definition[0]), text)


def _of_function(body: str) -> str:
    for name, size, kind in _ARRAY.findall(body):
        if int(size) <= LARGEST:
            body = _of_array(body, name, int(size), kind)
    return body


def _of_array(body: str, array: str, size: int, kind: str) -> str:
    """A function that loads at computed indices of an array all elements; unchanged where it does else with such a place."""
    place = re.compile(
        rf"^  ({_NAME}) = getelementptr inbounds (?:nuw )?{kind}, ptr {re.escape(array)}, i64 ({_NAME})$", re.MULTILINE
    )
    places = place.findall(body)
    loads = {
        pointer: re.compile(rf"^  ({_NAME}) = load {kind}, ptr {re.escape(pointer)}, align \d+$", re.MULTILINE)
        for pointer, _ in places
    }
    if any(len(load.findall(body)) != _uses(pointer, body) for pointer, load in loads.items()):
        return body
    for pointer, index in places:
        body = loads[pointer].sub(partial(_selection, array=array, index=index, size=size, kind=kind), body)
    return body


def _uses(name: str, body: str) -> int:
    """How often a function's text names a value, but for its definition."""
    return len(re.findall(rf"{re.escape(name)}(?![\w.$-])", body)) - 1


def _selection(load: re.Match[str], array: str, index: str, size: int, kind: str) -> str:
    """Instructions that define the result of a load as the element at ``index``."""
    result = load[1]
    stem = result[1:]
    lines, chosen = [], f'%"{stem}.element0"'
    for number in range(size):
        place, element = f'%"{stem}.place{number}"', f'%"{stem}.element{number}"'
        lines.append(f"  {place} = getelementptr inbounds {kind}, ptr {array}, i64 {number}")
        lines.append(f"  {element} = load {kind}, ptr {place}")
    for number in range(1, size):
        equal, before = f'%"{stem}.equal{number}"', chosen
        chosen = result if number == size - 1 else f'%"{stem}.chosen{number}"'
        lines.append(f"  {equal} = icmp eq i64 {index}, {number}")
        lines.append(f'  {chosen} = select i1 {equal}, {kind} %"{stem}.element{number}", {kind} {before}')
    return "\n".join(lines)
