"""The version of the project, for both of its wheels."""

__version__ = "0.1.0"
