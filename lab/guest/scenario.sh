#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# One run of flows through one qdisc, inside a virtual machine:
#   scenario.sh KEY=VALUE...
#
#   QDISC, RATE, RTT_MS  as in net.sh
#   LINKS          "RATE/RTT-IN-MS ...": each sender's own link, which is not the bottleneck.
#                  The N-th has port 5000 + N, and bulk's flows are the senders' in turn
#   TCP            "ns2": Reno without SACK and the like, as it was in 2004
#   ROUTE          what routes tell TCP: "window 29200 initcwnd 1 rto_min 1s"
#   CONGESTION     the congestion control
#   ECN            1: ask for it, both ends
#   SOCKET_MEMORY  the most that a socket may have, bytes
#   ISN            "FIRST-LAST": sender's ports with run2c_isn
#   WATCH          1: tell which flows sift has sampled
#   FLOWGEN, BULK  options of flowgen and bulk; without any they are not there
#   CBR            flows of cbr
#   AFTER          seconds until flowgen begins
#
#   netns snd                    netns rtr (net.sh)
#   snd0 <---------------------> rtr0   rtr1 <---> rcv
#   with LINKS: prio, a netem for each sender
#
# What was measured goes to the second serial port: flowgen's list, bulk's and cbr's flows, a line
# "long SENDER-PORT RECEIVER-PORT" for each flow that was sampled, then a line of JSON from tc.
set -euf

here=${0%/*}
for word; do
	export "${word?}"
done
# shellcheck source=/dev/null
. "$here/net.sh"

# generate PROGRAM OPTION...: only one of the programs says how far it is
generate() {
	local name=$1

	shift
	set -- "$here/$name" --snd snd --rcv rcv "$@"
	if [ "$name" = "$speaker" ]; then
		"$@"
		return
	fi
	"$@" >"/run/$name.log" || {
		cat "/run/$name.log"
		return 1
	}
	grep -v ^progress "/run/$name.log" || :
}

exec 3>/dev/ttyS1
# Network namespaces begin with that of the first one
[ -z "${CONGESTION-}" ] || sysctl -qw net.ipv4.tcp_congestion_control="$CONGESTION"
net_up
if [ -n "${LINKS-}" ]; then
	access_links "$LINKS"
	if [ -n "${BULK-}" ]; then
		senders=$(echo "$LINKS" | wc -w)
		for n in $(seq 0 63); do
			access_link $((7000 + n)) $((n % senders))
		done
	fi
fi
for ns in snd rcv; do
	[ "${TCP-}" != ns2 ] || old_tcp "$ns"
	[ -z "${ECN-}" ] || ip netns exec "$ns" sysctl -qw net.ipv4.tcp_ecn="$ECN"
	[ -z "${SOCKET_MEMORY-}" ] || ip netns exec "$ns" sysctl -qw \
		net.ipv4.tcp_rmem="4096 131072 $SOCKET_MEMORY" \
		net.ipv4.tcp_wmem="4096 65536 $SOCKET_MEMORY"
done
if [ -n "${ROUTE-}" ]; then
	# shellcheck disable=SC2086 # options
	{
		ip -n snd route change default via 10.0.1.2 $ROUTE
		ip -n rcv route change default via 10.0.2.2 $ROUTE
	}
fi
isn=/sys/module/run2c_isn/parameters
[ -z "${ISN-}" ] || echo "$ISN" >$isn/ports
[ -z "${WATCH-}" ] || insmod "$here/modules/sift_watch.ko"

# cbr counts all that there is to do, the others only their part
speaker=${CBR:+cbr}
speaker=${speaker:-${FLOWGEN:+flowgen}}
speaker=${speaker:-bulk}
# shellcheck disable=SC2086 # options, flows
{
	if [ -n "${BULK-}" ]; then
		generate bulk --addr 10.0.1.1 --out /run/bulk $BULK &
		bulk_pid=$!
	fi
	if [ -n "${CBR-}" ]; then
		generate cbr --addr 10.0.2.1 --out /run/cbr $CBR &
		cbr_pid=$!
	fi
	if [ -n "${FLOWGEN-}" ]; then
		[ -z "${AFTER-}" ] || sleep "$AFTER"
		generate flowgen --addr 10.0.1.1 --out /dev/ttyS1 $SIZES $FLOWGEN
	fi
}
if [ -n "${BULK-}" ]; then
	wait "$bulk_pid"
	cat /run/bulk >&3
fi
if [ -n "${CBR-}" ]; then
	wait "$cbr_pid"
	cat /run/cbr >&3
fi

if [ -n "${ISN-}" ] && [ "$(cat $isn/missed)" != 0 ]; then
	echo "connections of which the number was left as it was"
	exit 1
fi
[ -z "${WATCH-}" ] || sed "s/^/long /" /sys/kernel/debug/sift_watch >&3
net_stats
