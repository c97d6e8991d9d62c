#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Bulk TCP flows through one qdisc, inside a virtual machine:
#   bulk.sh "KIND OPTION..." RATE RTT-IN-MS BULK-OPTION...
# What was measured goes to the second serial port: what the flows have
# received, then a line of JSON from tc.
set -eu

here=${0%/*}
# shellcheck disable=SC2034 # for net.sh
{
	QDISC=$1
	RATE=$2
	RTT_MS=$3
}
shift 3
# shellcheck source=/dev/null
. "$here/net.sh"

exec 3>/dev/ttyS1
net_up
for ns in snd rcv; do
	ip netns exec "$ns" sysctl -qw net.ipv4.tcp_rmem="4096 131072 33554432" \
		net.ipv4.tcp_wmem="4096 65536 33554432"
done
"$here/bulk" --snd snd --rcv rcv --addr 10.0.1.1 --out /dev/ttyS1 "$@"
net_stats
