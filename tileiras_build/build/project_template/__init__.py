"""``tileiras-build init``: a small project that builds, verifies and packages; its files are templates in this folder."""
