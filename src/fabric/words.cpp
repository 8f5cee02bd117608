#include "fabric/words.h"

namespace hawser::fabric {

std::vector<std::string> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::size_t position = 0;
  while (true) {
    position = line.find_first_not_of(" \t\r\n", position);
    if (position == std::string_view::npos || line[position] == '#') return words;
    std::size_t end = line.find_first_of(" \t\r\n", position);
    if (end == std::string_view::npos) end = line.size();
    words.emplace_back(line.substr(position, end - position));
    position = end;
  }
}

}  // namespace hawser::fabric
