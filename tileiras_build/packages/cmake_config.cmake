# find_package(@ CONFIG PATHS <this package>) gives the target @::@: a static library of the launcher, the header's folder, and
# the CUDA driver. @_IMAGE is the image file, for @_open_file.
include_guard(GLOBAL)
get_filename_component(@_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
set(@_IMAGE "${@_ROOT}/@{file}@")
set(@_TARGETS "@{targets}@")

if(NOT TARGET CUDA::cuda_driver)
  include(CMakeFindDependencyMacro)
  find_dependency(CUDAToolkit)
endif()

enable_language(C)
add_library(@ STATIC EXCLUDE_FROM_ALL @{cmake_sources}@)
add_library(@::@ ALIAS @)
set_target_properties(@ PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
target_include_directories(@ SYSTEM PUBLIC "${@_ROOT}/include")
target_link_libraries(@ PUBLIC CUDA::cuda_driver)
