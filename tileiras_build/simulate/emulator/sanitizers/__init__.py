"""The checks of compute-sanitizer: racecheck, initcheck, synccheck, and what PTX leaves unspecified."""
