"""What nvdisasm says of a cubin: its instructions, and the source line of each."""

import re
import subprocess
from dataclasses import dataclass

from cuda.pathfinder import find_nvidia_binary_utility

_PLACE = re.compile(r'//## File "([^"]*)", line (\d+)(?: inlined at "([^"]*)", line (\d+))?')
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")


@dataclass(frozen=True)
class Instruction:
    """One SASS instruction; ``places`` are (file, line), the innermost first."""

    text: str
    places: tuple[tuple[str, int], ...]

    @property
    def line(self) -> int:
        return self.places[0][1] if self.places else 0


def disassemble(cubin: bytes, folder, *options: str) -> str:
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    command = [find_nvidia_binary_utility("nvdisasm"), "-c", *options, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def instructions(cubin: bytes, folder) -> list[Instruction]:
    """The instructions in order, without the padding behind the last one."""
    found: list[Instruction] = []
    places: list[tuple[str, int]] = []
    fresh = True
    for line in disassemble(cubin, folder, "-gi").splitlines():
        if place := _PLACE.search(line):
            if fresh:
                places, fresh = [], False
            places.append((place[1], int(place[2])))
        elif instruction := _INSTRUCTION.match(line):
            fresh = True
            found.append(Instruction(instruction[1], tuple(places)))
    while found and found[-1].text == "NOP":
        found.pop()
    return found
