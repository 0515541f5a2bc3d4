"""Multistage loads for ``software_pipeline_loads.py``: copies of later iterations, issued ahead."""
