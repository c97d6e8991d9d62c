#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The reader of common headers (include/flow_key.h) against the flow dissector.

# shellcheck disable=SC2317 # functions are called by check

cd "$(dirname "$0")" || exit 1
. ../lib/tap.sh

# The module does not stay: it fails with EAGAIN, which is 11, when all is well.
agrees() { # SEED
	local said

	dmesg -C
	said=$(insmod ../modules/flow_key_test.ko count=500000 "seed=$1" 2>&1)
	dmesg | grep flow_key_test
	[[ $said == *"Resource temporarily unavailable"* ]] && return
	echo "$said"
	return 1
}

for seed in 1 2 3; do
	check "500000 random packets, seed $seed" agrees $seed
done
finish
