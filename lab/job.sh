#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# One run of flows through one qdisc, inside a virtual machine:
#   job.sh QDISC FLOWGEN-OPTION...
# QDISC is one word, with commas for blanks: "pfifo,limit,100". What was
# measured goes to the second serial port: flowgen's CSV, then a line of JSON.
set -eu

here=${0%/*}
# shellcheck disable=SC2034,SC2086 # for net.sh; split at the commas
QDISC=$(IFS=,; set -- $1; IFS=' '; echo "$*")
shift
. "$here/net.sh"

exec 3>/dev/ttyS1
net_up
"$here/flowgen" --snd snd --rcv rcv --addr 10.0.2.1 --out /dev/ttyS1 "$@"
net_stats
