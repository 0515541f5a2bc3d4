"""How passes rewrite operations: rules by operation, the driver that applies them, and the builders that rules use.

``dialect_conversion``: ``RuleTable``, ``apply_rules`` and ``TypeConverter``. ``rewriter``: ``Rewriter``, which inserts
operations before one operation and replaces it. ``folding_builder``: arithmetic of every builder, known integers folded.
"""
