"""What bench/report is made of: measure (runs the benchmarks), a module for each section of the page, charts, page."""
