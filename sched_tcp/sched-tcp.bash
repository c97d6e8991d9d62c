# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2207
#
# bash completion for sched-tcp(8)

# Of the daemon that runs
_sched_tcp_peers()
{
    sched-tcp status --json 2>/dev/null | grep -o '"name": *"[^"]*"' | cut -d'"' -f4
}

_sched_tcp()
{
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words='' command=''
    local i nth=0

    # The command, and how many words without a - are after it
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            -c | --config | -s | --socket) ((++i)) ;;
            -*) ;;
            *) [[ $command ]] && ((++nth)) || command=${COMP_WORDS[i]} ;;
        esac
    done
    case $prev in
        -c | --config | -s | --socket)
            COMPREPLY=($(compgen -f -- "$cur"))
            return
            ;;
    esac
    case $command:$nth:$cur in
        status:*:-*) words='--flows --json --socket' ;;
        policy:*:-*) words='--socket' ;;
        policy:0:*) words=$(_sched_tcp_peers) ;;
        policy:1:*) words='tcp srpt las fair mu' ;;
        :*:-*) words='--config --test --verbose --help --version' ;;
        :*) words='status policy' ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
} &&
complete -F _sched_tcp sched-tcp
