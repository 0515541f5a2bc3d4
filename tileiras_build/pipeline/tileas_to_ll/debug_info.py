"""Source lines as LLVM debug metadata, with directives only: code stays optimized (llvm-nvptx, section 6)."""

from __future__ import annotations

import os

from ...errors import Location
from ..job import Job

FIRST = 100


class DebugInfo:
    """Numbers metadata nodes for files, functions and lines; does nothing unless lines were asked for."""

    def __init__(self, job: Job):
        self.enabled = job.lineinfo or job.debug
        self.nodes: list[str] = []
        self.known: dict[tuple, int] = {}
        self.function: int | None = None

    def _node(self, key: tuple, text: str) -> int:
        if key not in self.known:
            self.known[key] = FIRST + len(self.nodes)
            self.nodes.append(text)
        return self.known[key]

    def _file(self, path: str) -> int:
        folder, name = os.path.split(path)
        return self._node(("file", path), f'!DIFile(filename: "{name}", directory: "{folder}")')

    def _unit(self, file: int) -> int:
        text = f'distinct !DICompileUnit(language: DW_LANG_C, file: !{file}, producer: "tileiras-build", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)'
        return self._node(("unit",), text)

    def start_function(self, name: str, location: Location | None) -> None:
        """The subprogram of a kernel that starts at ``location``."""
        self.function = None
        if not self.enabled or location is None or not location.file:
            return
        file = self._file(location.file)
        unit = self._unit(file)
        types = self._node(("types",), "!DISubroutineType(types: !{null})")
        text = f'distinct !DISubprogram(name: "{name}", linkageName: "{name}", scope: !{file}, file: !{file}, line: {location.line}, type: !{types}, scopeLine: {location.line}, spFlags: DISPFlagDefinition, unit: !{unit})'
        self.function = self._node(("function", name), text)

    def function_suffix(self) -> str:
        return "" if self.function is None else f" !dbg !{self.function}"

    def suffix(self, location: Location | None) -> str:
        """``, !dbg !N`` for an instruction."""
        if self.function is None:
            return ""
        line, column = (location.line, location.column) if location else (0, 0)
        scope = self.function
        if location and location.file:
            file = self._file(location.file)
            scope = self._node(("scope", self.function, file), f"!DILexicalBlockFile(scope: !{self.function}, file: !{file}, discriminator: 0)")
        text = f"!DILocation(line: {line}, column: {column}, scope: !{scope})"
        return f", !dbg !{self._node(('line', line, column, scope), text)}"

    def metadata(self) -> list[str]:
        if not self.enabled or ("unit",) not in self.known:
            return []
        lines = [f"!llvm.dbg.cu = !{{!{self.known['unit',]}}}", "!llvm.module.flags = !{!90, !91}"]
        lines += ['!90 = !{i32 2, !"Debug Info Version", i32 3}', '!91 = !{i32 2, !"Dwarf Version", i32 2}']
        return lines + [f"!{FIRST + number} = {text}" for number, text in enumerate(self.nodes)]
