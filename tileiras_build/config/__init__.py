"""Options of a project and of commands, and where they come from.

Imports core, target, pipeline and workers.
"""
