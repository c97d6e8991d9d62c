// SPDX-License-Identifier: GPL-2.0
/*
 * sift_watch as a library, for test_watch.py: qdiscs of several devices note flows, each in a
 * thread of its own.
 */
#include <asm/alternative.h>

/* The kernel of these headers may be for one processor, but there are several threads here. */
#undef LOCK_PREFIX
#define LOCK_PREFIX	"lock; "

#include "kernel.h"
#include "../../sift_watch.c"

/* What files need is not called. */
struct dentry *debugfs_create_file_full(const char *name, umode_t mode, struct dentry *parent,
					void *data, const void *aux,
					const struct file_operations *fops)
{
	return NULL;
}

void debugfs_remove(struct dentry *dentry)
{
}

int single_open(struct file *file, int (*show)(struct seq_file *, void *), void *data)
{
	return -ENOENT;
}

int single_release(struct inode *inode, struct file *file)
{
	return 0;
}

ssize_t seq_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return 0;
}

loff_t seq_lseek(struct file *file, loff_t offset, int whence)
{
	return 0;
}

void seq_printf(struct seq_file *file, const char *format, ...)
{
}

void *vzalloc_noprof(unsigned long size)
{
	return NULL;
}

void vfree(const void *memory)
{
}

u32 most(void)
{
	return WATCH_MAX;
}

/* Where they are noted; one place more is there, which is nobody's. */
void note_in(u32 *places)
{
	watched = (__force __be32 *)places;
}

/* A qdisc samples so many flows of these ports. */
void sample(u32 ports, u32 count)
{
	struct sf_flow flows[SF_WAYS] = {};
	u32 overflow_of = 0;
	struct sf_sums sums[SF_WAYS + 1] = {};
	u64 tags;
	struct sift_sched q = {
		.s.table = {
			.tags = &tags, .flows = flows, .sums = sums, .overflow_of = &overflow_of,
			.sets = 1, .set_shift = 32,
		},
	};

	q.s.key.ports = (__force __be32)ports;
	while (count--) {
		tags = 0;
		watch_assign(&q.s, &q.recent, 1);
	}
}
