"""The properties of GPUs: capabilities, atoms of MMA and copies, occupancy, rates, instruction names.

Imports core.
"""
