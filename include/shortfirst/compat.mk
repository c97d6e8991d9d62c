# SPDX-License-Identifier: GPL-2.0
#
# What compat.h cannot find out by itself. Include it in a Kbuild file: sf-flags
# are compiler flags for what includes compat.h.

# Word, file of the kernel, macro
sf-has = $(shell grep -qs $(1) $(srctree)/include/$(2) && echo -D$(3))

sf-flags := $(call sf-has,rb_add_cached,linux/rbtree.h,SF_HAVE_RB_ADD)
sf-flags += $(call sf-has,'const struct tcf_block .block',net/pkt_cls.h,SF_HAVE_CLASSIFY_BLOCK)
sf-flags += $(call sf-has,gnet_stats_basic_sync,net/gen_stats.h,SF_HAVE_BASIC_SYNC)
sf-flags += $(call sf-has,tc_qdisc_stats_dump,net/pkt_sched.h,SF_HAVE_STATS_DUMP)
sf-flags += $(call sf-has,pkt_segs,net/sch_generic.h,SF_HAVE_PKT_SEGS)
sf-flags += $(call sf-has,skb_gso_segment,net/gso.h,SF_HAVE_GSO_H)
sf-flags += $(call sf-has,tcf_classify_qdisc,net/pkt_cls.h,SF_HAVE_CLASSIFY_QDISC)
sf-flags += $(call sf-has,tcf_set_qdisc_drop_reason,net/sch_generic.h,SF_HAVE_DROP_REASON)
sf-flags += $(call sf-has,QDISC_CONGESTED,net/dropreason-core.h,SF_HAVE_SKB_DROP_REASON)
# The first ones to have qdisc_dequeue_drop() leak what a qdisc drops that is not the root.
sf-flags += $(call sf-has,'root->to_free',net/sch_generic.h,SF_HAVE_DEQUEUE_DROP)
sf-flags += $(call sf-has,secure_tcp_seq_and_ts_off,net/secure_seq.h,SF_HAVE_SEQ_AND_TS_OFF)
