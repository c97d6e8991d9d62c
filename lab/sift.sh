#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# Downloads from several places through one qdisc, inside a virtual machine:
#   sift.sh "KIND OPTION..." TCP MTU "RATE/RTT-IN-MS ..." FLOWGEN-OPTION...
# TCP is "linux" or "ns2", which is Reno without SACK, with a window of 1 to 20 packets and
# retransmission after 1 s and more. The flows of sender's port 5000 + N come through a link
# of the N-th rate, which is not the bottleneck, with that round trip.
#
#   netns snd                    netns rtr (net.sh)
#   snd0 <---------------------> rtr0   rtr1 <---> rcv
#   prio, a netem for each place
#
# What was measured goes to the second serial port: flowgen's list, a line "long SENDER-PORT
# RECEIVER-PORT" for each flow that sift has sampled, then a line of JSON from tc.
set -eu

here=${0%/*}
# shellcheck disable=SC2034 # for net.sh
{
	QDISC=$1
	RTT_MS=0
}
tcp=$2
mtu=$3
places=$4
shift 4
# shellcheck source=/dev/null
. "$here/net.sh"

exec 3>/dev/ttyS1
net_up
access_links "$places"
for ns in snd rcv; do
	[ "$tcp" != ns2 ] || old_tcp "$ns"
done
more="advmss $((mtu - 40))"
[ "$tcp" != ns2 ] || more="$more initcwnd 1 rto_min 1s window $((20 * (mtu - 40)))"
# shellcheck disable=SC2086 # options
{
	ip -n snd route change default via 10.0.1.2 $more
	ip -n rcv route change default via 10.0.2.2 $more
}
watch=/sys/kernel/debug/sift_watch
case $QDISC in
sift*) insmod "$here/bench/sift_watch.ko" ;;
*) watch=/dev/null ;;
esac
downloads --mtu "$mtu" "$@"
sed "s/^/long /" "$watch" >&3
net_stats
