# hawser_room(NAME [LINK targets...]): src/NAME becomes the static library hawser_NAME; every
# src/NAME/**/x_test.cpp goes into the test program NAME_test.
function(hawser_room name)
  cmake_parse_arguments(ROOM "" "" "LINK" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/src/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  # What stands in front of the C library's functions is linked into libraries by name, not pulled from archives.
  list(FILTER sources EXCLUDE REGEX "((_test|_main)\\.cpp|/interpose/[^/]*)$")
  if(sources)
    add_library(hawser_${name} STATIC ${sources})
    set(kind PUBLIC)
    add_dependencies(hawser_${name} hawser_generated)
  else()
    add_library(hawser_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  hawser_unity(hawser_${name})
  target_include_directories(hawser_${name} ${kind} ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(hawser_${name} ${kind} ${ROOM_LINK})
  if(HAWSER_TESTS AND tests)
    hawser_unit_test(${name}_test hawser_${name} ${tests})
  endif()
endfunction()

# hawser_unity(TARGET): with HAWSER_UNITY its sources are compiled several at a time, which takes a third of the time: most
# of it is spent on the same headers again and again. For who builds once; test/checks keeps the sources fit for it.
function(hawser_unity target)
  if(HAWSER_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Sources count as headers then, and coroutines' frames as types of headers.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()

# hawser_unit_test(NAME LIBRARY SOURCES...): a GoogleTest program whose cases ctest knows one by one.
function(hawser_unit_test name library)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE ${library} GTest::gtest GTest::gmock hawser_unit_main Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if(HAWSER_SANITIZE MATCHES "undefined")
    # In the macros of tests these take a quarter of the compiler's time; the rooms have them.
    target_compile_options(${name} PRIVATE -fno-sanitize=null,vptr,alignment)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600)
endfunction()

# hawser_python_test(NAME FILE ARGUMENTS...): a test in Python. It ends with 77 where it leaves something out
# (test/support/cases.py), and then ctest shows it as skipped.
function(hawser_python_test name file)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${file} ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

# hawser_output_test(NAME CODE REGEX COMMAND...): the command must end with this exit code and say this.
function(hawser_output_test name code regex)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  add_test(NAME ${name}
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/test/support/expect.py ${code} "${regex}" ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
