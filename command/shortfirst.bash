# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207
#
# bash completion for shortfirst(8)

_shortfirst()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=

    case $COMP_CWORD:$prev:${COMP_WORDS[1]} in
        1:*) words='start stop status check apply clear help' ;;
        2:*:help) ;;
        2:*) words=$(cd /sys/class/net && echo *) ;;
        *:--hosts:*) words='none wan lan both' ;;
        *:--kind:*) words=$(shortfirst help | sed -n 's/.*--kind \([^]]*\) \].*/\1/p' | tr -d '|') ;;
        *:--link:*) words='conservative docsis ethernet pppoe-ptm bridged-ptm pppoe-vcmux pppoe-llcsnap' ;;
        *:--up:* | *:--down:* | *:--up-options:* | *:--down-options:*) ;;
        *:start) words=$(shortfirst help | grep -o -e '--[a-z-]*') ;;
        *:check) words=--kind ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
} &&
complete -F _shortfirst shortfirst
