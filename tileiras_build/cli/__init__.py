"""The command ``tileiras-build``: its table of commands, what reads their options, and what is made from both.

``table.py`` has a row for each command; the parser, ``--help``, the completions of shells and the manual page are made
from these rows. Nothing here imports a library or the compiler before a command needs it.
"""
