# Sources with bugs that tests can plant (src/base/planted_bug.h). A program that links these before the rooms gets their
# objects in place of the rooms'. hawser_mutants: of what the rails' tests link too; hawser_upper_mutants: of what stands above.
function(hawser_mutant_library name)
  cmake_parse_arguments(MUTANTS "" "LINK" "ROOMS;ALSO" ${ARGN})
  set(mutants ${MUTANTS_ALSO})
  foreach(room ${MUTANTS_ROOMS})
    file(GLOB_RECURSE candidates CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${room}/*.cpp)
    foreach(candidate ${candidates})
      file(STRINGS ${candidate} included REGEX "#include \"base/planted_bug.h\"")
      if(included AND NOT candidate MATCHES "_test\\.cpp$")
        list(APPEND mutants ${candidate})
      endif()
    endforeach()
  endforeach()
  # An archive's object with several sources would bring the others' symbols twice.
  set_source_files_properties(${mutants} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${mutants})
  add_dependencies(${name} hawser_generated)
  target_compile_definitions(${name} PRIVATE HAWSER_PLANTED_BUGS)
  target_link_libraries(${name} PRIVATE ${MUTANTS_LINK})
endfunction()
hawser_mutant_library(hawser_mutants ROOMS rails ALSO ${CMAKE_SOURCE_DIR}/src/base/planted_bug.cpp
                      LINK hawser_rails)
hawser_mutant_library(hawser_upper_mutants ROOMS message collective window survival process LINK hawser_process)
