"""``env.KernelPackage(name, library)``: fat binaries per kernel, and the package of a library, as steps of the build.

    library = env.KernelLibrary("kernels", Glob("kernels/*.py"))
    env.KernelPackage("my_kernels", library)            # scons package; scons install prefix=src

The nodes are ``<build_dir>/fatbin/<kernel>.fatbin`` and the files of ``launch/packages/package_library.py`` in
``<build_dir>/package/<name>``. Only the aliases ``package`` and ``install`` depend on them. Modules for packages are
imported on use: NumPy and others run programs on import, which ``sconscript_trace.py`` cannot trace.
"""

from __future__ import annotations

import os
from collections import UserList
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

import SCons.Script
from SCons.Builder import Builder

from ..core.errors import InvalidInput, TileirasError
from ..core.file_io import write_files
from ..launch.packages.ptx_option import AUTO, NONE, ptx_target
from ..pipeline.stages import Stage, source_digest
from ..target.targets import find_target
from ..workers.executor import Executor
from .always_build import INSTALL, PACKAGE
from .incremental.partial_scons_graph import LibraryAlias, LibraryNodes
from .incremental.sconscript_trace import TRACE
from .progress import BuildStep
from .report_target import CURRENT, describe_missing
from .scons_variables import exit_with_error
from .settings import DEFAULTS
from .stage_actions import WorkerAction, kernel_name, step_timeout

_OWN = ("build/kernel_package.py",)
_LIBRARIES = ("msgspec", "numpy")
FATBIN = Stage(
    ".fatbin",
    "the cubins of one kernel, and PTX",
    "tileiras_build.launch.packages.fatbin:make_fatbin",
    modules=("tileiras_build.launch.packages.fatbin_inputs",),
    sources=_OWN,
    libraries=(*_LIBRARIES, "nvidia-cuda-nvcc"),
)
PACKED = Stage(
    ".json",
    "the package of a library",
    "tileiras_build.launch.packages.package_library:pack_library",
    sources=_OWN,
    libraries=(*_LIBRARIES, "Jinja2", "MarkupSafe"),
)


class FatbinAction(WorkerAction):
    """Combines the cubins and PTX of one kernel into a fat binary."""

    def __init__(self, executor):
        super().__init__(FATBIN, executor, {"stage": FATBIN.name, "code": source_digest(FATBIN)})

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: the step and the kernel."""
        return f"{FATBIN.name:7} {'':7} {kernel_name(target[0])}"

    def call(self, executor: Executor, target, source, env) -> dict[str, bytes]:
        """Combine the images in a worker."""
        from ..launch.packages.fatbin_inputs import read_images

        name = kernel_name(target[0])
        parts = tuple(part for part, _ in read_images(images_of(source)))
        made = executor.run(FATBIN.edge, name, parts, timeout=step_timeout(env))
        return {target[0].name: made}


class PackageAction(WorkerAction):
    """Writes the files of a package; ``members`` are (fat binary, its images) as nodes."""

    def __init__(self, name: str, embed: bool, members: list, executor):
        self.name, self.embed, self.members = name, embed, members
        signature = {"stage": PACKAGE, "code": source_digest(PACKED), "name": name, "embed": embed}
        signature["folders"] = [_folder_of(_origin(images[0])) for _, images in members]
        super().__init__(PACKED, executor, signature)

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: the step, the package and its number of kernels."""
        return f"{PACKAGE:7} {'':7} {self.name} ({len(self.members)} kernel files)"

    def call(self, executor: Executor, target, source, env) -> dict[str, bytes]:
        """Run in this process: it does little more than copy."""
        made = pack(self.name, self.members, self.embed)
        return {Path(name).name: data for name, data in made.items()}


def pack(name: str, members: list, embed: bool) -> dict[str, bytes]:
    """The files of package ``name``; ``members`` are (fat binary, its images) as nodes."""
    from ..launch.packages.package_library import KernelFiles, pack_library

    origins = [_origin(images[0]) for _, images in members]
    files = [
        KernelFiles(origin, fatbin.path, images_of(images), _folder_of(origin))
        for origin, (fatbin, images) in zip(origins, members)
    ]
    return pack_library(name, files, embed=embed)


def _folder_of(origin: str) -> str:
    """The folder of a source relative to the project; for a source elsewhere its last part, which is the same on every machine."""
    path = PurePath(os.path.normpath(origin)).parent
    return path.name if path.is_absolute() or ".." in path.parts else path.as_posix()


