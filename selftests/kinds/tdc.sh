#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# selftests/tdc/KIND.json by tdc, the kernel's own test driver for tc, in the
# version of the kernel that runs. What it leaves out counts as failed.
#
#	tdc.sh KIND

cases=$(realpath "$(dirname "$0")/../tdc/$1.json")
cd /opt/linux/tools/testing/selftests/tc-testing || exit 1
said=$(mktemp)
trap 'rm -f "$said"' EXIT

./tdc.py -f "$cases" 2>&1 | tee "$said" | sed '/ # skip/s/^ok/not ok/'
done=$(grep -cE '^(not )?ok ' "$said")
wanted=$(grep -c '"id"' "$cases")
if [ "$done" -ne "$wanted" ]; then
	echo "not ok $((done + 1)) - tdc did $done of $wanted cases"
	exit 1
fi
! grep -qE '^not ok| # skip' "$said"
