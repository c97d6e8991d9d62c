# SPDX-License-Identifier: GPL-2.0
"""What python3 -m lab does."""
