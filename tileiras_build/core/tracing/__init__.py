"""What a step that runs people's own Python reads: seen while it runs, kept beside what it made, looked at again later.

The export of a kernel file imports it, so what decides its bytes is whatever that program opens, looks for and asks.
Nobody declares that. ``audit_hooks.py`` sees it, ``dependency_record.py`` writes it down, ``dependency_state.py`` compares it with
what is there now; as in ccache's manifests and in tup, the record is the list of dependencies.
"""
