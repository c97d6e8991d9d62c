#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unload all modules, then ask kmemleak what nobody can reach any more, which only
# the debug kernel has.
#
#	leaks.sh forget		do not tell later what has leaked so far
#	leaks.sh		prints TAP

# shellcheck disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. lib/tap.sh
readonly KMEMLEAK=/sys/kernel/debug/kmemleak

if [ ! -e $KMEMLEAK ] && [[ $(uname -r) != *-debug ]]; then
	[ "$1" = forget ] || echo "1..0 # skip: only the debug kernel has kmemleak"
	exit 0
fi

unload() {
	local module

	# The last loaded is the first listed
	for module in $(cut -d ' ' -f 1 /proc/modules); do
		rmmod "$module" || return
	done
	cat /proc/modules
	[ -z "$(cat /proc/modules)" ]
}

# What is younger than 5 s is not reported, and a pointer that is just being
# moved may be missed by one scan.
nothing_left() {
	local left

	sleep 6
	echo scan >$KMEMLEAK || return
	sleep 6
	echo scan >$KMEMLEAK || return
	left=$(cat $KMEMLEAK)
	[ -z "$left" ] && return
	echo "$left" | tee /dev/ttyS1
	return 1
}

if [ "$1" = forget ]; then
	echo scan >$KMEMLEAK
	echo clear >$KMEMLEAK
	exit
fi
check "all modules unloaded" unload
check "kmemleak: nothing left" nothing_left
finish
