# SPDX-License-Identifier: GPL-2.0
"""What is written for people, from stored numbers alone.

results.py makes docs/results.md and the pages in docs/results/: with front.py the first, with
comparisons.py one for each comparison, with advice.py which kind to use, with costs.py and pace.py
what a packet costs and how exactly a rate is kept, and itself one for each paper; readme.py makes
the tables in README.md. stated.py tells whether what README.md and the man pages state is so,
__main__.py whether all is up to date.
paper_pictures.py draws the figures of the papers, experiment_pictures.py experiments,
summary_pictures.py many of these at once, in what looks.py gives a qdisc, as the SVG of svg.py.
stored.py reads and writes the CSVs.
"""
