# find_package(tileiras_build CONFIG) defines tileiras_add_library. `tileiras-build --cmake-dir` prints this folder.
#
#   tileiras_add_library(<name> SOURCES <file>... [SM <target>...] [OPTIONS <option=value>...])
#
# compiles kernel files (.py, .cu, .tilebc) into a package, and adds the static library <name>: the launchers in C and the
# kernels' images, with the include folders of <name>.h, <name>.hpp and cuda.h. They load the CUDA driver at run time. OPTIONS are those of scons, such as opt=2.
# SCons runs in every build, since it tracks all that an export reads; without changes that takes a fraction of a second.
include_guard(GLOBAL)
set(tileiras_build_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}")

if(NOT DEFINED tileiras_build_PYTHON)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(tileiras_build_PYTHON "${Python3_EXECUTABLE}")
endif()
execute_process(COMMAND "${tileiras_build_PYTHON}" -c "import tileiras_build, SCons" RESULT_VARIABLE _status OUTPUT_QUIET ERROR_QUIET)
if(NOT _status EQUAL 0)
  set(tileiras_build_FOUND FALSE)
  set(tileiras_build_NOT_FOUND_MESSAGE
      "${tileiras_build_PYTHON} cannot import tileiras_build; set -Dtileiras_build_PYTHON=FILE to the python that has it")
  return()
endif()

function(tileiras_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;SM;OPTIONS")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "use tileiras_add_library(<name> SOURCES <file>... [SM <target>...] [OPTIONS <option=value>...])")
  endif()
  if(NOT CUDAToolkit_INCLUDE_DIRS)  # or the folder of cuda.h, where there is no toolkit
    find_package(CUDAToolkit REQUIRED)
  endif()
  set(NAME "${name}")
  set(FOLDER "${CMAKE_CURRENT_BINARY_DIR}/${name}.tileiras")
  set(package "${FOLDER}/package/${name}")
  string(REPLACE ";" "\n" SOURCES "${arg_SOURCES}")
  configure_file("${tileiras_build_DIRECTORY}/SConstruct.in" "${FOLDER}/SConstruct" @ONLY)

  set(options ${arg_OPTIONS})
  if(arg_SM)
    string(REPLACE ";" "," sm "${arg_SM}")
    list(APPEND options "sm=${sm}")
  endif()
  add_custom_target(${name}_kernels
    COMMAND "${tileiras_build_PYTHON}" -m SCons -Q -C "${CMAKE_CURRENT_SOURCE_DIR}" -f "${FOLDER}/SConstruct"
            "build_dir=${FOLDER}" ${options} package
    BYPRODUCTS "${package}/src/${name}.c" "${package}/src/${name}_image.c" "${package}/include/${name}.h"
               "${package}/include/${name}.hpp"
    COMMENT "Kernels of ${name}" USES_TERMINAL VERBATIM)

  enable_language(C)
  add_library(${name} STATIC "${package}/src/${name}.c" "${package}/src/${name}_image.c")
  add_dependencies(${name} ${name}_kernels)
  set_target_properties(${name} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} SYSTEM PUBLIC "${package}/include" ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${CMAKE_DL_LIBS})
endfunction()
