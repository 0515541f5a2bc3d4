"""Environment variables for internal use of shells, terminals and ``watch``: no program's result depends on them."""

IGNORED_ENV_VARS = frozenset(
    ("_", "SHLVL", "OLDPWD", "PWD", "COLUMNS", "LINES", "WINDOWID", "TERM_SESSION_ID", "TILEIRAS_WATCH")
)
