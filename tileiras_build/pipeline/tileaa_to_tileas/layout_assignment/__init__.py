"""Seeds, constraints and rewrites of layouts, for ``assign_layouts.py``."""
