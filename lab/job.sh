#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One run of flows through one qdisc, inside a virtual machine:
#   job.sh "KIND OPTION..." RATE RTT-IN-MS FLOWGEN-OPTION...
# What was measured goes to the second serial port: flowgen's list of flows,
# then a line of JSON from tc.
set -eu

here=${0%/*}
# shellcheck disable=SC2034 # for net.sh
{
	QDISC=$1
	RATE=$2
	RTT_MS=$3
}
shift 3
. "$here/net.sh"

exec 3>/dev/ttyS1
net_up
downloads "$@"
net_stats
