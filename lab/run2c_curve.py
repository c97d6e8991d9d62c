# SPDX-License-Identifier: GPL-2.0
"""The demo's downloads (D1) under run2c: how the slowdown goes by its options.

    threshold   the rank from which on segments are low; hosts do not play along, so with `learn`
    order       by rank in one queue, which has no threshold
    default     run2c as it is, and las

What is measured, and what beside each, is in curve.py.
"""

from curve import Curve

curve = Curve(
    "run2c",
    {
        "threshold": [f"threshold {size}k" for size in (4, 8, 16, 32, 64, 128, 256)],
        "order": ["order"],
        "default": [""],
    },
    most=0.5,
)
