"""Address spaces, loads and stores, tensor memory."""
