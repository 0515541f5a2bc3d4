"""The command ``tileiras-build``: its table of commands, the parsers of their options, and texts generated from both.

``commands.py`` has a row per command; the parser, ``--help``, shell completions and the manual page are generated from
these rows. Nothing here imports a library or the compiler before a command needs it.
"""
