#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One long TCP flow of a class of its own, from behind a slow access link, beside
# downloads, inside a virtual machine:
#   las-log.sh "KIND OPTION..." CLASSID TCP RATE ACCESS-RATE "BULK-OPTION..." FLOWGEN-OPTION...
# TCP is "linux" or "reno": the latter is as it was in 2004.
#
#   netns ftp            netns rtr (net.sh)
#   ftp0 <-------------> rtr2   rtr1 <---> rcv
#   netem RTT/2, ACCESS-RATE -->
#
# What was measured goes to the second serial port: flowgen's list, what the long
# flow has received, then a line of JSON from tc.
set -eu

here=${0%/*}
# shellcheck disable=SC2034 # for net.sh
{
	QDISC=$1
	RATE=$4
}
classid=$2
tcp=$3
access=$5
bulk=$6
shift 6
# shellcheck source=/dev/null
. "$here/net.sh"

exec 3>/dev/ttyS1
net_up
ip netns add ftp
ip link add ftp0 address 02:00:00:00:03:01 netns ftp type veth \
	peer name rtr2 address 02:00:00:00:03:02 netns rtr
link ftp ftp0 3 1 2
link rtr rtr2 3 2 1
ip -n ftp route add default via 10.0.3.2
if [ "$tcp" = reno ]; then
	for ns in ftp snd rcv; do
		old_tcp "$ns"
	done
	ip -n ftp route change default via 10.0.3.2 initcwnd 1 rto_min 1s
	ip -n snd route change default via 10.0.1.2 initcwnd 1 rto_min 1s
fi
tc -n ftp qdisc add dev ftp0 root netem delay "$((RTT_MS * 500))us" \
	rate "$access" limit 100
tc -n rtr filter add dev rtr1 parent 10: protocol ip u32 \
	match ip src 10.0.3.1 classid "$classid"

# shellcheck disable=SC2086 # options
"$here/bulk" --snd ftp --rcv rcv --addr 10.0.3.1 --out /run/bulk $bulk \
	>/run/bulk.log &
"$here/flowgen" --snd snd --rcv rcv --addr 10.0.1.1 --out /dev/ttyS1 "$@"
wait $! || {
	cat /run/bulk.log
	exit 1
}
cat /run/bulk >&3
net_stats
