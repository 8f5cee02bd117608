# One set of compiler options for every target. Warnings are errors.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

# The build tree is usable without installing: one bin, one lib, one include.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

add_compile_options(-Wall -Wextra -Werror -Wno-missing-field-initializers -fno-semantic-interposition)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wsuggest-override>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # A base's virtual functions are hidden by others of that name where both are meant.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-overloaded-virtual>)
endif()
if(NOT HAWSER_SANITIZE)
  # What costs no instruction of the path of small messages; what is left out, and why: SECURITY.md.
  add_compile_options(-fstack-protector -fstack-clash-protection)
  add_compile_definitions($<$<CONFIG:RelWithDebInfo>:_FORTIFY_SOURCE=2>)
endif()
add_link_options(-Wl,-z,relro,-z,now)
if(HAWSER_SANITIZE)
  add_compile_options(-fsanitize=${HAWSER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HAWSER_SANITIZE})
  string(MAKE_C_IDENTIFIER "${HAWSER_SANITIZE}" sanitize_id)
  add_compile_definitions(HAWSER_SANITIZE_${sanitize_id}=1)
  if(HAWSER_SANITIZE STREQUAL "thread")
    # It knows no fences, and says so. Only processes that share memory use them here, and those it does not see.
    add_compile_options(-Wno-tsan)
  endif()
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Compiled objects are shared between checkouts of the same sources.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
