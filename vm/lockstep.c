// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into QEMU when the guest's clock counts instructions.
 *
 * When the guest halts, QEMU's main thread moves the clock to the next timer.
 * Should it look just when the processor has halted but its last instructions
 * are not yet accounted for, the clock ends up that much too far (tens of ns),
 * and two runs differ. So hold the main thread back until the processor's
 * thread really sleeps: timers that expire before are run by that thread.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_cond_t *_Atomic waits_on;	/* NULL: the processor runs */
static atomic_int asleep = 1;			/* the same, to wait for */

static void set_asleep(int yes)
{
	atomic_store(&asleep, yes);
	if (yes)
		syscall(SYS_futex, &asleep, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *);

	if (!real)
		real = dlvsym(RTLD_NEXT, "pthread_cond_wait", "GLIBC_2.3.2");
	if (gettid() != getpid()) {	/* only the processor's thread does */
		atomic_store(&waits_on, cond);
		set_asleep(1);
	}
	return real(cond, mutex);
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
	static int (*real)(pthread_cond_t *);

	if (!real)
		real = dlvsym(RTLD_NEXT, "pthread_cond_broadcast", "GLIBC_2.3.2");
	if (cond == atomic_load(&waits_on)) {
		atomic_store(&waits_on, NULL);
		set_asleep(0);
	}
	return real(cond);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	  const sigset_t *mask)
{
	static int (*real)(struct pollfd *, nfds_t, const struct timespec *,
			   const sigset_t *);
	static const struct timespec patience = { .tv_sec = 5 };
	int ret;

	if (!real)
		real = dlsym(RTLD_NEXT, "ppoll");
	ret = real(fds, n, timeout, mask);
	/* At the guest's end a processor may wait for us: do not hang then */
	if (gettid() == getpid())
		while (!atomic_load(&asleep) &&
		       (!syscall(SYS_futex, &asleep, FUTEX_WAIT_PRIVATE, 0,
				 &patience, NULL, 0) || errno != ETIMEDOUT))
			;
	return ret;
}

int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
		const sigset_t *mask, size_t size)
{
	(void)size;
	return ppoll(fds, n, timeout, mask);
}
