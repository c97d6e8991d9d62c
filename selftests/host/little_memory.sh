#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# A router of little memory: mq of eight queues of each kind, with its defaults but for a rate,
# flooded with 100,000 flows. Then one with more records than there is memory for.
#   little_memory.sh KIND...
# Said is on the second serial port:
#   KIND free KIB taken KIB added NUMBER peak BYTES sent PACKETS dropped PACKETS qlen PACKETS
#   KIND large: WHAT TC SAYS
#   KIND after NUMBER
# that is memory that was free and that the qdiscs took, the qdiscs that are there, and of all of
# these what packets took at most, and packets; what is said of large tables, and whether the
# qdiscs are as before.
set -eu

QUEUES="1 2 3 4 5 6 7 8"
here=/build/shortfirst/lab/guest

exec 3>/dev/ttyS1

free_memory() {
	awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo
}

qdiscs() { # KIND
	tc qdisc show dev v0 | grep -c "^qdisc $1 " || :
}

sum() { # KIND WHAT: the number after, or before, this word, of all of its qdiscs
	tc -s qdisc show dev v0 | tr -d '(),' | awk -v kind="$1" -v what="$2" '
		/^qdisc / { ours = $2 == kind }
		ours { for (i = 1; i < NF; i++) if ($i == what) n += what == "pkt" ? $(i - 1) : $(i + 1) }
		END { printf "%d", n }'
}

ip netns add rcv
ip link add v0 numtxqueues 8 numrxqueues 8 type veth peer name v1 numtxqueues 8 numrxqueues 8 netns rcv
echo 1 >/proc/sys/net/ipv6/conf/v0/disable_ipv6
ip addr add 10.0.1.1/24 dev v0
ip link set v0 up
ip -n rcv addr add 10.0.1.2/24 dev v1
ip -n rcv link set v1 up
ip neigh add 10.0.1.2 lladdr "$(ip netns exec rcv cat /sys/class/net/v1/address)" dev v0
tc qdisc replace dev v0 root handle 1: mq

for kind; do
	before=$(free_memory)
	for queue in $QUEUES; do
		tc qdisc replace dev v0 parent "1:$queue" handle "1$queue:" "$kind" rate 1mbit || :
	done
	taken=$((before - $(free_memory)))
	"$here/packets" --rcv rcv --dev v1 --addr 10.0.1.1 --hosts 10.0.1.1 --duration 2 \
		"flood:bytes=100,us=20,ports=1,host=2" >/dev/null
	echo "$kind free $before taken $taken added $(qdiscs "$kind")" \
		"peak $(sum "$kind" memory_peak) sent $(sum "$kind" pkt)" \
		"dropped $(sum "$kind" dropped) qlen $(sum "$kind" qlen)" >&3
	said=$(tc qdisc replace dev v0 parent 1:1 handle 20: "$kind" flows 1048576 2>&1) &&
		said="taken, and $(free_memory) are left"
	echo "$kind large: $said" >&3
	echo "$kind after $(qdiscs "$kind")" >&3
	tc qdisc replace dev v0 root handle 2: pfifo
	tc qdisc replace dev v0 root handle 1: mq
	echo "progress $kind"
done
