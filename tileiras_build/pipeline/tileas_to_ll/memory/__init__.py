"""Operations on memory: views, loads and stores, atomics, shared memory, storage on the heap."""
