// SPDX-License-Identifier: GPL-2.0
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "names.h"

#define NAMES_MAX	1024	/* more than a screen has; the oldest goes for another one */
#define NAME_MAX	64
#define THREADS		4	/* a name server that does not answer holds one for seconds */

enum state { UNUSED, WANTED, ASKED, TOLD, UNKNOWN };

struct name {
	enum state state;
	__u8 len;
	__u8 address[16];
	char text[NAME_MAX];
};

/* All of this is under the lock; who has ASKED a name is the only one to change it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER;
static struct name names[NAMES_MAX];
static unsigned int oldest, n_pending;
static bool started;

/* Letters, digits, and what else names of hosts have: no more than that goes to the terminal. */
static void copy_name(char *to, const char *from)
{
	size_t i;

	for (i = 0; i + 1 < NAME_MAX && from[i]; i++) {
		if ((from[i] | 32) >= 'a' && (from[i] | 32) <= 'z')
			to[i] = from[i];
		else
			to[i] = from[i] > 0 && strchr("0123456789-._", from[i]) ? from[i] : '?';
	}
	to[i] = 0;
}

static bool ask(const struct name *name, char text[NAME_MAX])
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in four = { .sin_family = AF_INET };
	char told[NI_MAXHOST];
	int err;

	if (name->len == sizeof(four.sin_addr)) {
		memcpy(&four.sin_addr, name->address, sizeof(four.sin_addr));
		err = getnameinfo((void *)&four, sizeof(four), told, sizeof(told), NULL, 0,
				  NI_NAMEREQD);
	} else {
		memcpy(&six.sin6_addr, name->address, sizeof(six.sin6_addr));
		err = getnameinfo((void *)&six, sizeof(six), told, sizeof(told), NULL, 0,
				  NI_NAMEREQD);
	}
	if (!err)
		copy_name(text, told);
	return !err;
}

static struct name *find_wanted(void)
{
	unsigned int i;

	for (i = 0; i < NAMES_MAX; i++) {
		if (names[i].state == WANTED)
			return &names[i];
	}
	return NULL;
}

static void *ask_names(void *arg)
{
	char text[NAME_MAX] = "";
	struct name *name;
	bool told;

	pthread_mutex_lock(&lock);
	for (;;) {
		name = find_wanted();
		if (!name) {
			pthread_cond_wait(&wanted, &lock);
			continue;
		}
		name->state = ASKED;
		pthread_mutex_unlock(&lock);
		told = ask(name, text);
		pthread_mutex_lock(&lock);
		if (told)
			memcpy(name->text, text, sizeof(text));
		name->state = told ? TOLD : UNKNOWN;
		n_pending--;
	}
	return arg;
}

static void start(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < THREADS; i++) {
		if (!pthread_create(&thread, NULL, ask_names, NULL))
			pthread_detach(thread);
	}
	started = true;
}

/* A place for another one; NULL if all are being asked. */
static struct name *find_place(void)
{
	struct name *name;
	unsigned int i;

	for (i = 0; i < NAMES_MAX; i++) {
		name = &names[oldest++ % NAMES_MAX];
		if (name->state != ASKED)
			return name;
	}
	return NULL;
}

const char *name_of(const __u8 *address, unsigned int len)
{
	const char *text = NULL;
	struct name *name;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < NAMES_MAX; i++) {
		name = &names[i];
		if (name->state && name->len == len && !memcmp(name->address, address, len))
			break;
	}
	if (i < NAMES_MAX) {
		if (name->state == TOLD)
			text = name->text;
	} else {
		name = find_place();
		if (name) {
			n_pending += name->state != WANTED;
			name->state = WANTED;
			name->len = len;
			memcpy(name->address, address, len);
			pthread_cond_signal(&wanted);
		}
	}
	pthread_mutex_unlock(&lock);
	if (!started)
		start();
	return text;
}

bool names_pending(void)
{
	bool pending;

	pthread_mutex_lock(&lock);
	pending = n_pending;
	pthread_mutex_unlock(&lock);
	return pending;
}
