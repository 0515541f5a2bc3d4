"""Control flow, program ids, print and assert."""
