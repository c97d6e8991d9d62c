# SPDX-License-Identifier: GPL-2.0
"""A plain simulation of one link that serves flows by a policy, to check formulas against.

Sizes and thresholds in any one unit, the link sends one unit per second, times in seconds.
"""

import math

import numpy as np

NEXT_TO_NOTHING = 1e-9


class Flow:
    def __init__(self, index: int, size: float, end: float) -> None:
        self.index = index
        self.left = size
        self.end = end  # of fair: when it would under ps
        self.got = 0.0


def served(policy: str, flows: list[Flow], threshold: float) -> tuple[list[Flow], float]:
    """Who shares the link, and how much each may get until that changes by itself."""
    if policy == "fifo":
        return flows[:1], math.inf
    if policy == "ps":
        return flows, math.inf
    if policy == "srpt":
        return [min(flows, key=lambda flow: flow.left)], math.inf
    if policy == "fair":
        return [min(flows, key=lambda flow: flow.end)], math.inf
    if policy == "las":
        least = min(flow.got for flow in flows)
        first, others = [], math.inf
        for flow in flows:
            if flow.got <= least + NEXT_TO_NOTHING:
                first.append(flow)
            else:
                others = min(others, flow.got)
        return first, others - least
    if policy == "ps+ps":
        first = [flow for flow in flows if flow.got < threshold - NEXT_TO_NOTHING]
        if not first:
            return flows, math.inf
        return first, threshold - max(flow.got for flow in first)
    raise ValueError(f"no policy {policy!r}")


def responses(
    policy: str, starts: np.ndarray, sizes: np.ndarray, threshold: float = 0
) -> np.ndarray:
    """Response times of flows that arrive at these times, in order, with these sizes > 0.

    The policies are fifo, ps, las, srpt, fair (who would end first under ps) and ps+ps, which takes
    the threshold.
    """
    fair = policy == "fair"
    ranks = starts + responses("ps", starts, sizes) if fair else np.zeros(len(starts))
    ends = np.empty(len(starts))
    flows: list[Flow] = []
    now, coming = 0.0, 0
    arrivals, work = [*starts.tolist(), math.inf], sizes.tolist()
    while flows or coming < len(work):
        if not flows:
            now = arrivals[coming]
        if now >= arrivals[coming]:
            flows.append(Flow(coming, work[coming], float(ranks[coming])))
            coming += 1
            continue
        share, change = served(policy, flows, threshold)
        until = (arrivals[coming] - now) / len(share)
        amount = min(until, change, min(flow.left for flow in share))
        for flow in share:
            flow.left -= amount
            flow.got += amount
        done = [flow for flow in share if flow.left <= NEXT_TO_NOTHING]
        for flow in done:
            ends[flow.index] = now + amount * len(share)
        if done:
            flows = [flow for flow in flows if flow not in done]
        now = arrivals[coming] if amount == until else now + amount * len(share)
    return ends - starts
