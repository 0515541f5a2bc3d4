"""``tileiras-build watch``: build on every save, and show what the save has changed in the machine code."""
