# SPDX-License-Identifier: GPL-2.0
"""What is written for people, from stored numbers alone.

results.py makes docs/results.md, with advice.py (which one should I use) and costs.py (what a
packet costs); kernels.py docs/kernels.md; readme.py the numbers in README.md; __main__.py tells
whether all are up to date.
paper_pictures.py draws the figures of the papers, experiment_pictures.py experiments, in what
looks.py gives a qdisc, as the SVG of svg.py. stored.py reads and writes the CSVs.
"""
