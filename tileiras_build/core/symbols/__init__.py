"""Names of kernels in PTX, C and C++: validity, uniqueness, demangling."""
