// The values behind the predefined attributes of communicators (MPI-5.0 section 9.1.2). A program is given
// their addresses, so they live as long as the process.
#pragma once

#include "communicator/attribute.h"
#include "launch/bootstrap.h"
#include "message/status.h"
#include "process/error_codes.h"

namespace hawser {

class PredefinedAttributes {
 public:
  explicit PredefinedAttributes(ErrorCodes& codes) : codes_(codes) {}

  void set(const JobLayout& layout) {
    universe_size_ = layout.universe_size;
    app_number_ = layout.app_number;
  }

  // The address of the value of a predefined keyval; null when it is none, or (`known` set) has no value
  // here.
  void* find(int keyval, bool& known) {
    known = true;
    switch (keyval) {
      case predefined_keyval::tag_ub:
        return &tag_ub_;
      case predefined_keyval::io:
        return &io_;
      case predefined_keyval::host:
        return &host_;
      case predefined_keyval::wtime_is_global:
        return &wtime_is_global_;
      case predefined_keyval::universe_size:
        return universe_size_ > 0 ? &universe_size_ : nullptr;
      case predefined_keyval::appnum:
        return app_number_ >= 0 ? &app_number_ : nullptr;
      case predefined_keyval::lastusedcode:
        return codes_.last_used_address();
      default:
        known = false;
        return nullptr;
    }
  }

 private:
  ErrorCodes& codes_;
  int tag_ub_ = tag_upper_bound;
  int io_ = any_source;  // every process can do standard input and output
  int host_ = proc_null;
  int wtime_is_global_ = 0;
  int universe_size_ = 0;
  int app_number_ = -1;
};

}  // namespace hawser
