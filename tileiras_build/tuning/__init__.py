"""Choosing among the points of a case's space (``frontend.tuning_space.Tune``): they are ranked by the cost model, or timed on a GPU.

Imports cutile, driver, frontend, launch, simulate, verify and what these import.
"""
