#!/usr/bin/env python3
"""Stands for tests that were not built because a program was missing when CMake ran.  Usage: needs.py PROGRAM..."""
import sys

from cases import leave, missing

leave(missing(*sys.argv[1:]) or f"{' '.join(sys.argv[1:])}: installed since; run CMake again, so that its tests are built")
