"""Loads of later iterations, issued ahead, for ``software_pipeline_loads.py``."""
