"""Running a function in another process or on another machine, and remembering its result.

Imports core, and the table of stages.
"""
