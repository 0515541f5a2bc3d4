"""Address spaces, loads and stores, tensor memory."""

from .address_space import Memory
