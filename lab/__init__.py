# SPDX-License-Identifier: GPL-2.0
"""Experiments with the kinds and others, and what the papers say of them.

experiments/ has what is run, a file for each, run/ makes runs of it, and guest/ is what a machine
gets for one. measure/ makes numbers of what it has written: formulas.py has how one comes from
flows, numbers.py has all of them by their names. papers/ has a room for each paper, models/ its
theory, and page/ what is written and drawn. commands/ is what make calls.
"""
