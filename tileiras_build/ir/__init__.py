"""Tile IR as data: dialects, layouts, bytecode and text.

Imports core and target.
"""
