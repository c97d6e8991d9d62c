# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# TAP for the shell tests. Source it, run `check NAME COMMAND...` for each test, or
# `skip NAME WHY` where it cannot be done, end by `finish`.

tap_count=0
tap_failed=0

check() {
	local name=$1 said

	shift
	tap_count=$((tap_count + 1))
	if said=$("$@" 2>&1); then
		echo "ok $tap_count $name"
	else
		tap_failed=$((tap_failed + 1))
		echo "not ok $tap_count $name"
		echo "# ${said//$'\n'/$'\n# '}"
	fi
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count $1 # SKIP $2"
}

finish() {
	echo "1..$tap_count"
	exit $((tap_failed > 0))
}

# Run a command again and again until it succeeds, for at most so many seconds.
within() {
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		if [ $SECONDS -ge $end ]; then
			echo "never succeeded: $*"
			return 1
		fi
		sleep 0.1
	done
}
