# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# A stand-in for sqm-scripts, as far as a queue setup script sees it:
#
#	sqm.sh start|stop QOS
#
# with what sqm would read of its configuration in the environment. It calls egress() and ingress()
# of the script, and `stop` takes away what they are to have made. defaults.sh, which the script
# reads, is made here.

TC_BINARY=${TC_BINARY:-/usr/sbin/tc}
IP_BINARY=/usr/bin/ip

# The name of a command, where it is, and its arguments: a failure is told unless SILENT is 1.
cmd_wrapper() {
	local name said
	name=$1
	shift
	if said=$("$@" 2>&1); then
		SILENT=0
		return 0
	fi
	[ "$SILENT" = 1 ] || echo "ERROR: $name: $*: $said" >&2
	SILENT=0 # ash keeps what was set for the call of a function
	return 1
}

tc_wrapper() { cmd_wrapper tc "$TC_BINARY" "$@"; }
ip_wrapper() { cmd_wrapper ip "$IP_BINARY" "$@"; }

SQM_LIB_DIR=$(mktemp -d)
trap 'rm -r "$SQM_LIB_DIR"' EXIT
cp "${2%/*}"/* "$SQM_LIB_DIR/"
cat >"$SQM_LIB_DIR/defaults.sh" <<'END'
: "${QDISC:=fq_codel}" "${LINKLAYER:=none}" "${OVERHEAD:=0}" "${STAB_MPU:=0}"
TC=tc_wrapper
IP=ip_wrapper
SILENT=0
END
DEV=ifb4$IFACE

# shellcheck source=/dev/null
. "$SQM_LIB_DIR/${2##*/}"

case $1 in
start)
	$IP link add name "$DEV" type ifb || exit
	[ "$UPLINK" -eq 0 ] || egress
	[ "$DOWNLINK" -eq 0 ] || ingress
	;;
stop)
	[ "$DOWNLINK" -eq 0 ] || $TC qdisc del dev "$IFACE" ingress
	$TC qdisc del dev "$IFACE" root
	$IP link del "$DEV" type ifb
	;;
esac
