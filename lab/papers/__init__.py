# SPDX-License-Identifier: GPL-2.0
"""A room for each paper: what its article says, its rows and panels, and its model curves."""
