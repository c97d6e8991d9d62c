#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Flows of constant rate through one qdisc, alone first, then beside downloads:
#   old-flows.sh "KIND OPTION..." LEAD "CBR-FLOW..." FLOWGEN-OPTION...
# LEAD is the second at which the downloads begin. What was measured goes to the
# second serial port: flowgen's list, cbr's flows, then a line of JSON from tc.
set -eu

here=${0%/*}
# shellcheck disable=SC2034 # for net.sh
QDISC=$1
lead=$2
flows=$3
shift 3
# shellcheck source=/dev/null
. "$here/net.sh"

exec 3>/dev/ttyS1
net_up
# shellcheck disable=SC2086 # one argument for each flow
"$here/cbr" --snd snd --rcv rcv --addr 10.0.2.1 --out /run/cbr $flows &
sleep "$lead"
downloads "$@" >/run/flowgen || {
	cat /run/flowgen
	exit 1
}
# cbr counts all there is to do, flowgen only its part
grep -v ^progress /run/flowgen || :
wait $!
cat /run/cbr >&3
net_stats
