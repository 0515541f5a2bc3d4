"""Arithmetic of floats and integers as PTX defines it."""
