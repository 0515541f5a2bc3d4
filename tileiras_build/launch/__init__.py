"""Loads and launches cubins: from Python (runtime), from C and C++ (packages).

Imports core, target and manifest.
"""
