#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Ask kmemleak, which only the debug kernel has, what nobody can reach any more:
# with all modules, whose names it can tell then, and without them.
#
#	leaks.sh forget		do not tell later what has leaked so far
#	leaks.sh		prints TAP

# shellcheck disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. lib/tap.sh
readonly KMEMLEAK=/sys/kernel/debug/kmemleak

if [ ! -e "$KMEMLEAK" ] && [[ $(uname -r) != *-debug ]]; then
	[ "$1" = forget ] || echo "1..0 # skip: only the debug kernel has kmemleak"
	exit 0
fi

unload() {
	# The last loaded is the first listed; read all before the list changes
	cut -d ' ' -f 1 /proc/modules | xargs -r rmmod || return
	cat /proc/modules
	[ -z "$(cat /proc/modules)" ]
}

# What is younger than 5 s is not reported, nor what one scan alone has found.
nothing_left() {
	local left

	sleep 6
	echo scan >"$KMEMLEAK" || return
	echo scan >"$KMEMLEAK" || return
	left=$(cat "$KMEMLEAK")
	[ -z "$left" ] && return
	echo "$left" | tee /dev/ttyS1
	return 1
}

if [ "$1" = forget ]; then
	echo scan >"$KMEMLEAK"
	echo clear >"$KMEMLEAK"
	exit
fi
check "kmemleak: nothing left" nothing_left
check "all modules unloaded" unload
check "kmemleak: nothing left of the modules" nothing_left
finish