def _origin(node) -> str:
    """The source of an artifact."""
    while node.sources:
        node = node.sources[0]
    return str(node.srcnode())


def images_of(nodes: Iterable) -> tuple[tuple[str, str], ...]:
    """(kind, path) of cubins and PTX files; their launch manifests are beside them."""
    from ..launch.runtime.library_manifest import CUBIN, PTX

    return tuple(
        (PTX if node.name.endswith(".ptx") else CUBIN, node.path)
        for node in nodes
        if node.name.endswith((".ptx", ".cubin"))
    )


class PackageBuilder:
    """Makes the nodes of packages."""

    def __init__(self, chain):
        self.chain, self.build = chain, chain.build

    def add(self, env, name: str, library, ptx: str | None = None, embed: bool = False, prefix: str | None = None):
        """Package ``library``, a result of ``KernelLibrary`` or a list of them; returns the package's file nodes.

        ``ptx`` selects the PTX to embed for later GPUs: a target such as "80", "none", or "auto": of each kernel's targets the newest
        with forward-compatible PTX. ``embed`` adds the image as a C array; ``prefix`` is the folder of ``scons install``. Both
        default to the environment's. The package is in the build folder of ``env`` as the calling script sees it, wherever those of
        the libraries are.
        """
        try:
            _reject_second_library(name, ptx)
            self._reject_duplicate(name)
            return self._add(
                env, name, library, str(_option(env, "ptx", ptx)), embed, str(_option(env, "prefix", prefix))
            )
        except TileirasError as error:
            exit_with_error(error)

    def _reject_duplicate(self, name: str) -> None:
        """A prefix can contain only one package of a name, wherever they are built."""
        if name in self.build.packages:
            remedy = "pass all libraries as one list, or rename one package"
            raise InvalidInput("package-twice", f"package {name} is declared twice", remedy=remedy)
        self.build.packages.add(name)

    def _add(self, env, name: str, library, ptx: str, embed: bool, prefix: str):
        from ..launch.packages.package_library import file_names

        folder = env.Dir(f"{_option(env, 'build_dir', None)}/{PACKAGE}/{name}")
        if self.build.leaves_out_nodes and isinstance(next(iter(env.Flatten([library])), None), LibraryAlias):
            # SCons visits no package in such a run, unless it becomes one with all nodes.
            self.build.deferred.append(lambda: self._add(env, name, library, ptx, embed, prefix))
            return [folder.File(file) for file in file_names(name, embed=embed)]
        members = [self._fatbin(env, nodes, ptx) for nodes in _by_kernel(name, library).values()]
        sources = [node for fatbin, images in members for node in (fatbin, *map(_manifest_of, images))]
        builder = Builder(action=PackageAction(name, embed, members, self.build.executor))
        names = file_names(name, embed=embed)
        made = builder(env, [folder.File(file) for file in names], sources)
        self._count(made[0], BuildStep(PACKAGE, "", name))
        if is_requested():
            installed = self._install_folder(env, prefix) if INSTALL in _requested_targets() else None
            rest = PartialPackage(name, embed, members, made, names, installed)
            self.build.rest.append(rest.pack)
        env.Alias(PACKAGE, made)
        self._install(env, name, names, made, prefix)
        return made

    def _fatbin(self, env, cubins: list, ptx: str):
        """(fat binary, its images) of one kernel."""
        from ..launch.packages.fatbin import find_fatbinary

        images = [*cubins, *self._embedded_ptx(env, cubins, ptx)]
        kernel = kernel_name(cubins[0])
        builder = self.chain._cached((FATBIN.name,), lambda: Builder(action=FatbinAction(self.build.executor)))
        made = builder(env, [cubins[0].dir.up().Dir(FATBIN.name).File(kernel + FATBIN.suffix)], images)
        with TRACE.probing_installed():
            program = find_fatbinary()
        env.Depends(made, env.fs.File(str(program)))
        self._count(made[0], BuildStep(FATBIN.name, "", kernel))
        return made[0], images

    def _count(self, node, step: BuildStep) -> None:
        """Count a step of packages only if they are requested: otherwise the total would never be reached."""
        if is_requested():
            self.build.progress.add(node, step)

    def _embedded_ptx(self, env, cubins: list, ptx: str) -> list:
        """The PTX node for later GPUs, built if the library has none; empty if none is embedded."""
        if ptx == NONE:
            return []
        if ptx == AUTO:
            able = [node for node in cubins if find_target(node.dir.name).portable]
            newest = max(able, key=lambda node: find_target(node.dir.name).number, default=None)
            return [] if newest is None else [newest.dir.File(f"{kernel_name(newest)}.ptx")]
        target = ptx_target(ptx)
        node = cubins[0].dir.up().Dir(target.name).File(f"{kernel_name(cubins[0])}.ptx")
        return [node if node.has_builder() else self._lower(env, cubins[0], str(target.number))]

    def _lower(self, env, cubin, sm: str):
        node = cubin
        while not node.name.endswith(self.chain.table[0].suffix):
            node = node.sources[0]
        if (again := self.chain.files.for_target.get(node)) is not None:
            node = again(find_target(sm))
        for stage in self.chain.table[1:]:
            node = getattr(env, stage.name.capitalize())(node, sm=sm)[0]
            if stage.name == "ptx":
                break
        return node

    def _install(self, env, name: str, names: list[str], made: list, prefix: str) -> None:
        env.Tool("install")
        folder = self._install_folder(env, prefix)
        for file, node in zip(names, made, strict=True):
            env.Alias(INSTALL, env.InstallAs(folder.File(f"{name}/{file}"), node))

    def _install_folder(self, env, prefix: str):
        return env.Dir(prefix if prefix.startswith("#") or Path(prefix).is_absolute() else f"#{prefix}")


