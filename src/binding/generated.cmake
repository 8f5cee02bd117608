# What the tables of MPI functions imply, generated into <build>/generated when the build begins (the target
# hawser_generated): process/api.h, both mpi.h, the C entry points, and lists of symbols.
set(HAWSER_GENERATED ${CMAKE_BINARY_DIR}/generated)
set(generator_dir ${CMAKE_CURRENT_SOURCE_DIR}/src/binding)
file(GLOB generator_inputs CONFIGURE_DEPENDS ${generator_dir}/*.table ${generator_dir}/generate/*.py)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

add_custom_command(
  OUTPUT ${HAWSER_GENERATED}/stamp
  COMMAND ${Python3_EXECUTABLE} -B ${generator_dir}/generate/generate.py ${HAWSER_GENERATED}
  COMMAND ${CMAKE_COMMAND} -E touch ${HAWSER_GENERATED}/stamp
  DEPENDS ${generator_inputs}
  COMMENT "Generating from the tables of MPI functions")
add_custom_target(hawser_generated DEPENDS ${HAWSER_GENERATED}/stamp)
