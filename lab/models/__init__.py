# SPDX-License-Identifier: GPL-2.0
"""What the theory of the papers gives: response times, sampled flows, and rates of long flows."""