def is_requested() -> bool:
    """Whether this run of SCons requests packages."""
    return bool({PACKAGE, INSTALL} & _requested_targets())


def _requested_targets() -> set[str]:
    return set(map(str, SCons.Script.COMMAND_LINE_TARGETS))


@dataclass(frozen=True)
class PartialPackage:
    """A package with failed kernels, with -k: ``members`` are (fat binary, its images) as nodes, ``made`` the nodes of its files
    ``names``; ``installed`` is the install folder, if it is to be installed.
    """

    name: str
    embed: bool
    members: list
    made: list
    names: list[str]
    installed: object | None

    def pack(self, lost: set) -> str:
        """Pack and install the available kernels, which SCons skips because others failed; reports the missing ones."""
        there = [member for member in self.members if _is_there(member[0], lost)]
        missing = [member for member in self.members if member not in there]
        if not missing:
            return ""
        if not there:
            return f"package {self.name} not built: all of its kernels failed"
        try:
            self._write(there)
        except TileirasError as error:
            return str(error)
        absent = [node for _, images in missing for node in images if not _is_there(node, lost)]
        where = f" (installed without them in {self.installed})" if self.installed else ""
        return f"package {self.name} is missing {describe_missing(absent)}{where}"

    def _write(self, members: list) -> None:
        packed = pack(self.name, members, self.embed)
        write_files({Path(node.path): packed[file] for node, file in zip(self.made, packed, strict=True)})
        if self.installed is not None:
            folder = Path(str(self.installed), self.name)
            write_files({folder / file: data for file, data in packed.items()})


def _is_there(node, lost: set) -> bool:
    return node.get_state() in CURRENT and node not in lost


def _option(env, name: str, value):
    return env.get(name, DEFAULTS[name]) if value is None else value


def _reject_second_library(name: str, ptx: object) -> None:
    """Raise InvalidInput[package-library] if a second library is passed as ``ptx``."""
    if ptx is not None and not isinstance(ptx, str | int):
        message = f'KernelPackage("{name}", …): several libraries must be one list'
        raise InvalidInput("package-library", message, remedy=f'write KernelPackage("{name}", [one, other])')


def _by_kernel(name: str, library) -> Mapping[str, list]:
    """The cubin nodes of each kernel of the libraries, in order."""
    kernels: dict[str, dict] = {}
    for nodes in _nodes_of(library):
        for node in nodes:
            kernels.setdefault(f"{node.dir.up().path}/{kernel_name(node)}", {})[node] = None
    if not kernels:
        message = f"package {name} has no kernels"
        raise InvalidInput("package-empty", message, remedy="pass the result of env.KernelLibrary")
    return {kernel: list(nodes) for kernel, nodes in kernels.items()}


def _nodes_of(library) -> Iterator[list]:
    """The last artifacts of each library; for a bare alias, those of all libraries of its name."""
    if isinstance(library, LibraryNodes):
        yield library.kernels()
    elif isinstance(library, list | tuple | UserList):
        for one in library:
            yield from _nodes_of(one)
    else:
        yield getattr(library, "sources", [])


def _manifest_of(image):
    """The file with the launch data of an image: beside a cubin, in the PTX itself."""
    return image.dir.File(f"{kernel_name(image)}.json") if image.name.endswith(".cubin") else image
