"""The index of errors: a TOML file per area of this compiler, and their reader."""
