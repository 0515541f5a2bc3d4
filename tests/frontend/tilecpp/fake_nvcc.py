#!/usr/bin/env python3
"""Stands in for nvcc in tests: what it says and reads, in the forms that nvcc has, and bytecode that it finds beside it.

Its bytecode is ``kernels.tilebc`` with a producer that is a digest of all that nvcc would have read: the text with its
headers, flags, and the programs. A line ``#error-at-17 some words`` is an error, ``#warn-at-17 some words`` a warning.
"""

import hashlib
import itertools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLKIT = os.path.dirname(HERE)
ASKED = re.compile(r"#(include|warn-at|error-at|if)[- ]*(.*)")


def main(words):
    if "--version" in words:
        print("Cuda compilation tools, release", read_bytes(os.path.join(HERE, "version")).decode())
        return 0
    folders = [word[2:] for word in words if word.startswith("-I")]
    folders += filter(None, os.environ.get("CPATH", "").split(os.pathsep))
    folders.append(os.path.join(TOOLKIT, "include"))
    host = os.path.join(TOOLKIT, "host", "cc1plus")
    if not os.path.exists(host):
        print("gcc: No such file or directory\nnvcc fatal   : Failed to preprocess host compiler properties.")
        return 1
    if "--nonsense" in words:
        print("nvcc fatal   : Unknown option '--nonsense'")
        return 1
    return compile_file(words, folders, host)


def compile_file(words, folders, host):
    with open(os.path.join(HERE, "runs"), "a") as stream:
        stream.write(f"{words[-1]}\n")
    source, made, listed = words[-1], words[words.index("-o") + 1], words[words.index("-MF") + 1]
    read, text = [], []
    failed = preprocess(source, folders, read, text)
    with open(listed, "w") as stream:
        names = [name.replace(" ", "\\ ") for name in read]
        stream.write(f"made.tilebc : {' '.join(names)} \\\n    {TOOLKIT}/bin/../include/crt/cuda_tile.h\n")
    if failed:
        print(f"1 error detected in the compilation of \"{source}\".")
        return 2
    for flag, value in itertools.pairwise(words):
        if flag == "--options-file":
            text.append(read_bytes(value).decode())
        if flag == "--run":
            subprocess.run([value], check=True)
    parts = [*text, read_bytes(host).hex(), read_bytes(os.path.join(TOOLKIT, "nvvm/bin/cicc")).hex()]
    parts += [word for word in words if word not in (made, listed, source)]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    data = read_bytes(os.path.join(HERE, "kernels.tilebc"))
    folder = os.path.dirname(os.path.abspath(source))
    names = {b"kernels.cu": os.path.basename(source).encode(), b"/src": folder.encode()}
    data = rewriter()(data, lambda name: digest.encode() if name.startswith(b"Cuda comp") else names.get(name, name))
    with open(made, "wb") as stream:
        stream.write(data)
    return 0


def read_bytes(path):
    with open(path, "rb") as stream:
        return stream.read()


def rewriter():
    """The function of the package that rewrites bytecode's strings, without the package."""
    path = os.path.join(
        read_bytes(os.path.join(HERE, "package")).decode(), "tileiras_build/frontend/portable_source_names.py"
    )
    names = {}
    exec(compile(read_bytes(path), path, "exec"), names)
    return names["rewrite_strings"]


def preprocess(path, folders, read, text):
    read.append(path)
    with open(path) as stream:
        lines = stream.read().splitlines()
    failed = False
    for number, line in enumerate(lines, 1):
        found = ASKED.match(line.strip())
        if not found:
            text.append(line)
        elif found[1] in ("warn-at", "error-at"):
            column, _, words = found[2].partition(" ")
            kind = "error" if found[1] == "error-at" else "warning #177-D"
            print(f"{path}({number}): {kind}: {words}\n  {line}\n{' ' * (int(column) + 1)}^\n")
            failed |= found[1] == "error-at"
        else:
            failed |= include(path, number, found, folders, read, text)
    return failed


def include(path, number, found, folders, read, text):
    """``#include`` and ``#if __has_include(…)``, which includes what it finds too."""
    name = re.search(r'["<]([^">]+)[">]', found[2])
    quoted = '"' in found[2]
    places = [os.path.join(folder, name[1]) for folder in ([os.path.dirname(path)] if quoted else []) + folders]
    there = next((place for place in places if os.path.isfile(place)), None)
    if there is not None:
        return preprocess(there, folders, read, text)
    if found[1] == "if":
        return False
    print(
        f"{path}:{number}:10: fatal error: {name[1]}: No such file or directory\n    {number} | {found[0]}\ncompilation terminated."
    )
    return True


sys.exit(main(sys.argv[1:]))
