"""Choosing among the points of a case's space (``frontend.tuning_space.Tune``): they are ranked by the cost model.

Imports driver, frontend, simulate, verify and what these import.
"""
