"""What a GPU has and accepts: capabilities, atoms of MMA and copies, occupancy, rates, the spelling of instructions.

Imports core.
"""
