#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=dash
#
# scenario.sh, and what tc shows of the bottleneck's qdisc meanwhile:
#   scenario.queues.sh EVERY=SECONDS TIMES=NUMBER KEY=VALUE...
#
# Lines "queues UPTIME JSON" go to the second serial port after all else. The guest of any run
# has lab/NAME.sh: a name of two parts is only in those guests that run it, so that what others
# give is known as before.
set -eu

for word; do
	export "${word?}"
done

watch_queues() {
	local n=0 up

	until tc -n rtr qdisc show dev rtr1 2>&1 | grep -q ' 10: '; do
		sleep 0.01
	done
	while [ $n -lt "$TIMES" ]; do
		read -r up _ </proc/uptime
		echo "queues $up $(tc -n rtr -s -j qdisc show dev rtr1)"
		sleep "$EVERY"
		n=$((n + 1))
	done
}

watch_queues >/run/queues &
queues_pid=$!
# shellcheck source=lab/guest/scenario.sh
. "${0%/*}/scenario.sh"
wait "$queues_pid"
cat /run/queues >&3
