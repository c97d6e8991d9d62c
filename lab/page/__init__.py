# SPDX-License-Identifier: GPL-2.0
"""docs/results.md: tables, pictures, advice."""
