"""Loading and launching cubins: from Python (runtime), from C and C++ (packages).

Imports core, target and manifest.
"""
