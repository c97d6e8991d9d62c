# SPDX-License-Identifier: GPL-2.0
"""syzkaller's descriptions of what the kinds are told by netlink: shortfirst.txt beside this, of
the headers pkt_*.h and of the options' tables.

    python3 -m selftests.syzkaller.generate >selftests/syzkaller/shortfirst.txt
"""

from python import uapi
from selftests.lib.options import KINDS, Option, of

HEAD = """\
# SPDX-License-Identifier: GPL-2.0
# Made by selftests/syzkaller/generate.py of the headers pkt_*.h; no syzkaller has run it.
#
# For those who have one: copy sch_*/pkt_*.h and include/shortfirst/ to include/ of a kernel that
# has the modules, this file to sys/linux/ of syzkaller, and let syz-extract find the numbers.
# It builds on socket_netlink.txt and socket_netlink_route_sched.txt there; what is above, below
# and beside our qdiscs is in the latter.

include <linux/net.h>
include <uapi/linux/netlink.h>
include <uapi/linux/rtnetlink.h>
include <uapi/linux/pkt_sched.h>
{includes}

{call}

shortfirst_msg [
	newqdisc	netlink_msg[RTM_NEWQDISC, shortfirst_tcmsg, shortfirst_qdisc]
	delqdisc	netlink_msg[RTM_DELQDISC, shortfirst_tcmsg, shortfirst_qdisc]
	getqdisc	netlink_msg[RTM_GETQDISC, shortfirst_tcmsg, nlattr[TCA_DUMP_INVISIBLE, void]]
	newtclass	netlink_msg[RTM_NEWTCLASS, shortfirst_tcmsg, shortfirst_class]
	deltclass	netlink_msg[RTM_DELTCLASS, shortfirst_tcmsg, shortfirst_class]
	gettclass	netlink_msg[RTM_GETTCLASS, shortfirst_tcmsg, void]
	newtfilter	netlink_msg[RTM_NEWTFILTER, shortfirst_tcmsg, filter_policy]
	deltfilter	netlink_msg[RTM_DELTFILTER, shortfirst_tcmsg, filter_policy]
] [varlen]

shortfirst_tcmsg {{
	family		const[AF_UNSPEC, int8]
	ifindex		ifindex
	handle		shortfirst_handle
	parent		shortfirst_handle
	info		tcm_handle
}}

# Classes: those that filters name, hosts, and flows
shortfirst_handle {{
	minor	flags[shortfirst_minors, int16]
	major	flags[tcm_handle_offsets, int16]
}}

shortfirst_minors = 0, 1, 2, 0x4000, 0x4001, 0x4002, 0x8000, 0x8001, 0xffff

shortfirst_qdisc [
	kind_options	shortfirst_kind_options
	TCA_RATE	nlattr[TCA_RATE, tc_estimator]
	TCA_STAB	nlattr[TCA_STAB, array[stab_policy]]
] [varlen]

type shortfirst_kind[NAME, VALUES] {{
	TCA_KIND	nlattr[TCA_KIND, string[NAME]]
	TCA_OPTIONS	nlnest[TCA_OPTIONS, array[VALUES]]
}}

# They are only told, but who knows what is sent
shortfirst_class [
	TCA_OPTIONS	nlnest[TCA_OPTIONS, array[shortfirst_class_options]]
] [varlen]
"""
CALL = (
    "sendmsg$nl_route_shortfirst(fd sock_nl_route, msg ptr[in, msghdr_netlink[shortfirst_msg]],"
    " f flags[send_flags])"
)
INTS = {"u8": "int8", "u16": "int16", "u32": "int32", "s32": "int32", "u64": "int64"}
TOLD = {**INTS, "be16": "int16be", "address": "array[int8, 4:16]", "pad": "void"}


WHOLE = {"u64": (1 << 64) - 1, "u32": (1 << 32) - 1}  # what is as good as no range


def union(name: str, members: list[tuple[str, str]]) -> str:
    """Of attributes"""
    lines = [f"\t{member}\tnlattr[{member}, {what}]" for member, what in members]
    return "\n".join([f"{name} [", *lines, "] [varlen]"])


def powers(option: Option) -> str:
    """Of what takes memory from the beginning not all"""
    least, most = option.least.bit_length() - 1, option.most.bit_length() - 1
    step = 4 if option.fixed else 1
    return ", ".join(str(1 << n) for n in [*range(least, most, step), most])


def value(kind: str, option: Option, attribute: uapi.Attribute) -> str:
    """What is good, and of what is not a few: syzkaller makes others of them by itself."""
    size = INTS[attribute.type]
    if option.power:
        return f"flags[shortfirst_{kind}_{option.name}, {size}]"
    least = 0 if option.zero else option.least
    if option.most >= WHOLE.get(attribute.type, 1 << 64):
        return size
    return f"{size}[{least}:{option.most}]"


def of_kind(kind: str) -> str:
    table = {option.number: option for option in of(kind).options}
    members, found = [], []
    for attribute in uapi.options(kind):
        if option := table.get(attribute.number):
            members.append((attribute.name, value(kind, option, attribute)))
            if option.power:
                found.append(f"shortfirst_{kind}_{option.name} = {powers(option)}")
        elif attribute.type == "pad":
            members.append((attribute.name, "void"))
    return "\n".join([union(f"shortfirst_{kind}_options", members), "", *found])


def descriptions() -> str:
    includes = [f"include <pkt_{kind}.h>" for kind in KINDS] + ["include <shortfirst/pkt_class.h>"]
    kinds = [f'\t{k}\tshortfirst_kind["{k}", shortfirst_{k}_options]' for k in KINDS]
    told = [(each.name, TOLD[each.type]) for each in uapi.class_attributes() if each.number]
    parts = [
        HEAD.format(call=CALL, includes="\n".join(includes)),
        "\n".join(["shortfirst_kind_options [", *kinds, "] [varlen]"]) + "\n",
        *(of_kind(kind) + "\n" for kind in KINDS),
        union("shortfirst_class_options", told) + "\n",
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    print(descriptions(), end="")
