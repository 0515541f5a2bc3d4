"""The PTX parser and static analyses."""
