"""Arithmetic on registers: elementwise operations, conversions, reductions and scans."""
