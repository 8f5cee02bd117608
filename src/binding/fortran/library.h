// For files with Fortran's entry points, generated or written by hand.
#pragma once

#include "binding/fortran/arguments.h"
#include "binding/fortran/strings.h"

#define HAWSER_WEAK(alias_name, name) extern "C" decltype(name) alias_name __attribute__((weak, alias(#name)))

// The names under which compilers look for the procedure that is written `pmpi_name_` in C: those with MPI_,
// which a profiling library may replace, and the spellings of compilers that add no or two underscores or use
// capitals.
#define HAWSER_PROCEDURE(name, NAME)            \
  HAWSER_WEAK(mpi_##name##_, pmpi_##name##_);   \
  HAWSER_WEAK(mpi_##name##__, pmpi_##name##_);  \
  HAWSER_WEAK(mpi_##name, pmpi_##name##_);      \
  HAWSER_WEAK(MPI_##NAME, pmpi_##name##_);      \
  HAWSER_WEAK(pmpi_##name##__, pmpi_##name##_); \
  HAWSER_WEAK(pmpi_##name, pmpi_##name##_);     \
  HAWSER_WEAK(PMPI_##NAME, pmpi_##name##_)

// The specific procedure of mpi_f08 that is the same, where no argument is a choice buffer.
#define HAWSER_F08(name)                          \
  HAWSER_WEAK(mpi_##name##_f08_, pmpi_##name##_); \
  HAWSER_WEAK(pmpir_##name##_f08_, pmpi_##name##_)
