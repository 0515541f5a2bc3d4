"""``tileiras-build init``: a small project that builds, verifies and packages at once; its files are templates beside this."""
