"""The code for one parameter of an entry point: how it is decoded, checked, handed to the core, and encoded."""

from kinds import KINDS

HANDLE_CLASSES = {"comm": "Communicator", "group": "Group", "type": "Datatype", "op": "Operator",
                  "errhandler": "ErrorHandler", "session": "Session", "info": "Info", "comm_optional": "Communicator",
                  "group_optional": "Group", "win": "Window"}


class ParameterCode:
    def __init__(self, entry, parameter):
        self.entry, self.parameter = entry, parameter
        self.kind = KINDS[parameter.kind]
        self.name, self.direction = parameter.name, parameter.direction
        self.present = parameter.in_form(entry.large)
        self.owner = entry.owner

    # --- helpers ---

    def length(self):
        """The C++ expression of an array's length."""
        text = self.parameter.length
        if text == "size":
            return f"{self.owner}->peer_count()"
        if text == "local_size":
            return f"{self.owner}->size()"
        if text in ("indegree", "outdegree") and not self.entry.function.find_name(text):
            return f"neighbor_{text}(*{self.owner})"
        return text

    def owner_before(self):
        """Errors in the communicator itself belong to nobody."""
        return "nullptr" if f"{self.name}_" == self.owner else self.owner

    def translation(self, way):
        return f"{way}_{self.parameter.kind}"

    def call(self, method):
        return getattr(self, f"{method}_{self.kind.group}", None)

    # --- before the core is called ---

    def decode(self):
        if not self.present:
            return self.decode_absent()
        method = self.call("decode")
        return self.array_check() + (method() if method else [])

    # Arrays that may be null whatever their length: constants stand for them, or they are not significant.
    MAY_BE_NULL = ("status", "weights", "argv")

    def array_check(self):
        """An array of a known length that is a null pointer, and one that is longer than memory. The counts of
        buffers are checked with their datatypes."""
        parameter, name = self.parameter, self.name
        if not parameter.array or self.kind.group in self.MAY_BE_NULL or parameter.length == "*" \
                or parameter.kind == "error_code" or (self.kind.group == "number" and self.entry.measures(parameter)):
            return []
        used = self.entry.used(parameter)
        condition = f"{used} && " if used else ""
        lines = [f"  if ({name} == nullptr && {condition}{self.length()} > 0) [[unlikely]] "
                 f'return entry.null_argument({self.owner}, "{name}");']
        length = self.entry.function.find_name(parameter.length)
        if self.entry.large and length is not None and length.kind == "count" and self.direction == "in":
            lines.append(f"  if ({length.name} > longest_array) [[unlikely]] "
                         f'return entry.no_such_array({self.owner}, "{length.name}", {length.name}, "{name}");')
        return lines

    def decode_absent(self):
        """What only the large-count form has."""
        if self.parameter.writes and not self.parameter.array:
            return [f"  std::int64_t {self.name}_ = 0;"]
        return []

    def decode_number(self):
        if self.parameter.array or self.direction == "in":
            return []
        start = f"*{self.name}" if self.direction == "inout" else "0"
        return [*self.null_check(), f"  std::int64_t {self.name}_ = {start};"]

    def null_check(self):
        return [f"  if ({self.name} == nullptr) [[unlikely]] "
                f'return entry.null_argument({self.owner_before()}, "{self.name}");']

    def decode_int(self):
        return self.null_check() if self.parameter.writes and not self.parameter.array else []

    def decode_translated(self):
        name, parameter = self.name, self.parameter
        if parameter.array:
            if self.direction == "in":
                return [f"  Translated<{self.translation('to_core')}> {name}_({name}, {self.length()});"]
            return []
        if self.direction == "in":
            lines = [f"  const int {name}_ = {self.translation('to_core')}({name});"]
            return lines + (self.check_root() if parameter.kind == "root" else [])
        start = f"{self.translation('to_core')}(*{name})" if self.direction in ("free", "inout") else "0"
        return [*self.null_check(), f"  int {name}_ = {start};"]

    def check_root(self):
        return [f"  if (!Entry::good_root(*{self.owner}, {self.name}_)) [[unlikely]] "
                f'return entry.bad_rank({self.owner}, "root", {self.name}_);']

    def decode_logical(self):
        if self.parameter.array or self.direction == "in":
            return []
        return [*self.null_check(), f"  bool {self.name}_ = false;"]

    def decode_buffer(self):
        name, lines = self.name, []
        if self.parameter.kind == "buffer_place":
            const = "const " if self.direction == "in" else ""
            lines.append(f"  {const}void* const {name}_ = place_to_core({name});")
        conditions = self.entry.conditions(self.parameter)
        if conditions:
            lines.append(f"  [[maybe_unused]] const bool {name}_used = {' && '.join(conditions)};")
        return lines

    def decode_handle(self):
        name, parameter = self.name, self.parameter
        type_name = HANDLE_CLASSES[parameter.kind]
        flag = self.entry.used(parameter)
        if parameter.array:
            return self.decode_handle_array(type_name, flag)
        if self.direction in ("out", "out_later"):
            return [*self.null_check(), f"  Ref<{type_name}> {name}_;"]
        lines = self.null_check() if parameter.writes else []
        handle = f"*{name}" if parameter.writes else name
        if "names_null" in self.entry.function.flags:
            lines = self.name_of_null()
        find = f"entry.find<{type_name}>({handle})"
        if flag:
            find = f"{flag} ? {find} : entry.any<{type_name}>()"
        no_peer = self.entry.no_peer(parameter)
        if no_peer:
            return lines + self.decode_type_for_peer(find, no_peer)
        lines.append(f"  {type_name}* const {name}_ = {find};")
        lines.append(f"  if ({name}_ == nullptr) [[unlikely]] return entry.bad_handle<{type_name}>"
                     f'({self.owner_before()}, "{name}", {handle});')
        return lines

    def name_of_null(self):
        """Of MPI_COMM_NULL and its like (MPI-5.0 section 7.8)."""
        null = self.kind.c.replace("MPI_Datatype", "MPI_DATATYPE").upper() + "_NULL"
        text, length = (self.entry.function.find(kind).name for kind in ("text", "resultlen"))
        return [f"  if ({self.name} == {null}) [[unlikely]] "
                f'return entry.name_of_null("{null}", {text}, {length});']

    def decode_type_for_peer(self, find, no_peer):
        """The null datatype is let pass where there are no data, because nobody is there."""
        name = self.name
        return [f"  Datatype* {name}_ = {find};",
                f"  if ({name}_ == nullptr) [[unlikely]] {{",
                f"    if (!({no_peer} && Entry::is_null<Datatype>({name})))",
                f'      return entry.bad_handle<Datatype>({self.owner}, "{name}", {name});',
                f"    {name}_ = entry.any<Datatype>();",
                "  }"]

    def decode_handle_array(self, type_name, flag):
        name = self.name
        if self.direction == "out":
            return [f"  GivenObjects<{type_name}> {name}_(given_length(*datatype_, {self.length()}));"]
        length = f"{flag} ? {self.length()} : 0" if flag else self.length()
        return [f"  Objects<{type_name}> {name}_(entry, {name}, {length});",
                f"  if ({name}_.bad() >= 0) [[unlikely]] return entry.bad_handle<{type_name}>"
                f'({self.owner}, "{name}", {name}[{name}_.bad()]);']

    def decode_handle_or_null(self):
        name, type_name = self.name, HANDLE_CLASSES[self.parameter.kind]
        if self.direction == "out":
            return [*self.null_check(), f"  Ref<{type_name}> {name}_;"]
        if self.direction == "free" or self.entry.function.chapter == "info":
            return self.decode_handle()
        if self.parameter.array:
            return [f"  Objects<{type_name}> {name}_(entry, {name}, {self.length()});"]
        if self.parameter.kind in ("comm_optional", "group_optional"):
            return [f"  {type_name}* const {name}_ = entry.find<{type_name}>({name});"]
        return [f"  {type_name}* {name}_ = nullptr;",
                f"  if (!entry.find_info({name}, {name}_)) [[unlikely]] "
                f'return entry.bad_handle<{type_name}>({self.owner}, "{name}", {name});']

    def decode_request(self):
        name = self.name
        if self.parameter.array:
            return [f"  if ({self.length()} < 0) [[unlikely]] "
                    f'return entry.negative({self.owner}, "{self.length()}", {self.length()});',
                    f"  Requests {name}_(entry, {name}, {self.length()});",
                    f"  if ({name}_.bad() >= 0) [[unlikely]] return entry.bad_handle<Request>"
                    f'({self.owner}, "{name}", {name}[{name}_.bad()]);']
        if self.direction == "out":
            return [*self.null_check(), f"  Request* {name}_ = nullptr;"]
        lines = self.null_check() if self.parameter.writes else []
        handle = f"*{name}" if self.parameter.writes else name
        return lines + [f"  Request* {name}_ = nullptr;",
                        f"  if (!entry.find_request({handle}, {name}_)) [[unlikely]] "
                        f'return entry.bad_handle<Request>({self.owner}, "{name}", {handle});']

    def decode_message(self):
        name = self.name
        lines = [*self.null_check(), f"  Message* {name}_ = nullptr;"]
        if self.direction == "inout":
            lines.append(f"  if (!entry.claim_message(*{name}, {name}_)) [[unlikely]] "
                         f'return entry.bad_handle<Message>({self.owner}, "{name}", *{name});')
        return lines

    def decode_status(self):
        name = self.name
        if self.parameter.array:
            return [f"  Statuses {name}_({name}, {self.length()});"]
        if self.direction == "out":
            return [f"  Status {name}_ = Status::empty();"]
        return [f"  if (ignored({name})) [[unlikely]] return entry.null_argument({self.owner}, \"{name}\");",
                f"  Status {name}_;", f"  read_status(*{name}, {name}_);"]

    def decode_string(self):
        return self.null_check()

    def decode_text(self):
        lines = [f"  std::string {self.name}_;"]
        length = self.entry.function.find_name(self.parameter.length)
        if length is not None and length.direction == "inout":
            lines += [f"  const std::int64_t {self.name}_capacity = *{length.name};",
                      f"  if ({self.name} == nullptr && {self.name}_capacity > 0) [[unlikely]] "
                      f'return entry.null_argument({self.owner_before()}, "{self.name}");']
        else:
            lines += self.null_check()
        return lines

    def decode_pointer(self):
        return [*self.null_check(), f"  void* {self.name}_ = nullptr;"] if self.parameter.writes else []

    decode_attribute = decode_pointer
    decode_resultlen = null_check

    # --- checks that a knob can switch off ---

    def checks(self):
        name, kind = self.name, self.parameter.kind
        if not self.present or self.direction != "in" or self.parameter.array:
            return []
        if kind in ("count", "length"):
            if name in self.entry.implied() or self.entry.measures(self.parameter):
                return []
            flag = self.entry.used(self.parameter) if kind == "count" else None
            condition = f"{flag} && " if flag else ""
            return [f"  if ({condition}{name} < 0) [[unlikely]] "
                    f'return entry.negative({self.owner}, "{name}", {name});']
        tests = {"dest": f"{name}_ != proc_null",
                 "source": f"{name}_ != any_source && {name}_ != proc_null"}
        if kind in tests and self.owner != "nullptr":
            return [f"  if (!Entry::is_peer(*{self.owner}, {name}_) && {tests[kind]}) [[unlikely]] "
                    f'return entry.bad_rank({self.owner}, "{name}", {name}_);']
        if kind in ("tag", "tag_any") and self.owner != "nullptr":
            any_tag = f" && {name}_ != any_tag" if kind == "tag_any" else ""
            return [f"  if ({name}_ < 0{any_tag}) [[unlikely]] "
                    f'return entry.bad_tag({self.owner}, "{name}", {name}_);']
        return []

    # --- the argument ---

    def argument(self):
        name, parameter, group = self.name, self.parameter, self.kind.group
        if not self.present:
            return "nullptr" if parameter.array else (f"{name}_" if parameter.writes else "0")
        if group == "number":
            if not parameter.array:
                return f"{name}_" if parameter.writes else name
            return f"IntegerArray({name})" if self.direction == "in" else f"wide({name})"
        if group == "int":
            return f"*{name}" if parameter.writes and not parameter.array else name
        if group == "translated":
            if parameter.array:
                return f"{name}_.data()" if self.direction == "in" else name
            return f"{name}_"
        if group == "logical":
            if parameter.array:
                return name
            return f"{name} != 0" if self.direction == "in" else f"{name}_"
        if group == "handle":
            if parameter.array:
                return f"{name}_.span()"
            return f"{name}_" if self.direction in ("out", "out_later") else f"*{name}_"
        if group == "handle_or_null":
            return f"{name}_.span()" if parameter.array else self.info_argument()
        if group == "status":
            return self.status_argument()
        return self.other_argument(group)

    def info_argument(self):
        return f"*{self.name}_" if self.direction == "free" else f"{self.name}_"

    def status_argument(self):
        name = self.name
        if self.parameter.array:
            return f"{name}_.data()"
        return f"ignored({name}) ? nullptr : &{name}_" if self.direction == "out" else f"{name}_"

    def other_argument(self, group):
        name, parameter = self.name, self.parameter
        if group == "buffer":
            if parameter.kind == "buffer_auto":
                return f"automatic_to_core({name})"
            return f"{name}_" if parameter.kind == "buffer_place" else name
        if group == "request":
            return f"{name}_.span()" if parameter.array else f"{name}_"
        if group in ("message", "text"):
            return f"{name}_"
        if group in ("pointer", "attribute"):
            return f"{name}_" if parameter.writes else name
        if group == "weights":
            return f"weights_to_core({name})"
        if group == "function":
            text = f"reinterpret_cast<AbiFunction>({name})"
            return f"copy_function_to_core({text})" if parameter.kind.endswith("copy") else text
        return name

    # --- after the core was called ---

    def finish_on_error(self):
        """Statuses and requests are shown also after an error: it may be in one of them, and then the flag of a
        test says that it is complete. An object that was not made has the null handle."""
        name, group = self.name, self.kind.group
        if group == "logical" and self.direction == "out" and not self.parameter.array:
            return self.finish_logical() if self.entry.function.chapter == "request" else []
        if group == "handle" and self.direction == "out" and not self.parameter.array:
            return [f"  *{name} = Codec<{HANDLE_CLASSES[self.parameter.kind]}>::handle(0);"]
        if group == "request" and self.direction == "inout":
            return self.finish_request()
        if group == "status" and self.direction == "out":
            if self.parameter.array:
                return [f"  {name}_.write({name}, {self.status_count()}, "
                        "error_class_of(outcome.result.error()) == ErrorClass::in_status);"]
            return [f"  if (!ignored({name})) write_status(*{name}, {name}_);"]
        if group == "message" and self.direction == "inout":
            return self.finish_message()
        return []

    def finish(self):
        if not self.present:
            return [f"  if ({self.name}_ != 0) [[unlikely]] "
                    f'return entry.too_large({self.owner}, "{self.name}", {self.name}_);'] \
                if self.parameter.writes and not self.parameter.array else []
        method = self.call("finish")
        return method() if method and self.parameter.writes else []

    def finish_number(self):
        name = self.name
        if self.parameter.array:
            return []
        if "lenient" in self.entry.function.flags:
            return [f"  store_or_undefined({name}, {name}_);"]
        return [f"  if (!store({name}, {name}_)) [[unlikely]] "
                f'return entry.too_large({self.owner}, "{name}", {name}_);']

    def finish_translated(self):
        name = self.name
        if self.parameter.array:
            return [f"  translate_back<{self.translation('from_core')}>({name}, {self.length()});"]
        if self.direction == "free":
            return [f"  *{name} = MPI_KEYVAL_INVALID;"]
        return [f"  *{name} = {self.translation('from_core')}({name}_);"]

    def finish_int(self):
        if self.parameter.kind == "contents":
            return [f"  contents_from_core(*datatype_, {self.name}, {self.length()});"]
        return []

    def finish_logical(self):
        return [] if self.parameter.array else [f"  *{self.name} = {self.name}_;"]

    def finish_handle(self):
        name, type_name = self.name, HANDLE_CLASSES[self.parameter.kind]
        if self.parameter.array:
            return [f"  {name}_.write(entry, {name});"]
        if self.direction == "free":
            return [f"  entry.take_back<{type_name}>({name}, *{name}_);"]
        return [] if self.direction == "inout" else [f"  *{name} = entry.give({name}_.get());"]

    finish_handle_or_null = finish_handle

    def finish_request(self):
        name = self.name
        if self.parameter.array:
            return [f"  {name}_.write_back({name});"]
        if self.direction == "out":
            return [f"  *{name} = entry.give({name}_);"]
        return [f"  if ({name}_ == nullptr) *{name} = MPI_REQUEST_NULL;"]

    def finish_message(self):
        flag = self.entry.function.find_name("flag")
        return [f"  {'if (flag_) ' if flag is not None else ''}*{self.name} = entry.give({self.name}_);"]

    def status_count(self):
        function = self.entry.function
        if function.find_name("outcount") is not None:
            return "*outcount"
        return f"flag_ ? {self.length()} : 0" if function.find_name("flag") is not None else self.length()

    def finish_status(self):
        name = self.name
        if self.parameter.array:
            return [f"  {name}_.write({name}, {self.status_count()}, false);"]
        if self.direction == "inout":
            return [f"  write_status(*{name}, {name}_);",
                    f"  {name}->MPI_ERROR = from_core_error_code(static_cast<int>({name}_.error));"]
        flag = "flag_ && " if self.entry.function.find_name("flag") is not None else ""
        return [f"  if ({flag}!ignored({name})) write_status(*{name}, {name}_);"]

    def finish_text(self):
        name, length = self.name, self.entry.function.find("resultlen")
        written = self.entry.function.find_name(self.parameter.length)
        inout = written is not None and written.direction == "inout"
        capacity = f"{name}_capacity" if inout else self.parameter.length
        flag = "if (flag_) " if self.entry.function.find_name("flag") is not None else ""
        out = f"*{length.name} = " if length is not None else ""
        return [f"  {flag}{out}copy_text({name}, {capacity}, {name}_);"]

    def finish_pointer(self):
        value = f"{self.name}_"
        if self.parameter.name == "buffer_addr":
            value = f"automatic_from_core({value})"
        return [f"  *static_cast<void**>({self.name}) = {value};"]

    def finish_attribute(self):
        keyval = self.entry.function.find("keyval").name
        return [f"  if (flag_) *static_cast<void**>({self.name}) = attribute_from_core({keyval}, {self.name}_);"]
