# SPDX-License-Identifier: GPL-2.0
"""The qdiscs that are compared, by the name of their list: `include` in an experiment's file."""

BUFFER = "{buffer}"  # what network.buffer is, in packets
RATE = "{rate}"  # what network.rate is: a qdisc that is told shapes by itself, without HTB
LISTS = {
    "peers": {
        "pfifo": f"pfifo limit {BUFFER}",
        "fq_codel": "fq_codel",
        "cake": "cake besteffort flows",
        "fq": "fq",
        "sfq": "sfq",
        "hhf": "hhf",
    },
    "ours": {"las": "las", "sqf": "sqf", "sift": "sift", "run2c": "run2c"},
    # Is told the sizes
    "oracle": {"srpt": "srpt"},
}
OURS = tuple(LISTS["ours"])
_NAMES = tuple(LISTS["peers"])
# cake-rate is cake where it shapes by itself; fq_pie is beside others in some experiments only
PEERS = (*_NAMES[:3], "cake-rate", *_NAMES[3:], "fq_pie")
ORACLE = tuple(LISTS["oracle"])
FLOOR = "floor"  # in a qdisc's place: each download alone
