// For files with Fortran's entry points, generated or written by hand.
#pragma once

#include "binding/fortran/arguments.h"
#include "binding/fortran/strings.h"

#define HAWSER_WEAK(alias_name, name) extern "C" decltype(name) alias_name __attribute__((weak, alias(#name)))

// The names under which compilers look for the procedure that is written `pmpi_name_` in C: those with MPI_,
// which a profiling library may replace, and the spellings of compilers that add no or two underscores or use
// capitals.
#define HAWSER_PROCEDURE(name, NAME) HAWSER_PROCEDURE_OF(mpi_##name, MPI_##NAME)
#define HAWSER_PROCEDURE_OF(name, NAME) \
  HAWSER_WEAK(name##_, p##name##_);     \
  HAWSER_WEAK(name##__, p##name##_);    \
  HAWSER_WEAK(name, p##name##_);        \
  HAWSER_WEAK(NAME, p##name##_);        \
  HAWSER_WEAK(p##name##__, p##name##_); \
  HAWSER_WEAK(p##name, p##name##_);     \
  HAWSER_WEAK(P##NAME, p##name##_)

// The specific procedure of mpi_f08 that is the same, where no argument is a choice buffer.
#define HAWSER_F08(name) HAWSER_F08_OF(mpi, name)
#define HAWSER_F08_OF(mpi, name)                        \
  HAWSER_WEAK(mpi##_##name##_f08_, p##mpi##_##name##_); \
  HAWSER_WEAK(p##mpi##r_##name##_f08_, p##mpi##_##name##_)
