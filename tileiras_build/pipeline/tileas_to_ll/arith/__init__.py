"""Operations on values that a thread holds: arithmetic, conversions, shapes, layouts, reductions."""
