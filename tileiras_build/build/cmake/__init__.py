"""CMake: the package configuration that `tileiras-build --cmake-dir` names."""
