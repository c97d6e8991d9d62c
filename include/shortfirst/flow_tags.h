/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tags of a set of eight records, a byte each, in a word: all are compared at
 * once. 0 is the tag of an unused record.
 */
#ifndef _SF_FLOW_TAGS_H
#define _SF_FLOW_TAGS_H

#include <linux/types.h>

#define SF_EACH_BYTE	0x0101010101010101ULL

/*
 * The tag of a record that is used. Its first bit keeps sf_tags_match() from taking
 * an unused record, which holds somebody's old key, for one that matches.
 */
static inline u8 sf_tag(u32 hash)
{
	return hash | 0x80;
}

static inline u64 sf_tag_at(u8 tag, u32 way)
{
	return (u64)tag << way * 8;
}

/*
 * The ways whose tags are equal to @tag, and perhaps some of those above whose tag
 * differs from it in the last bit only: the first bit of byte i is set for way i.
 */
static inline u64 sf_tags_match(u64 tags, u8 tag)
{
	u64 differ = tags ^ tag * SF_EACH_BYTE;

	return (differ - SF_EACH_BYTE) & ~differ & SF_EACH_BYTE << 7;
}

#endif
