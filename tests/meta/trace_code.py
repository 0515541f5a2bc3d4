"""Runs calls in an interpreter of their own and says whose code they executed: ``python -m tests.meta.trace_code FILE``.

FILE is a pickle of (functions to import first, [(function, arguments), …]) and becomes one of what the calls returned.
Prints JSON: the package's files whose functions were executed and whose modules were imported, and the distributions whose
Python functions were executed.
"""

import cProfile
import inspect
import json
import pickle
import sys
from collections import Counter
from functools import cache
from importlib import metadata
from pathlib import Path


def main(path: str) -> None:
    from tileiras_build.core.code_digest import PACKAGE

    first, calls = pickle.loads(Path(path).read_bytes())
    from tileiras_build.pipeline.stages import load

    # What runs while a module is imported is the import's, also where a package imports its other modules.
    for function in first:
        load(function)
    functions = [(load(name), arguments) for name, arguments in calls]
    profiler = cProfile.Profile(builtins=False)  # counts in C: a profile function costs more than the calls
    profiler.enable()
    returned = [function(*arguments) for function, arguments in functions]
    profiler.disable()
    Path(path).write_bytes(pickle.dumps(returned))
    executed = _executed(profiler)
    files = [getattr(module, "__file__", None) for module in sys.modules.values()]
    print(
        json.dumps(
            {
                "executed": sorted(_inside(executed, PACKAGE)),
                "imported": sorted(_inside(filter(None, files), PACKAGE)),
                "libraries": sorted(_distributions(executed)),
            }
        )
    )


def _executed(profiler: cProfile.Profile) -> set[str]:
    """The files of functions that were called, but by Python's import: finders of some libraries look at every import."""
    # From Python 3.12 on some functions in C are among them all the same; those have a text for their code.
    rows = [row for row in profiler.getstats() if not isinstance(row.code, str)]
    calls = Counter({id(row.code): row.callcount for row in rows})  # code compares by its contents, without its file
    for row in rows:
        if row.code.co_filename.startswith("<frozen importlib"):
            calls.subtract({id(called.code): called.callcount for called in row.calls or ()})
    functions = [row.code for row in rows if row.code.co_flags & inspect.CO_OPTIMIZED]
    return {code.co_filename for code in functions if calls[id(code)] > 0}


def _inside(files, folder: Path) -> set[str]:
    return {Path(file).relative_to(folder).as_posix() for file in files if Path(file).is_relative_to(folder)}


def _distributions(files) -> set[str]:
    owners, found = metadata.packages_distributions(), set()
    for file in files:
        inner = file.rpartition("site-packages/")[2]
        top = inner.partition("/")[0].removesuffix(".py")
        # What pip puts there to find packages is none itself.
        if "site-packages" in file and not top.startswith(("_distutils_hack", "__editable__")):
            names = owners.get(top, [top])
            found.update(names if len(names) == 1 else [name for name in names if _owns(name, inner)])
    return found


@cache
def _owns(distribution: str, path: str) -> bool:
    return path in map(str, metadata.files(distribution) or ())


if __name__ == "__main__":
    main(sys.argv[1])
