// SPDX-License-Identifier: GPL-2.0
/*
 * sift_watch - which flows has sift sampled? For experiments
 *
 * This is sch_sift, unchanged, and takes its place: unload that one first. It notes each time that
 * a flow gets a record. /sys/kernel/debug/sift_watch has a line for each, in order: the port of
 * the sender and that of the receiver.
 *
 * Packets of all qdiscs write to the list, each under the lock of its own: a packet reserves a line
 * before it writes it. A line that is read in between is 0 0.
 */

#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/vmalloc.h>
#include <shortfirst/flow_recent.h>

#define WATCH_MAX	BIT(18)

static __be32 *watched;
static atomic_t watched_count;	/* up to WATCH_MAX + 1: some had no line */
static struct dentry *watch_file;

static struct sf_flow *watch_assign(struct sf_sched *s, struct sf_recent *r, u32 hash)
{
	u32 i = atomic_fetch_add_unless(&watched_count, 1, WATCH_MAX + 1);

	if (i < WATCH_MAX)
		WRITE_ONCE(watched[i], s->key.ports);
	return sf_recent_assign(s, r, hash);
}

#define sf_recent_assign watch_assign
#pragma push_macro("module_init")
#pragma push_macro("module_exit")
#undef module_init
#undef module_exit
#define module_init(function)
#define module_exit(function)
#include "sch_sift.c"
#pragma pop_macro("module_init")
#pragma pop_macro("module_exit")

static int watch_show(struct seq_file *file, void *unused)
{
	u32 i, ports, count = atomic_read(&watched_count);

	if (count > WATCH_MAX)
		return -E2BIG;
	for (i = 0; i < count; i++) {
		ports = ntohl(READ_ONCE(watched[i]));
		seq_printf(file, "%u %u\n", ports >> 16, ports & 0xffff);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(watch);

static int __init watch_init(void)
{
	int err;

	watched = vzalloc(array_size(WATCH_MAX, sizeof(*watched)));
	if (!watched)
		return -ENOMEM;
	err = sift_module_init();
	if (err) {
		vfree(watched);
		return err;
	}
	watch_file = debugfs_create_file("sift_watch", 0400, NULL, NULL, &watch_fops);
	return 0;
}

static void __exit watch_exit(void)
{
	debugfs_remove(watch_file);
	sift_module_exit();
	vfree(watched);
}

module_init(watch_init)
module_exit(watch_exit)
