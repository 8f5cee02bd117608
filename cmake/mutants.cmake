# hawser_mutants: sources with bugs that tests can plant (src/base/planted_bug.h). A program that links it before the rooms
# gets these objects in place of theirs.
file(GLOB_RECURSE candidates CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/rails/*.cpp ${CMAKE_SOURCE_DIR}/src/message/*.cpp
     ${CMAKE_SOURCE_DIR}/src/window/*.cpp)
set(mutants ${CMAKE_SOURCE_DIR}/src/base/planted_bug.cpp)
foreach(candidate ${candidates})
  file(STRINGS ${candidate} included REGEX "#include \"base/planted_bug.h\"")
  if(included AND NOT candidate MATCHES "_test\\.cpp$")
    list(APPEND mutants ${candidate})
  endif()
endforeach()
# An archive's object with several sources would bring the others' symbols twice.
set_source_files_properties(${mutants} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
add_library(hawser_mutants OBJECT EXCLUDE_FROM_ALL ${mutants})
target_compile_definitions(hawser_mutants PRIVATE HAWSER_PLANTED_BUGS)
target_link_libraries(hawser_mutants PRIVATE hawser_rails)
