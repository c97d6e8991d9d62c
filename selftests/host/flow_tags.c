// SPDX-License-Identifier: GPL-2.0
/* include/shortfirst/flow_tags.h as a library, for test_flow_tags.py */

#include "kernel.h"
#include <shortfirst/flow_tags.h>

u8 tag_of(u32 hash)
{
	return sf_tag(hash);
}

u64 match(u64 tags, u8 tag)
{
	return sf_tags_match(tags, tag);
}
