# SPDX-License-Identifier: GPL-2.0
"""The demo's downloads (D1) under sift: how the slowdown goes by its options.

    probability   of a packet's bytes, with what the defaults are else
    packets       the same without regard to their size
    samples       as many packets on average up to the last sample: T times the probability
    slow          what a flow has to be faster than to be sent low; 0 is the article's
    buffer        what may wait in both bands together
    low           what may wait in the low band, and no other bound
    article       probabilities of a packet, with slow 0 and 500 ms of buffer
    default       sift as it is, and las

What is measured, and what beside each, is in curve.py.
"""

from curve import Curve

PROBABILITIES = (0.03, 0.1, 0.2, 0.3, 0.5, 1)
curve = Curve(
    "sift",
    {
        "probability": [f"probability {p}" for p in PROBABILITIES],
        "packets": [f"probability {p} packets" for p in PROBABILITIES],
        "samples": [f"probability {round(0.3 * t, 1)} samples {t}" for t in (1, 2, 3)],
        "slow": [f"slow {rate}" for rate in ("0", "72kbit", "144kbit", "288kbit", "576kbit")],
        "buffer": [f"buffer {ms}ms" for ms in (15, 30, 60, 125, 250, 500)],
        "low": [f"low {packets} buffer 0" for packets in (25, 50, 100, 200)],
        "article": [f"probability {p} packets slow 0 buffer 500ms" for p in PROBABILITIES],
        "default": [""],
    },
)
