"""Enumeration of whole tiles takes what the machine gives; only the number of examples is limited."""

from hypothesis import settings

settings.register_profile("layouts", deadline=None)
settings.load_profile("layouts")
