"""``tileiras-build watch``: build on every save, and show the changes of the machine code."""
