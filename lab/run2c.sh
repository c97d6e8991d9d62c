#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Downloads from several senders through one qdisc, some of which may have run2c_isn,
# inside a virtual machine:
#   run2c.sh "KIND OPTION..." TCP "RATE/RTT-IN-MS ..." PORTS BULK-OPTIONS FLOWGEN-OPTION...
# TCP is "linux" or "ns2", which is Reno without SACK, with a window of 1 to 30 packets and
# retransmission after 1 s and more. Each sender has a link that is not the bottleneck, of
# that rate and round trip; the N-th has port 5000 + N, and bulk's flows that never end are
# the senders' in turn. Those of PORTS, which is FIRST-LAST, are adapted. PORTS and
# BULK-OPTIONS may be "-".
#
#   netns snd                    netns rtr (net.sh)
#   snd0 <---------------------> rtr0   rtr1 <---> rcv
#   prio, a netem for each sender
#
# What was measured goes to the second serial port: flowgen's list, what bulk's flows have
# received and sent, then a line of JSON from tc.
set -eu

here=${0%/*}
# shellcheck disable=SC2034 # for net.sh
{
	QDISC=$1
	RTT_MS=0
}
tcp=$2
links=$3
ports=$4
bulk=$5
shift 5
# shellcheck source=/dev/null
. "$here/net.sh"

exec 3>/dev/ttyS1
net_up
access_links "$links"
if [ "$bulk" != - ]; then
	senders=$(echo "$links" | wc -w)
	for n in $(seq 0 63); do
		access_link $((7000 + n)) $((n % senders))
	done
fi
if [ "$tcp" = ns2 ]; then
	for ns in snd rcv; do
		old_tcp "$ns"
	done
	more="initcwnd 1 rto_min 1s window $((30 * 1460))"
	# shellcheck disable=SC2086 # options
	{
		ip -n snd route change default via 10.0.1.2 $more
		ip -n rcv route change default via 10.0.2.2 $more
	}
fi
isn=/sys/module/run2c_isn/parameters
if [ "$ports" != - ]; then
	echo "$ports" >$isn/ports
fi

if [ "$bulk" != - ]; then
	# shellcheck disable=SC2086 # options
	"$here/bulk" --snd snd --rcv rcv --addr 10.0.1.1 --out /run/bulk $bulk \
		>/run/bulk.log &
fi
downloads "$@"
if [ "$bulk" != - ]; then
	wait $! || {
		cat /run/bulk.log
		exit 1
	}
	cat /run/bulk >&3
fi
if [ "$ports" != - ] && [ "$(cat $isn/missed)" != 0 ]; then
	echo "connections of which the number was left as it was"
	exit 1
fi
net_stats
