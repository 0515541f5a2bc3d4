"""Variables that a shell and a terminal keep in the environment for themselves, and ``watch``: no program's result depends on them."""

IGNORED_ENV_VARS = frozenset(
    ("_", "SHLVL", "OLDPWD", "PWD", "COLUMNS", "LINES", "WINDOWID", "TERM_SESSION_ID", "TILEIRAS_WATCH")
)
