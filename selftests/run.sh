#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All tests that need a running kernel with the modules installed: the shell
# tests, which speak TAP, then the packet-exact ones, then what all of them have
# left. They load modules and rebuild the network, so this is for a virtual
# machine: `make test`.
#
#	run.sh [scripts [KIND...]|packets]	only one of the two, of these kinds only

cd "$(dirname "$0")" || exit 1
if [ "$(id -u)" -ne 0 ] || [ -z "$SF_MODE" ]; then
	echo "run.sh: not in a virtual machine of vm/: use make test" >&2
	exit 1
fi

kinds="las run2c sift sqf"
scripts="churn refused tcp tdc"
packets="kinds las run2c run2c_isn sift sqf srpt"
not_scripts=
not_packets=
# What a kernel is not asked for, and why; nor what has leaked, where there is no kmemleak (leaks.sh).
# What is skipped beside has failed.
case $(uname -r) in
*-debug) # where all takes long
	scripts="churn refused tcp"
	not_scripts="tdc, which asks for nothing that the others do not do"
	not_packets="of each kind two thirds of the sets of parameters (kinds/conftest.py)"
	;;
*-native)
	packets="kinds las run2c sift sqf srpt"
	not_packets="run2c_isn, which needs kprobes: user-mode Linux has none"
	;;
*)
	packets="$packets --deselect=kinds/test_faults.py"
	not_packets="kinds/test_faults.py: only our own kernels let allocations fail"
	;;
esac

passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# count WORDS: sum up the results and add what the exit status alone tells
count() { # STATUS PASSED FAILED
	[ "$1" -ne 0 ] && [ "$3" -eq 0 ] && set -- "$1" "$2" 1
	passed=$((passed + $2))
	failed=$((failed + $3))
}

# On the data channel, which tests failed, as sed -n finds them, or if none is named how it ended
tell() { # WHERE STATUS SCRIPT
	local found

	found=$(sed -n "$3" "$log" | head -n 30)
	[ "$2" -eq 0 ] || [ -n "$found" ] || found="exit status $2: $(tail -n 1 "$log")"
	[ -z "$found" ] || printf '%s\n' "$found" | sed "s|^|failure: $1: |" >/dev/ttyS1
}

left_out() { # WHAT
	[ -z "$1" ] || echo "left out: $1" | tee /dev/ttyS1
}

tap() { # COMMAND
	local status began=$SECONDS

	echo "== $*"
	"$@" 2>&1 | tee "$log"
	status=${PIPESTATUS[0]}
	count "$status" "$(grep -c '^ok ' "$log")" "$(grep -c '^not ok ' "$log")"
	tell "$*" "$status" '/^not ok /,/^ok /{/^ok /!p}'
	echo "== $*: $((SECONDS - began)) s"
}

scripts() {
	local kind name

	left_out "$not_scripts"
	for kind in $kinds; do
		for name in $scripts; do
			tap "./kinds/$name.sh" "$kind"
		done
	done
}

number() { # WORD in pytest's last line
	tail -n 1 "$log" | grep -oE "[0-9]+ $1" | grep -oE '^[0-9]+' || echo 0
}

packets() {
	local status failures

	left_out "$not_packets"
	tap ./kinds/flow_key.sh
	echo "== packet-exact tests"
	[ -d /sys/module/sch_gate ] || insmod modules/sch_gate.ko
	[ -d /sys/module/sch_srpt ] || insmod ../lab/guest/modules/sch_srpt.ko
	# shellcheck disable=SC2086 # directories and options
	PYTHONPATH=. /usr/bin/python3 -m pytest -q -rfEs --tb=short --color=no --durations=5 \
		-p no:cacheprovider --import-mode=importlib \
		$packets 2>&1 | tee "$log"
	status=${PIPESTATUS[0]}
	failures=$(($(number failed) + $(number error) + $(number skipped)))
	count "$status" "$(number passed)" "$failures"
	tell pytest "$((status + failures))" '/^\(FAILED\|ERROR\|SKIPPED\) /p'
}

case $1 in
scripts)
	parts=scripts
	[ $# -eq 1 ] || kinds=${*:2}
	;;
packets) parts=packets ;;
"") parts="scripts packets" ;;
*)
	echo "run.sh: there are scripts and packets, and no $1" >&2
	exit 1
	;;
esac

./leaks.sh forget
for part in $parts; do
	"$part"
done
tap ./leaks.sh

# Kernel messages may break a line of the console, but not of the data channel.
echo "$passed passed, $failed failed" | tee /dev/ttyS1
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
