// What C++ keeps for a process: objects with destructors, variables of a thread, exceptions under way,
// its streams.
#include <mpi.h>

#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {
int rank = -1;
struct Registry {
  std::map<std::string, int> numbers{{"made", 1}};
  ~Registry() { std::cout << rank << ": destructor " << numbers["rank"] << "\n"; }
} registry;
thread_local int number = 7;
thread_local std::string text = "x";
int& once() {
  static int value = [] { return 40; }();
  return value;
}
void others() { MPI_Barrier(MPI_COMM_WORLD); }

std::string caught() {
  try {
    others();
    if (rank % 2 != 0) throw std::runtime_error("thrown by " + std::to_string(rank));
    std::vector<int>(3).at(5);
  } catch (const std::exception& error) {
    others();  // other ranks' exceptions are under way meanwhile
    try {
      throw;
    } catch (const std::logic_error&) {
      return "logic error";
    } catch (const std::exception& again) {
      return again.what();
    }
  }
  return "nothing";
}
}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  registry.numbers["rank"] = rank;
  number += rank;
  once() += rank;
  text += std::to_string(rank);
  if (rank == 1) std::cout << std::hex;
  others();
  std::cout << rank << ": variables " << number << ' ' << once() << ' ' << text << std::endl;
  std::cout << rank << ": hex " << 255 << std::dec << std::endl;
  const std::string what = caught();
  std::cout << rank << ": caught " << what << "\n";
  const auto before = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  const auto slept = std::chrono::steady_clock::now() - before;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(slept).count();
  std::cout << rank << ": slept " << us << "\n";
  MPI_Finalize();
}
