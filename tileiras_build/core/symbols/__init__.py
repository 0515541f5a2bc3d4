"""Names of kernels, in PTX, C and C++: what they may be, how they are made unique, how C++ spells them."""
