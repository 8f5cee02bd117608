# What the tables of MPI functions imply, generated into <build>/generated when the build begins (the target
# hawser_generated): api/functions.h, both mpi.h, the C entry points, and lists of symbols.
set(HAWSER_GENERATED ${CMAKE_BINARY_DIR}/generated)
set(HAWSER_INCLUDE ${CMAKE_BINARY_DIR}/include)  # the headers for programs
set(generator_dir ${CMAKE_CURRENT_SOURCE_DIR}/src/binding)
file(GLOB generator_inputs CONFIGURE_DEPENDS ${generator_dir}/*.table ${generator_dir}/*.h.in
     ${generator_dir}/generate/*.py)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# One file of entry points for each chapter of the tables.
file(GLOB tables CONFIGURE_DEPENDS ${generator_dir}/functions_*.table)
set(HAWSER_ENTRY_POINTS)
foreach(table ${tables})
  file(STRINGS ${table} chapters REGEX "^\\[[a-z_]+\\]$")
  foreach(chapter ${chapters})
    string(REGEX REPLACE "[^a-z_]" "" chapter ${chapter})
    list(APPEND HAWSER_ENTRY_POINTS ${HAWSER_GENERATED}/binding/${chapter}.cpp)
  endforeach()
endforeach()

add_custom_command(
  OUTPUT ${HAWSER_GENERATED}/stamp
  BYPRODUCTS ${HAWSER_ENTRY_POINTS} ${HAWSER_GENERATED}/api/functions.h ${HAWSER_INCLUDE}/mpi.h ${HAWSER_INCLUDE}/mpich/mpi.h
  COMMAND ${Python3_EXECUTABLE} -B ${generator_dir}/generate/generate.py ${HAWSER_GENERATED} ${HAWSER_INCLUDE}
  COMMAND ${CMAKE_COMMAND} -E touch ${HAWSER_GENERATED}/stamp
  DEPENDS ${generator_inputs}
  COMMENT "Generating from the tables of MPI functions")
add_custom_target(hawser_generated DEPENDS ${HAWSER_GENERATED}/stamp)
