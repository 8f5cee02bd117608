// The attributes of datatypes: kept in the type as an object that only this file knows, because datatype/
// lies below communicator/.
#pragma once

#include "communicator/attribute.h"
#include "datatype/datatype.h"

namespace hawser {

struct TypeAttributes final : Counted {
  AttributeSet set;
};

// The type's attributes, made at first use.
inline AttributeSet& attributes_of(Datatype& type) {
  if (!type.attributes) type.attributes = make_counted<TypeAttributes>();
  return static_cast<TypeAttributes*>(type.attributes.get())->set;
}

}  // namespace hawser
