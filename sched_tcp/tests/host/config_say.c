// SPDX-License-Identifier: GPL-2.0
/* config_say FILE...		what each says, as JSON, a line each; "null" if it is refused
 * config_say -a FILE ADDRESS...	may flows of the first peer go there? yes or no, a line each
 * config_say -m FILE		read it once with each of its allocations failing, and tell how many
 *				there are
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "../../config.h"

const char * const policy_names[POLICIES] = { "tcp", "srpt", "las", "fair", "mu" };

/* Which allocation from now on fails; 0: none */
static unsigned int fails;

static bool has_failed(void)
{
	return fails && !--fails;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return has_failed() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return has_failed() ? NULL : __real_calloc(n, size);
}

void *__real_reallocarray(void *old, size_t n, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size)
{
	return has_failed() ? NULL : __real_reallocarray(old, n, size);
}

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return has_failed() ? NULL : __real_strdup(text);
}

/* Of a file's name, which need not be UTF-8 */
static json_t *path(const char *path)
{
	char text[4096];
	size_t i;

	for (i = 0; path && path[i] && i < sizeof(text) - 1; i++)
		text[i] = (path[i] & 128) ? '?' : path[i];
	return path ? json_stringn(text, i) : NULL;
}

static json_t *address(const union address *address)
{
	char text[ADDRESS_TEXT];

	return json_string(address_text(address, text));
}

static json_t *list(const struct allowed *list, size_t n)
{
	json_t *all = json_array();
	char text[INET6_ADDRSTRLEN];

	for (size_t i = 0; i < n; i++) {
		if (list[i].family == AF_UNSPEC)
			strcpy(text, "*");
		else
			inet_ntop(list[i].family, list[i].bits, text, sizeof(text));
		json_array_append_new(all, json_pack("[s,i,i,i]", text, list[i].length,
						     list[i].from, list[i].to));
	}
	return all;
}

static json_t *peer(const struct peer_config *peer)
{
	char psk[2 * PSK_MAX + 1] = "";

	for (size_t i = 0; i < peer->psk_len; i++)
		sprintf(psk + 2 * i, "%02x", peer->psk[i]);
	return json_pack("{s:s,s:o?,s:i,s:s,s:o?,s:o?,s:o?,s:s?,s:o,s:s,s:o,s:b}",
			 "name", peer->name,
			 "address", peer->reached ? address(&peer->address) : NULL,
			 "trust", peer->trust, "psk", psk, "certificate", path(peer->cert),
			 "key", path(peer->key), "authority", path(peer->ca),
			 "subject", peer->subject,
			 "within", list(peer->within, peer->n_within),
			 "policy", policy_names[peer->policy],
			 "allow", list(peer->allow, peer->n_allow),
			 "keep-source", peer->keep_source);
}

static json_t *listener(const struct listen_config *listen)
{
	return json_pack("{s:i,s:o,s:s?,s:o,s:b,s:i}", "how", listen->how,
			 "address", address(&listen->address),
			 "peer", listen->peer ? listen->peer->name : NULL,
			 "to", address(&listen->to), "proxied", listen->proxied,
			 "type", listen->type);
}

static json_t *all(const struct config *config)
{
	json_t *peers = json_array(), *listeners = json_array(), *types = json_array();

	for (size_t i = 0; i < config->n_peers; i++)
		json_array_append_new(peers, peer(config->peers + i));
	for (size_t i = 0; i < config->n_listeners; i++)
		json_array_append_new(listeners, listener(config->listeners + i));
	for (unsigned int i = 0; i < config->n_types; i++)
		json_array_append_new(types, json_string(config->types[i]));
	return json_pack("{s:o,s:o,s:o,s:s?,s:o,s:I,s:i,s:i,s:I,s:I,s:i,s:i}", "peers", peers,
			 "listeners", listeners, "types", types, "user", config->user,
			 "control", path(config->control), "memory", (json_int_t)config->memory,
			 "flows", config->flows, "handshakes", config->handshakes,
			 "window", (json_int_t)config->window,
			 "queue", (json_int_t)config->queue, "timeout", config->timeout,
			 "unsent", config->unsent);
}

static void say(const char *path)
{
	struct config *config = config_read(path);
	json_t *json = config ? all(config) : json_null();

	json_dumpf(json, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
	putchar('\n');
	json_decref(json);
	config_free(config);
}

static int may(const char *path, int argc, char **argv)
{
	struct config *config = config_read(path);

	if (!config)
		return 1;
	for (int i = 0; i < argc; i++) {
		union address to = { 0 };
		char *port = strrchr(argv[i], '+');

		*port++ = 0;
		to.any.sa_family = strchr(argv[i], ':') ? AF_INET6 : AF_INET;
		inet_pton(to.any.sa_family, argv[i], to.any.sa_family == AF_INET ?
			  (void *)&to.in.sin_addr : (void *)&to.in6.sin6_addr);
		address_set_port(&to, (in_port_t)atoi(port));
		puts(allowed(config->peers->allow, config->peers->n_allow, &to) ? "yes" : "no");
	}
	config_free(config);
	return 0;
}

static int without_memory(const char *path)
{
	for (unsigned int i = 1; ; i++) {
		struct config *config;
		bool failed;

		fails = i;
		config = config_read(path);
		failed = !fails;
		fails = 0;
		if (failed && config)
			return 1;
		config_free(config);
		if (failed)
			continue;
		printf("%u\n", i - 1);
		return !config;
	}
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "-a"))
		return may(argv[2], argc - 3, argv + 3);
	if (argc == 3 && !strcmp(argv[1], "-m"))
		return without_memory(argv[2]);
	for (int i = 1; i < argc; i++)
		say(argv[i]);
	return 0;
}
