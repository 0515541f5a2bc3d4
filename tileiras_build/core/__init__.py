"""Services for the whole package: errors, files, user folders, terminal, version, tracing of reads.

Imports nothing else of the package.
"""
