// Attributes as Fortran has them: address-sized numbers. C has pointers, so an attribute that Fortran sets is
// kept in a cell, and what C gets is the address of that cell (MPI-5.0 section 19.3.7).
#pragma once

#include "binding/fortran/library.h"

namespace hawser::fortran {

// A new cell that holds `value`.
void* new_cell(MPI_Aint value);
// Forgets a cell; nothing happens to what is not one.
void drop_cell(void* attribute);
// What Fortran gets for an attribute that C has as `attribute`.
MPI_Aint attribute_value(int keyval, void* attribute);
// The C keyval of a predefined attribute: MPICH's Fortran interfaces have other numbers for them.
int c_keyval(int keyval);

// An argument of a procedure of the program. The cell is wide, because its INTEGERs may be.
class Cell {
 public:
  explicit Cell(int value) : value_(value) {}
  operator int*() { return reinterpret_cast<int*>(&value_); }
  int low() const { return static_cast<int>(value_); }
  // As many bytes as the program's INTEGERs have.
  MPI_Aint integer() const { return wide_integers() ? value_ : low(); }

 private:
  std::int64_t value_;
};

}  // namespace hawser::fortran
