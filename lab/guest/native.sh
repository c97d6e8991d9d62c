#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# The cycles that a packet costs in qdiscs, inside user-mode Linux in real time:
#   native.sh ROUNDS COUNT COLD-COUNT COLD-KIB MOST "NAME|FLOWS|KIND OPTION..." ...
# In each round each qdisc gets packets of so many flows: all of them first, which
# is not measured, then COUNT that are, or COLD-COUNT of which each finds cold
# caches (modules/qdisc_bench.c has cold and most). What it says of each goes to
# the second serial port.
set -eu

here=${0%/*}
bench=/sys/kernel/debug/qdisc_bench
waiting=100

exec 3>/dev/ttyS1
"$here/seed"
insmod "$here/modules/qdisc_bench.ko"
ip link add d1 type dummy

rounds=$1
count=$2
cold_count=$3
cold=$4
most=$5
shift 5

one() { # WORDS
	echo "dev=d1 flows=$flows queued=$waiting $*" >$bench
}

# At first those of the case before may be the ones that wait
measured() { # PACKETS CACHES WORDS
	one "before=$((10 * waiting)) most=$most $3"
	echo "case $round|$name|$flows|$1|$2" >&3
	cat $bench >&3
}

for round in $(seq "$rounds"); do
	for spec; do
		name=${spec%%|*}
		rest=${spec#*|}
		flows=${rest%%|*}
		# shellcheck disable=SC2086 # the kind and its options
		tc qdisc add dev d1 root handle 1: ${rest#*|}
		one count=1
		measured new warm "count=$count"
		measured new cold "count=$cold_count cold=$cold"
		measured recycled warm "count=$count recycle"
		measured recycled cold "count=$cold_count cold=$cold recycle"
		tc qdisc del dev d1 root
	done
	echo "progress $round $rounds active"
done
