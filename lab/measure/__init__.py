# SPDX-License-Identifier: GPL-2.0
"""What a run has given: reading it, and its numbers."""
