"""Matrix products that round as tensor cores do."""
