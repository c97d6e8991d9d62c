#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# TCP flows that never end, each with a round trip time of its own, and one of UDP if
# wanted, through one qdisc inside a virtual machine:
#   sqf-tables.sh "KIND OPTION..." TCP "RTT-IN-MS..." CBR-FLOW QUEUES-OPTION BULK-OPTION...
# TCP is "reno", "cubic" or "ns2", which is Reno without SACK, with an initial window
# of 1 and retransmission after 1 s and more. CBR-FLOW is as cbr reads it, or "-".
# QUEUES-OPTION is "-" or what queues reads in addition.
#
#   netns snd                    netns rtr (net.sh)
#   snd0 <---------------------> rtr0   rtr1 <---> rcv
#   prio, a netem for each flow
#
# What was measured goes to the second serial port: what the flows have received and
# sent, cbr's flow, the lengths of the queues, then a line of JSON from tc.
set -eu

here=${0%/*}
# shellcheck disable=SC2034 # for net.sh
{
	QDISC=$1
	RTT_MS=0
}
tcp=$2
rtts=$3
cbr=$4
queues=$5
shift 5
# shellcheck source=/dev/null
. "$here/net.sh"

# Flow N is that of port 7000 + N; what else there is shares the first band.
delays() {
	local n=1 rtt

	tc -n snd qdisc replace dev snd0 root handle 1: prio bands 16 \
		priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
	for rtt in $rtts; do
		n=$((n + 1))
		tc -n snd qdisc add dev snd0 parent "1:$(printf %x $n)" \
			netem delay "${rtt}ms" limit 1000000
		tc -n snd filter add dev snd0 parent 1: protocol ip u32 \
			match ip sport $((7000 + n - 2)) 0xffff flowid "1:$(printf %x $n)"
	done
}

exec 3>/dev/ttyS1
net_up
delays
for ns in snd rcv; do
	ip netns exec "$ns" sysctl -qw net.ipv4.tcp_rmem="4096 131072 33554432" \
		net.ipv4.tcp_wmem="4096 65536 33554432"
	case $tcp in
	ns2) old_tcp "$ns" ;;
	*) ip netns exec "$ns" sysctl -qw net.ipv4.tcp_congestion_control="$tcp" ;;
	esac
done
[ "$tcp" != ns2 ] || ip -n snd route change default via 10.0.1.2 initcwnd 1 rto_min 1s

if [ "$cbr" != - ]; then
	"$here/cbr" --snd snd --rcv rcv --addr 10.0.2.1 --out /run/cbr "$cbr" \
		>/run/cbr.log &
	cbr_pid=$!
fi
if [ "$queues" != - ]; then
	# shellcheck disable=SC2086 # options
	"$here/queues" --netns rtr --dev rtr1 --out /run/queues $queues &
	queues_pid=$!
fi
"$here/bulk" --snd snd --rcv rcv --addr 10.0.1.1 --out /dev/ttyS1 "$@"
if [ "$cbr" != - ]; then
	wait "$cbr_pid"
	cat /run/cbr >&3
fi
if [ "$queues" != - ]; then
	wait "$queues_pid"
	cat /run/queues >&3
fi
net_stats
