#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Hosts behind masquerading, found by the addresses that they have at home:
#
#	nat.sh KIND
#
#   netns snd             netns rtr                               netns rcv
#   s0 ------------------ r0     r1 ------------------------------ c0
#   10.0.1.1, 10.0.1.3           htb 1: -- 1:1 -- KIND 10:, `nat`  servers
#                                ifb0: what comes in by r1, the same
#
# (addresses: selftests/lib/net.sh; what goes out by r1 over IPv4 is from 10.0.2.2)

# shellcheck source-path=SCRIPTDIR disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh
. ../lib/net.sh
takes=5001 # ports of the two servers
gives=5002
kind=$1
bytes=$(fillable 150000 60000)

masquerade() {
	ip netns exec rtr nft -f - <<-EOF
		table ip home {
			chain out {
				type nat hook postrouting priority srcnat;
				oifname "r1" masquerade;
			}
		}
	EOF
}

# Packets of established connections go from the ingress of a device to the other one, past conntrack.
# Those that a filter has sent to ifb0 do not: when they come back, the kernel skips the hook at ingress.
flowtable() {
	ip netns exec rtr nft -f - <<-EOF
		table ip fast {
			flowtable home {
				hook ingress priority 0; devices = { r0, r1 };
			}
			chain through {
				type filter hook forward priority 0;
				meta l4proto tcp flow add @home
				iifname r0 counter
			}
		}
	EOF
}

# Of what leaves, only the first and last packets of connections were forwarded the long way.
offloaded() {
	local shown

	shown=$(ip netns exec rtr nft list chain ip fast through)
	echo "$shown"
	[[ $shown =~ bytes\ ([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -lt "$bytes" ]
}

# What is not of that protocol, as ARP and the end of what was before, would be another host: it goes
# ahead of the class.
bottleneck() { # DEVICE PROTOCOL OPTIONS...
	local dev=$1 only="match ip protocol 6 0xff"

	[ "$2" = ip ] || only="match ip6 protocol 6 0xff"
	tc -n rtr -batch - <<-EOF
		qdisc replace dev $dev root handle 1: htb
		class replace dev $dev parent 1: classid 1:1 htb rate $(fillable 10 1)mbit
		filter replace dev $dev parent 1: protocol $2 u32 $only classid 1:1
		qdisc replace dev $dev parent 1:1 handle 10: $kind hosts ${*:3}
	EOF
}

known() { # DEVICE HOSTS
	local shown

	shown=$(tc -n rtr -s qdisc show dev "$1" parent 1:1)
	echo "$shown"
	[[ $shown =~ hosts_known\ ([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -eq "$2" ]
}

# Whose end comes late would be counted in what follows.
ended() {
	local ns

	for ns in snd rcv; do
		[ -z "$(ip netns exec "$ns" ss -Htn state connected exclude time-wait)" ] || return
	done
}

upload() { # HOST FROM
	ip netns exec snd ../lib/tcp_transfer.py send "$1" "$takes" "$bytes" 2 "$2"
}

download() { # HOST FROM
	ip netns exec snd ../lib/tcp_transfer.py receive "$1" "$gives" 2 "$2"
}

# What leaves or comes is of as many hosts as these options make of the two.
both_ways() { # NAME HOST FROM-ONE FROM-OTHER NAT HOSTS
	local protocol=ip

	[ "${2/:/}" = "$2" ] || protocol=ipv6
	check "$1: setup, $5" bottleneck r1 $protocol src "$5"
	check "$1: setup of ifb, $5" bottleneck ifb0 $protocol dst "$5"
	check "$1: from one" upload "$2" "$3"
	check "$1: from the other" upload "$2" "$4"
	check "$1: all has been sent, $5" within 30 ended
	check "$1: senders, $5" known r1 "$6"
	check "$1: to one" download "$2" "$3"
	check "$1: to the other" download "$2" "$4"
	check "$1: all has been received, $5" within 30 ended
	check "$1: receivers, $5" known ifb0 "$6"
	tc -n rtr qdisc del dev r1 root
	tc -n rtr qdisc del dev ifb0 root
}

# Of 10.0.1.1 by UDP; then, of another EtherType, what is the header of an answer to that if it is taken
# for IPv4, and would be of 10.0.2.1
stray() {
	tc -n rtr qdisc replace dev r1 root "$kind" hosts src nat rate 1gbit || return
	ip netns exec snd python3 - <<-EOF || return
		from socket import *
		sent = socket(AF_INET, SOCK_DGRAM)
		sent.bind(("10.0.1.1", 7000))
		sent.sendto(b"", ("10.0.2.1", 7001))
	EOF
	ip netns exec rtr python3 - <<-EOF
		import socket, struct
		header = struct.pack("!BxH4xBBxx4B4B", 0x45, 28, 64, 17, 10, 0, 2, 1, 10, 0, 2, 2)
		frame = bytes(12) + b"\x88\xb5" + header + struct.pack("!HHHH", 7001, 7000, 8, 0)
		sent = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		sent.bind(("r1", 0))
		sent.send(frame)
	EOF
}

hosts_of_both() {
	local shown

	shown=$(tc -n rtr class show dev r1)
	echo "$shown"
	tc -n rtr qdisc del dev r1 root
	[[ $shown == *": host 10.0.1.1 "* && $shown != *": host 10.0.2.1 "* ]]
}

trap 'kill $servers 2>/dev/null; net_down' EXIT
net_up
net_address snd s0 1 3
ip -n rtr link add ifb0 type ifb
ip -n rtr link set ifb0 up
tc -n rtr qdisc add dev r1 clsact
tc -n rtr filter add dev r1 ingress matchall action mirred egress redirect dev ifb0
ip netns exec rcv ../lib/tcp_transfer.py serve $takes &
servers=$!
ip netns exec rcv ../lib/tcp_transfer.py supply $gives "$bytes" &
servers="$servers $!"

# As it is before a home has NAT: conntrack knows of nothing
both_ways "without NAT" 10.0.2.1 10.0.1.1 10.0.1.3 nat 2
check "masquerade" masquerade
both_ways "IPv4" 10.0.2.1 10.0.1.1 10.0.1.3 nat 2
both_ways "IPv4" 10.0.2.1 10.0.1.1 10.0.1.3 nonat 1
check "a frame that is not IP" stray
check "is of no connection" hosts_of_both
both_ways "IPv6" fd00:2::1 fd00:1::1 fd00:1::3 nat 2
if said=$(flowtable 2>&1); then
	both_ways "flowtable" 10.0.2.1 10.0.1.1 10.0.1.3 nat 2
	check "flowtable: what leaves is offloaded" offloaded
else
	skip "flowtable" "the kernel has none: ${said%%$'\n'*}"
fi
finish
