"""Trace the reads of a step that runs user Python: observe them, store them with the outputs, and check them later.

Exporting a kernel file imports it, so its bytes depend on whatever that program opens, searches for and queries. Nobody
declares these dependencies. ``audit_hooks.py`` observes them, ``dependency_record.py`` stores them, ``dependency_state.py``
compares them with the present state; as in ccache's manifests and in tup, the record is the list of dependencies.
"""
