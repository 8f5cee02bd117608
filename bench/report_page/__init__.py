"""What bench/report is made of: measure runs the benchmarks, a module for each section draws it."""
