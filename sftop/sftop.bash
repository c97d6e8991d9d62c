# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207
#
# bash completion for sftop(8)

_sftop()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=

    case $prev:$cur in
        -s:* | --sort:*) words='rate waiting waited drops bytes attained' ;;
        -d:* | --delay:* | -n:* | --count:* | --limit:*) ;;
        *:-*) words=$(sftop --help | grep -o -e '--[a-z]*' | sort -u) ;;
        *) words=$(cd /sys/class/net && echo *) ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
} &&
complete -F _sftop sftop
