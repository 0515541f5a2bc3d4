"""Untraced uses in build scripts: each is found, and traced uses are not reported."""

import pytest

from tileiras_build.build.incremental.sconscript_purity import ScriptEffects, untraced_prologue

DOUBTS = {
    "import time": "time",
    "import os, time as clock": "time",
    "from datetime import datetime": "datetime.datetime",
    "from random import random": "random.random",
    "def f():\n    import uuid": "uuid",
    "import importlib": "importlib",
    "import threading": "threading",
    "import ctypes.util": "ctypes.util",
    "from ctypes import CDLL": "ctypes.CDLL",
    "import posix": "posix",
    "from urllib import request": "urllib.request",
    "import os; os.getpid()": "os.getpid",
    "import os.path; os.urandom(4)": "os.urandom",
    "import os as system; system.getloadavg()": "system.getloadavg",
    "from os import getppid": "os.getppid",
    "from os import *": "os.*",
    "import os; getattr(os, 'getpid')": "os",
    "import os; other = os": "os",
    "from pathlib import os": "pathlib.os",
    "import shutil; shutil.os.getpid()": "os",
    "import sys; sys.modules": "sys.modules",
    "import sys; sys.stdin.read()": "sys.stdin",
    "import sys; sys.stdout.isatty()": "isatty",
    "from sys import stdin": "sys.stdin",
    "import os; os.path.getatime('x')": "getatime",
    "import os; os.stat('x').st_atime": "st_atime",
    "import shutil; shutil.disk_usage('.')": "disk_usage",
    "File('x').getmtime()": "getmtime",
    "File('x').get_timestamp()": "get_timestamp",
    "exec('1')": "exec",
    "eval('1')": "eval",
    "__import__('time')": "__import__",
    "input()": "input",
    "hash('x')": "hash",
    "import logging": "logging",
    "import zipfile; zipfile.time.time()": "time",
    "import pickle": "pickle",
    "import statistics": "statistics",
    "from pkgutil import resolve_name": "pkgutil.resolve_name",
    "from tarfile import time": "tarfile.time",
    "import platform; platform.node()": "node",
    "for name in {'a', 'b'}: print(name)": "set iteration order",
    "names = set(['a']); list(names)": "set iteration order",
    "print(*{name for name in 'ab'})": "set iteration order",
    "max({'a', 'b'}, key=len)": "set iteration order",
    "sorted({'a', 'b'}, key=len)": "set iteration order",
    "list(a.keys() | b.keys())": "set iteration order",
    "for name in os.environ.keys() - names: print(name)": "set iteration order",
    "list(names.union('ab'))": "set iteration order",
    "x, y = set('ab').difference('c')": "set iteration order",
    "from collections import defaultdict; defaultdict(set)": "set iteration order",
    "list(map(set, names))": "set iteration order",
    "import gzip; gzip.compress(b'')": "gzip",
    "import zipfile; zipfile.ZipFile(stream, 'w').writestr('x', '')": "writestr",
    "globals()['time']": "globals",
    "locals()": "locals",
    "vars(module)": "vars",
    "breakpoint()": "breakpoint",
    "import shutil; getattr(shutil, 'os').getpid()": "getattr",
    "getattr(env, name)": "getattr",
    "from functools import reduce; reduce(getattr, names, env)": "getattr",
    "from operator import attrgetter; attrgetter('st_atime')(x)": "operator.attrgetter",
    "import operator; operator.methodcaller('getatime')": "methodcaller",
    "from pathlib import Path; Path('x').owner()": "owner",
    "object.__hash__(env)": "__hash__",
    "env.__getattribute__('x')": "__getattribute__",
}
WATCHED = [
    "import os, sys, re, json, glob",
    "import os.path as path; path.exists('x')",
    "from os.path import exists, getmtime; exists('x')",
    "import os; os.path.getmtime('x'), os.stat('x').st_mtime, os.environ['HOME'], os.cpu_count()",
    "from os import environ, listdir",
    "import sys; sys.path.insert(0, 'x'), sys.platform",
    "from collections.abc import Iterable",
    "from urllib.parse import quote",
    "import numpy, project_module",
    "getattr(env, 'name', None)",
    "isinstance(x, set)",
    "def f(x: set[str]): return len(x)",
    "if a.keys() & b.keys(): pass",
    "sorted(set(a).union(b).difference({'c'}))",
    "set(a).issubset(b)",
    "len(a.keys()) - 1",
    "from .neighbour import name",
    "import re; re.compile('x')",
    "env = Environment(tools=['tileiras']); Glob('*')",
    "sorted({'a', 'b'}); 'a' in {'a'}; len(set('ab') | {'c'}); sorted(set('ab') - {'a'})",
]


def code(tmp_path, text: str) -> ScriptEffects:
    (tmp_path / "script").write_text(text)
    return ScriptEffects.of([str(tmp_path / "script")])


@pytest.mark.parametrize("text", DOUBTS)
def test_what_nobody_watches_is_a_doubt(tmp_path, text):
    line = text.count("\n") + 1
    assert code(tmp_path, text).untraceable == f"{tmp_path}/script:{line} uses {DOUBTS[text]}"


@pytest.mark.parametrize("text", WATCHED)
def test_what_is_watched_is_none(tmp_path, text):
    assert code(tmp_path, text) == ScriptEffects()


ASKING = ["GetOption('num_jobs')", "env.GetOption('silent')", "import sys; sys.argv", "from sys import argv"]


@pytest.mark.parametrize("text", ASKING)
def test_the_command_line_is_asked(tmp_path, text):
    assert code(tmp_path, text) == ScriptEffects(reads_command_line=True)


def test_what_is_no_source_is_a_doubt(tmp_path):
    assert code(tmp_path, "\0").untraceable == f"{tmp_path}/script is not Python source"
    assert ScriptEffects.of([str(tmp_path / "absent.so")]).untraceable == f"{tmp_path}/absent.so is not Python source"


BEFORE = {
    "import os": True,
    "import time, SCons.Script": True,
    '"""What it is."""': True,
    "DEPTH = 3": True,
    "import project_module": False,
    "from os import stat": False,
    "from os import *": False,
    "stat = os.stat": False,
    "names = open('names').read()": False,
    "value = table['x']": False,
    "if True:\n    pass": False,
}


@pytest.mark.parametrize("text", BEFORE)
def test_only_imports_and_constants_may_come_before_the_tool(tmp_path, text):
    (tmp_path / "script").write_text(f"{text}\nimport tileiras_build\n")
    line = text.count("\n") + 2
    assert (untraced_prologue(str(tmp_path / "script"), line) is None) is BEFORE[text]


AT_THE_TOOL = {
    "from tileiras_build import scons_tool": True,
    "import project_module": True,
    "import project.module": False,
    "from project import module": False,
    "import project_module, other": False,
    'env = Environment(tools=["tileiras"], sm="90")': True,
    'env = Environment(tools=["default", "tileiras"])': True,
    'env = Environment(tools=["mine", "tileiras"])': False,
    'env = Environment(tools=["tileiras"], toolpath=["tools"])': False,
    'env = Environment(tools=["tileiras"], sm=open("sm").read())': False,
    'env.Tool("tileiras")': False,
    "if open('x'):\n    import tileiras_build": False,
}


@pytest.mark.parametrize("text", AT_THE_TOOL)
def test_a_statement_that_brings_the_tool_does_nothing_before(tmp_path, text):
    (tmp_path / "script").write_text(f"{text}\nread = open('x')\n")
    assert (untraced_prologue(str(tmp_path / "script"), 1 + text.count("\n")) is None) is AT_THE_TOOL[text]
