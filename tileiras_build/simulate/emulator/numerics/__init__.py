"""PTX arithmetic of floats and integers."""
