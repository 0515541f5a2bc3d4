"""Null and partial builds: what changed since the last build, without SCons' graph."""
