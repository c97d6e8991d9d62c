// SPDX-License-Identifier: GPL-2.0
/*
 * Two threads count in one variable, each on a processor of its own and neither with a lock: a
 * kernel that looks for data races has to find this one.
 */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>

static struct task_struct *threads[2];

/* A parameter, so that it is counted in memory */
static unsigned int counter;
module_param(counter, uint, 0444);

static int race_test_count(void *unused)
{
	unsigned int i = 0;

	while (!kthread_should_stop()) {
		counter++;
		if (!(++i % 1024))
			usleep_range(100, 200);
	}
	return 0;
}

static void race_test_stop(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(threads) && threads[i]; i++)
		kthread_stop(threads[i]);
}

static int __init race_test_init(void)
{
	struct task_struct *thread;
	int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		thread = kthread_run(race_test_count, NULL, "race_test/%d", i);
		if (IS_ERR(thread)) {
			race_test_stop();
			return PTR_ERR(thread);
		}
		threads[i] = thread;
	}
	return 0;
}

static void __exit race_test_exit(void)
{
	race_test_stop();
}

module_init(race_test_init)
module_exit(race_test_exit)
MODULE_AUTHOR("shortfirst contributors");
MODULE_DESCRIPTION("A data race, to be found");
MODULE_LICENSE("GPL");
