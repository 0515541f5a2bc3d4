"""What every part says or asks of the system: errors, files, user folders, terminal, version, tracing of reads.

Imports nothing else of the package.
"""
