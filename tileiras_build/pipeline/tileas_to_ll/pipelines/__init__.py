"""Agents and what passes between them: rings of stages, asynchronous copies, tensor maps, turns."""
