# SPDX-License-Identifier: GPL-2.0
"""A room for each paper: its rows, panels and model curves."""
