# SPDX-License-Identifier: GPL-2.0
"""Experiments with the kinds and others, and what the papers say of them."""
