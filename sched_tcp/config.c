// SPDX-License-Identifier: GPL-2.0
/*
 * The configuration file. libconfuse reads its syntax, and every value as text; what it means, and
 * the sentence that refuses it, is ours, with the line it is in. The first mistake ends it: what
 * has a mistake is never used in part.
 *
 * libconfuse's lexer passes over characters that it does not know, keeps its state after a string
 * that does not end, puts the environment into strings, takes a name with | for an option of a
 * section, ends a section where the file ends, and knows no comments in lists. So it is never shown
 * such things: plain() refuses them, and puts blanks in the place of comments.
 */
#include "config.h"

#include <arpa/inet.h>
#include <confuse.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

#define FILE_MAX	(256 << 10)	/* bytes of a configuration */
#define PEERS_MAX	1024
#define LISTENERS_MAX	1024
#define K		1024ULL
#define M		(K * K)
#define G		(M * K)
#define MEMORY_MAX	(sizeof(size_t) > 4 ? 1024 * G : 1 * G)
#define QUEUE_DEFAULT	(32 * M)
#define WINDOW_DEFAULT	(4 * M)

/* In which line a value of an option is, in the order in which they are */
struct place {
	const cfg_opt_t *option;
	int line;
};

/* One at a time: libconfuse's callbacks have no argument of ours. */
static struct reader {
	const char *path;
	cfg_t *file;
	struct place *places;
	size_t n_places, room;
	bool refused;
	struct config *config;
} reading;

/* A line for what is wrong; only the first one, what follows from it is of no use. */
static bool refuse(int line, const char *option, const char *format, ...)
	__attribute__
	((format(printf, 3, 4)));

static bool refuse(int line, const char *option, const char *format, ...)
{
	char why[512], where[16] = "";
	va_list list;

	if (reading.refused)
		return false;
	reading.refused = true;
	va_start(list, format);
	vsnprintf(why, sizeof(why), format, list);
	va_end(list);
	snprintf(where, sizeof(where), "%d", line);
	log_line(LOG_ERR, "config-refused", "file=%s line=%s option=%s why=%s", reading.path,
		 line ? where : "-", option ? option : "-", why);
	return false;
}

static bool no_memory(void)
{
	return refuse(0, NULL, "no memory is left");
}

/*
 * The text
 */

static bool is_token(char c)
{
	return c && !strchr(" #\"'\t\n\r={}()+,*", c);
}

static void blank(char *from, const char *to)
{
	for (; from < to; from++) {
		if (*from != '\n')
			*from = ' ';
	}
}

/* What is in a string or token: none that libconfuse has another meaning for */
static bool plain_character(const char *text, int line)
{
	if (!strchr("\\|", *text) && strncmp(text, "${", 2) && !iscntrl((unsigned char)*text))
		return true;
	return refuse(line, NULL,
		      "\\, |, ${ and control characters have no meaning here: leave them out");
}

/* A string at @text: past its end, or NULL */
static char *plain_string(char *text, int line)
{
	char quote = *text++;

	for (; *text != quote; text++) {
		if (!*text || *text == '\n') {
			refuse(line, NULL, "a string has to end with %c in the same line", quote);
			return NULL;
		}
		if (!plain_character(text, line))
			return NULL;
	}
	return text + 1;
}

/* A comment at @text becomes blank: past its end, or NULL */
static char *plain_comment(char *text, int *line)
{
	char *end;
	int first = *line;

	if (text[0] == '/' && text[1] == '*') {
		end = strstr(text + 2, "*/");
		if (!end) {
			refuse(first, NULL, "a comment that begins with /* has to end with */");
			return NULL;
		}
		end += 2;
		for (const char *c = text; c < end; c++)
			*line += *c == '\n';
	} else {
		end = text + strcspn(text, "\n");
	}
	blank(text, end);
	return end;
}

static bool is_comment(const char *text)
{
	return *text == '#' || (*text == '/' && (text[1] == '/' || text[1] == '*'));
}

/* What is between strings and comments, a token or a character of its own */
static char *plain_token(char *text, int line)
{
	if (!is_token(*text)) {
		if (strchr("={},\n\t ", *text) || !strncmp(text, "+=", 2))
			return text + 1 + (*text == '+');
		if (!strncmp(text, "\r\n", 2))
			return text + 1;
		refuse(line, NULL, "a character of code %u is here: put the value into quotes",
		       (unsigned char)*text);
		return NULL;
	}
	for (; is_token(*text); text++) {
		if (!plain_character(text, line))
			return NULL;
		if (text[0] == '/' && (text[1] == '/' || text[1] == '*')) {
			refuse(line, NULL, "put what has %.2s in it into quotes", text);
			return NULL;
		}
	}
	return text;
}

static bool plain(char *text)
{
	int line = 1, depth = 0;

	while (text && *text) {
		line += *text == '\n';
		depth += (*text == '{') - (*text == '}');
		if (*text == '"' || *text == '\'')
			text = plain_string(text, line);
		else if (is_comment(text))
			text = plain_comment(text, &line);
		else
			text = plain_token(text, line);
	}
	if (text && depth > 0)
		return refuse(line, NULL, "the file ends before a { is closed by }");
	return text;
}

/* Open a file that somebody has named; it may be a pipe or a device by mistake. */
static int open_regular(const char *path, struct stat *stat)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (!fstat(fd, stat) && S_ISREG(stat->st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

/* As much as @room, without an error that would go unseen; -1 with errno */
static ssize_t read_all(int fd, char *to, size_t room)
{
	size_t len = 0;

	while (len < room) {
		ssize_t n = read(fd, to + len, room - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static const char *reason(void)
{
	return errno == EINVAL ? "it is no regular file" : strerror(errno);
}

static char *read_text(const char *path)
{
	struct stat stat;
	char *text = malloc(FILE_MAX + 2);
	int fd = -1;
	ssize_t len;

	if (!text) {
		no_memory();
		return NULL;
	}
	fd = open_regular(path, &stat);
	len = fd < 0 ? -1 : read_all(fd, text, FILE_MAX + 1);
	if (len < 0)
		refuse(0, NULL, "it cannot be read: %s", reason());
	else if (len > FILE_MAX)
		refuse(0, NULL, "it is longer than %d bytes", FILE_MAX);
	else if (memchr(text, 0, (size_t)len))
		refuse(0, NULL, "it has bytes of value 0, so it is no text");
	else
		text[len] = 0;
	if (fd >= 0)
		close(fd);
	if (!reading.refused)
		return text;
	free(text);
	return NULL;
}

/*
 * The syntax
 */

/* libconfuse's own errors */
static void syntax_error(cfg_t *cfg, const char *format, va_list list)
	__attribute__
	((format(printf, 2, 0)));

static void syntax_error(cfg_t *cfg, const char *format, va_list list)
{
	char why[256];

	vsnprintf(why, sizeof(why), format, list);
	refuse(cfg->line, NULL, "%s; sched-tcp.conf(5) has the options and their syntax", why);
}

static bool known_place(const cfg_opt_t *option)
{
	for (size_t i = 0; i < reading.n_places; i++) {
		if (reading.places[i].option == option)
			return true;
	}
	return false;
}

static bool keep_place(const cfg_opt_t *option, int line)
{
	if (reading.n_places == reading.room) {
		size_t room = reading.room ? 2 * reading.room : 64;
		struct place *more = reallocarray(reading.places, room, sizeof(*more));

		if (!more)
			return no_memory();
		reading.places = more;
		reading.room = room;
	}
	reading.places[reading.n_places++] = (struct place){ option, line };
	return true;
}

/* Of each value: it is kept as it is, and where. What is new is the first of its option, unless
 * the option was told before.
 */
static int take(cfg_t *cfg, cfg_opt_t *option, const char *value, void *result)
{
	if (option->nvalues == 1 && known_place(option)) {
		refuse(cfg->line, option->name, "it is told twice: leave out one of them");
		return -1;
	}
	if (!keep_place(option, cfg->line))
		return -1;
	*(const char **)result = value;
	return 0;
}

#define OPTION(name)	CFG_STR_CB(name, NULL, CFGF_NODEFAULT, take)
#define LIST(name)	CFG_STR_LIST_CB(name, NULL, CFGF_NODEFAULT, take)

static cfg_opt_t peer_options[] = {
	OPTION("address"),
	OPTION("psk"),
	OPTION("certificate"),
	OPTION("key"),
	OPTION("authority"),
	OPTION("name"),
	LIST("tunnel"),
	OPTION("policy"),
	LIST("allow"),
	OPTION("keep-source"),
	OPTION("one-carrier"),
	CFG_END()
};

static cfg_opt_t forward_options[] = {
	OPTION("listen"),
	OPTION("to"),
	OPTION("peer"),
	OPTION("type"),
	OPTION("proxy-protocol"),
	CFG_END()
};

static cfg_opt_t listen_options[] = {
	OPTION("listen"),
	OPTION("peer"),
	OPTION("type"),
	CFG_END()
};

static cfg_opt_t options[] = {
	LIST("listen"),
	OPTION("user"),
	OPTION("control"),
	OPTION("memory"),
	OPTION("flows"),
	OPTION("handshakes"),
	OPTION("window"),
	OPTION("queue"),
	OPTION("timeout"),
	OPTION("unsent"),
	LIST("types"),
	CFG_SEC("peer", peer_options, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
	CFG_SEC("forward", forward_options, CFGF_MULTI),
	CFG_SEC("socks", listen_options, CFGF_MULTI),
	CFG_SEC("tproxy", listen_options, CFGF_MULTI),
	CFG_END()
};

static bool parse(char *text)
{
	FILE *stream;
	int result;

	if (!*text)	/* of which fmemopen() makes no stream */
		return refuse(0, NULL, "it is empty; sched-tcp.conf(5) has an example");
	reading.file = cfg_init(options, CFGF_NONE);
	if (!reading.file)
		return no_memory();
	cfg_set_error_function(reading.file, syntax_error);
	stream = fmemopen(text, strlen(text), "r");
	if (!stream)
		return no_memory();
	result = cfg_parse_fp(reading.file, stream);
	fclose(stream);
	if (result != CFG_SUCCESS)
		return refuse(reading.file->line, NULL, "it cannot be read");
	return true;
}

/*
 * Values
 */

/* Option @name of @section, its value number @i, NULL if it is not told */
static const char *told(cfg_t *section, const char *name, unsigned int i)
{
	return i < cfg_size(section, name) ? cfg_getnstr(section, name, i) : NULL;
}

/* Where that is; if it is not told, where the section ends */
static int line_of(cfg_t *section, const char *name, unsigned int i)
{
	const cfg_opt_t *option = cfg_getopt(section, name);

	for (size_t at = 0; at < reading.n_places; at++) {
		if (reading.places[at].option == option && !i--)
			return reading.places[at].line;
	}
	return section == reading.file ? 0 : section->line;
}

/* Names of peers and types are in log lines, commands, and user names of SOCKS. */
static const char *name_wrong(const char *name)
{
	if (!*name || strlen(name) >= NAME_LEN)
		return "a name has 1 to 63 characters";
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")])
		return "a name has letters, digits, '.', '_' and '-' only";
	return NULL;
}

struct number {
	const char *name;
	unsigned long long least, most, preset;
	bool size;		/* may end with K, M or G */
	const char *what;
};

static const struct number memory_option = {
	"memory", 1 * M, MEMORY_MAX, 256 * M, true, "what all queues may take"
};

static const struct number flows_option = {
	"flows", 1, 1000000, 10000, false, "how many connections there may be"
};

static const struct number handshakes_option = {
	"handshakes", 1, 65536, 64, false, "how many may not yet have said who they are"
};

static const struct number window_option = {
	"window", 64 * K, 1 * G, 0, true, "what a flow may have on the way"
};

static const struct number queue_option = {
	"queue", 64 * K, 1 * G, 0, true, "what a flow may have waiting for carriers"
};

static const struct number timeout_option = {
	"timeout", 1, 3600, 10, false, "seconds until connecting has failed"
};

static const struct number unsent_option = {
	"unsent", 0, 16 * M, 0, true, "what may wait in a carrier's socket, 0 is by its rate"
};

/* 64K for 65536 */
static const char *size_text(unsigned long long number, bool size, char *text)
{
	static const char units[] = " KMG";
	int unit = 0;

	while (size && number && unit < 3 && !(number % K)) {
		number /= K;
		unit++;
	}
	snprintf(text, 24, "%llu%.*s", number, !!unit, units + unit);
	return text;
}

static bool parse_number(const char *text, bool size, unsigned long long *number)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (size && *end) {
		unit = strchr(units, *end++);
		for (const char *u = units; unit && u <= unit; u++) {
			if (*number > ULLONG_MAX / K)
				return false;
			*number *= K;
		}
		if (!unit)
			return false;
	}
	return !*end;
}

static bool read_number(const struct number *option, unsigned long long *number)
{
	const char *text = told(reading.file, option->name, 0);
	char least[24], most[24];

	*number = option->preset;
	if (!text)
		return true;
	if (parse_number(text, option->size, number) && *number >= option->least &&
	    *number <= option->most)
		return true;
	return refuse(line_of(reading.file, option->name, 0), option->name,
		      "%s is not between %s and %s%s: %s", text,
		      size_text(option->least, option->size, least),
		      size_text(option->most, option->size, most),
		      option->size ? ", in bytes or with K, M or G" : "", option->what);
}

/* What one flow may have is never more than all may; unless told it is lowered to that. */
static bool read_part(const struct number *option, unsigned long long preset, size_t *part)
{
	unsigned long long number;
	char memory[24];

	if (!read_number(option, &number))
		return false;
	if (!number)
		number = preset < reading.config->memory ? preset : reading.config->memory;
	*part = (size_t)number;
	if (number <= reading.config->memory)
		return true;
	return refuse(line_of(reading.file, option->name, 0), option->name,
		      "%s is more than memory, which is %s: lower it, or raise memory",
		      told(reading.file, option->name, 0),
		      size_text(reading.config->memory, true, memory));
}

static bool read_numbers(struct config *config)
{
	unsigned long long memory, flows, handshakes, timeout, unsent;

	if (!read_number(&memory_option, &memory) || !read_number(&flows_option, &flows) ||
	    !read_number(&handshakes_option, &handshakes) ||
	    !read_number(&timeout_option, &timeout) || !read_number(&unsent_option, &unsent))
		return false;
	config->memory = (size_t)memory;
	config->flows = (unsigned int)flows;
	config->handshakes = (unsigned int)handshakes;
	config->timeout = (unsigned int)timeout;
	config->unsent = (unsigned int)unsent;
	return read_part(&window_option, WINDOW_DEFAULT, &config->window) &&
	       read_part(&queue_option, QUEUE_DEFAULT, &config->queue);
}

static bool read_switch(cfg_t *section, const char *name, bool *on)
{
	const char *text = told(section, name, 0);

	*on = text && !strcmp(text, "yes");
	if (!text || *on || !strcmp(text, "no"))
		return true;
	return refuse(line_of(section, name, 0), name, "%s is neither yes nor no", text);
}

static bool copy_text(char **to, const char *text)
{
	*to = strdup(text);
	return *to || no_memory();
}

/* A port; "80" */
static bool parse_port(const char *text, const char *end, uint16_t *port)
{
	unsigned int number = 0;

	if (text == end || end - text > 5)
		return false;
	for (; text < end; text++) {
		if (!isdigit((unsigned char)*text))
			return false;
		number = 10 * number + (unsigned int)(*text - '0');
	}
	*port = (uint16_t)number;
	return number >= 1 && number <= 65535;
}

/* An address at the beginning of @text, of IPv6 in brackets, whatever follows: its family and past
 * its end, or NULL. @network: of IPv6 before a /, as in [2001:db8::]/32
 */
static const char *parse_host(const char *text, int *family, void *bits)
{
	char host[INET6_ADDRSTRLEN];
	size_t len;

	*family = *text == '[' ? AF_INET6 : AF_INET;
	text += *text == '[';
	len = strcspn(text, *family == AF_INET6 ? "]" : ":/");
	if (len >= sizeof(host))
		return NULL;
	memcpy(host, text, len);
	host[len] = 0;
	if (inet_pton(*family, host, bits) != 1)
		return NULL;
	text += len;
	if (*family == AF_INET6 && *text++ != ']')
		return NULL;
	return text;
}

static bool is_mapped(const unsigned char *bits)
{
	return IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)bits);
}

static const char *parse_address(const char *text, union address *address)
{
	_Alignas(8) unsigned char bits[16];
	const char *end;
	in_port_t port;
	int family;

	end = parse_host(text, &family, bits);
	if (!end || *end++ != ':' || !parse_port(end, end + strlen(end), &port))
		return "is no address with a port, as 192.0.2.1:4343 or [2001:db8::1]:4343";
	if (family == AF_INET6 && is_mapped(bits))
		return "is an address of IPv4: write it as one";
	memset(address, 0, sizeof(*address));
	address->any.sa_family = (sa_family_t)family;
	if (family == AF_INET)
		memcpy(&address->in.sin_addr, bits, 4);
	else
		memcpy(&address->in6.sin6_addr, bits, 16);
	address_set_port(address, port);
	return NULL;
}

static bool read_address(cfg_t *section, const char *name, unsigned int i, union address *address)
{
	const char *text = told(section, name, i);
	const char *wrong;

	if (!text)
		return refuse(section->line, name, "%s { } has to have it", section->name);
	wrong = parse_address(text, address);
	return !wrong || refuse(line_of(section, name, i), name, "\"%s\" %s", text, wrong);
}

static bool any_address(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return !address->in.sin_addr.s_addr;
	return IN6_IS_ADDR_UNSPECIFIED(&address->in6.sin6_addr);
}

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned int length)
{
	unsigned int bytes = length / 8, rest = length % 8;

	if (memcmp(a, b, bytes))
		return false;
	return !rest || !((a[bytes] ^ b[bytes]) >> (8 - rest));
}

/* "/8" or nothing, which is the whole address. All bits after it are 0, so that nobody who takes
 * it for something else goes unnoticed.
 */
static const char *parse_length(const char *text, struct allowed *to)
{
	static const unsigned char zero[16];
	unsigned int most = to->family == AF_INET ? 32 : 128;
	unsigned char rest[16];
	unsigned long length;
	char *end;

	to->length = most;
	if (*text != '/')
		return text;
	if (!isdigit((unsigned char)*++text))
		return NULL;
	length = strtoul(text, &end, 10);
	if (length > most || end - text > 3)
		return NULL;
	to->length = (unsigned int)length;
	memcpy(rest, to->bits, 16);
	for (unsigned int bit = 0; bit < length; bit++)
		rest[bit / 8] &= (unsigned char)~(128 >> bit % 8);
	return memcmp(rest, zero, most / 8) ? NULL : end;
}

static const char *parse_ports(const char *text, struct allowed *to)
{
	const char *dash, *end = text + strlen(text);

	to->from = 1;
	to->to = 65535;
	if (!*text || !strcmp(text, ":*"))
		return NULL;
	if (*text++ != ':')
		return "has something after the address that is no port";
	dash = strchr(text, '-');
	if (!parse_port(text, dash ? dash : end, &to->from) ||
	    !parse_port(dash ? dash + 1 : text, end, &to->to) || to->from > to->to)
		return "has no port of 1 to 65535 or ports as 80-443 after the address";
	return NULL;
}

static const char *parse_network(const char *text, struct allowed *to, const char **end)
{
	_Alignas(8) unsigned char bits[16] = { 0 };

	text = parse_host(text, &to->family, bits);
	if (!text)
		return "is no address as 10.0.0.0/8 or [2001:db8::]/32";
	memcpy(to->bits, bits, 16);
	*end = parse_length(text, to);
	if (!*end)
		return "has no length after / that fits: after so many bits all of it has to be 0";
	if (to->family == AF_INET6 && to->length >= 96 && is_mapped(bits))
		return "is an address of IPv4: write it as one";
	return NULL;
}

static const char *parse_allow(const char *text, struct allowed *to)
{
	const char *wrong, *end = text + 1;

	memset(to, 0, sizeof(*to));
	if (*text != '*') {
		wrong = parse_network(text, to, &end);
		if (wrong)
			return wrong;
	}
	return parse_ports(end, to);
}

/* Of a tunnel ports are not asked, and who is in it is told, not everybody. */
static const char *parse_within(const char *text, struct allowed *to)
{
	const char *wrong, *end;

	memset(to, 0, sizeof(*to));
	to->to = 65535;
	wrong = parse_network(text, to, &end);
	if (wrong)
		return wrong;
	if (*end)
		return "has something after the address: ports are not asked";
	if (!to->length)
		return "is everybody: name the addresses that only the tunnel has";
	return NULL;
}

static bool read_list(cfg_t *section, const char *name, struct allowed **list, size_t *n,
		      const char *(*parse_one)(const char *text, struct allowed *to))
{
	unsigned int size = cfg_size(section, name);

	if (!size)
		return true;
	*list = calloc(size, sizeof(**list));
	if (!*list)
		return no_memory();
	for (unsigned int i = 0; i < size; i++) {
		const char *text = told(section, name, i);
		const char *wrong = parse_one(text, *list + i);

		if (wrong)
			return refuse(line_of(section, name, i), name, "\"%s\" %s", text, wrong);
		++*n;
	}
	return true;
}

/*
 * Keys
 */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What kind of bytes all of these are */
static bool all_of(const char *bytes, size_t len, int (*kind)(int c))
{
	for (size_t i = 0; i < len; i++) {
		if (!kind((unsigned char)bytes[i]))
			return false;
	}
	return true;
}

/* Text has to be hex: what a person makes up is guessed by who has heard a handshake. */
static const char *parse_key(const char *bytes, size_t len, struct peer_config *peer)
{
	size_t text = len;

	while (text && isspace((unsigned char)bytes[text - 1]))
		text--;
	if (text && all_of(bytes, text, isxdigit)) {
		if (text % 2)
			return "has an odd number of hex digits: is one missing?";
		len = text / 2;
		for (size_t i = 0; i < len && i < PSK_MAX; i++)
			peer->psk[i] = (unsigned char)(hex_digit(bytes[2 * i]) << 4 |
						       hex_digit(bytes[2 * i + 1]));
	} else {
		if (text && all_of(bytes, text, isprint))
			return "is text, but not hex: make one by `openssl rand -hex 32`";
		memcpy(peer->psk, bytes, len < PSK_MAX ? len : PSK_MAX);
	}
	peer->psk_len = len;
	if (len < PSK_MIN || len > PSK_MAX)
		return "is no key of 16 to 64 bytes: make one by `openssl rand -hex 32`";
	return NULL;
}

static bool open_named(cfg_t *section, const char *name, bool secret, int *fd)
{
	const char *path = told(section, name, 0);
	int line = line_of(section, name, 0);
	struct stat stat;

	if (*path != '/')
		return refuse(line, name, "%s does not begin with /: name the whole path", path);
	*fd = open_regular(path, &stat);
	if (*fd < 0)
		return refuse(line, name, "%s cannot be read: %s", path, reason());
	if (!secret || !(stat.st_mode & 077))
		return true;
	close(*fd);
	return refuse(line, name,
		      "others than its owner may use %s, so it is no secret: make a new one, and chmod 600",
		      path);
}

static bool read_psk(cfg_t *section, struct peer_config *peer)
{
	char bytes[4 * PSK_MAX];
	const char *wrong;
	ssize_t len;
	int fd;

	if (!open_named(section, "psk", true, &fd))
		return false;
	len = read_all(fd, bytes, sizeof(bytes));
	if (len < 0)
		wrong = strerror(errno);
	else
		wrong = parse_key(bytes, (size_t)len, peer);
	close(fd);
	explicit_bzero(bytes, sizeof(bytes));
	return !wrong || refuse(line_of(section, "psk", 0), "psk", "%s %s",
				told(section, "psk", 0), wrong);
}

/* A file that OpenSSL will read: is it there, and a secret if it has to be one? */
static bool read_file_name(cfg_t *section, const char *name, bool secret, char **to)
{
	int fd;

	if (!told(section, name, 0))
		return refuse(section->line, name,
			      "peer %s has to have it: certificate, key, authority and name go together",
			      section->title);
	if (!open_named(section, name, secret, &fd))
		return false;
	close(fd);
	return copy_text(to, told(section, name, 0));
}

static bool read_certificate(cfg_t *section, struct peer_config *peer)
{
	const char *subject = told(section, "name", 0);

	if (!read_file_name(section, "certificate", false, &peer->cert) ||
	    !read_file_name(section, "key", true, &peer->key) ||
	    !read_file_name(section, "authority", false, &peer->ca))
		return false;
	if (!subject)
		return refuse(section->line, "name",
			      "peer %s has to have it: the DNS name in the certificate of the other end",
			      section->title);
	if (strlen(subject) > 253 || name_wrong(*subject ? subject : " "))
		return refuse(line_of(section, "name", 0), "name",
			      "\"%s\" is no DNS name of a certificate", subject);
	return copy_text(&peer->subject, subject);
}

/*
 * Sections
 */

static bool read_trust(cfg_t *section, struct peer_config *peer)
{
	static const char * const parts[] = { "certificate", "key", "authority", "name" };
	bool psk = told(section, "psk", 0), tunnel = told(section, "tunnel", 0), cert = false;

	for (int i = 0; i < 4; i++)
		cert |= !!told(section, parts[i], 0);
	if (psk + tunnel + cert != 1)
		return refuse(section->line, "peer",
			      "peer %s has %s of psk, certificate (with key, authority and name) and tunnel: it has to have one",
			      section->title, psk + tunnel + cert ? "several" : "none");
	if (psk) {
		peer->trust = TRUST_PSK;
		return read_psk(section, peer);
	}
	if (cert) {
		peer->trust = TRUST_CERT;
		return read_certificate(section, peer);
	}
	peer->trust = TRUST_TUNNEL;
	if (!read_list(section, "tunnel", &peer->within, &peer->n_within, parse_within))
		return false;
	if (peer->reached && !allowed(peer->within, peer->n_within, &peer->address))
		return refuse(line_of(section, "address", 0), "address",
			      "it is not one of the addresses that tunnel has");
	return true;
}

static bool read_policy(cfg_t *section, enum policy *policy)
{
	const char *text = told(section, "policy", 0);
	char names[128] = "";

	*policy = POLICY_SRPT;
	if (!text)
		return true;
	for (int i = 0; i < POLICIES; i++) {
		size_t len = strlen(names);

		if (!strcmp(text, policy_names[i])) {
			*policy = (enum policy)i;
			return true;
		}
		snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "", policy_names[i]);
	}
	return refuse(line_of(section, "policy", 0), "policy", "%s is none of %s", text, names);
}

static bool read_peer(cfg_t *section, struct peer_config *peer)
{
	const char *wrong = name_wrong(section->title);

	if (wrong)
		return refuse(section->line, "peer", "\"%s\": %s", section->title, wrong);
	snprintf(peer->name, sizeof(peer->name), "%s", section->title);
	peer->reached = told(section, "address", 0);
	if (peer->reached && !read_address(section, "address", 0, &peer->address))
		return false;
	if (peer->reached && any_address(&peer->address))
		return refuse(line_of(section, "address", 0), "address",
			      "it is the address of nobody: name where the peer listens");
	if (!read_trust(section, peer) || !read_policy(section, &peer->policy) ||
	    !read_list(section, "allow", &peer->allow, &peer->n_allow, parse_allow) ||
	    !read_switch(section, "keep-source", &peer->keep_source) ||
	    !read_switch(section, "one-carrier", &peer->single))
		return false;
	if (peer->reached || cfg_size(reading.file, "listen"))
		return true;
	return refuse(section->line, "peer",
		      "peer %s has no address, and nothing is told to listen for it: give it an address, or listen = {...}",
		      peer->name);
}

/* Who comes by an address of a tunnel is one peer. */
static bool distinct(cfg_t *section, const struct peer_config *peer,
		     const struct peer_config *other)
{
	for (size_t i = 0; i < peer->n_within; i++) {
		for (size_t j = 0; j < other->n_within; j++) {
			const struct allowed *a = peer->within + i, *b = other->within + j;
			unsigned int length = a->length < b->length ? a->length : b->length;

			if (a->family == b->family && same_bits(a->bits, b->bits, length))
				return refuse(line_of(section, "tunnel", (unsigned int)i), "tunnel",
					      "peer %s has some of these addresses, too: who comes from them has to be one peer",
					      other->name);
		}
	}
	return true;
}

static bool read_peers(struct config *config)
{
	unsigned int n = cfg_size(reading.file, "peer");

	if (!n)
		return refuse(0, "peer", "there is none: tell who is at the other end");
	if (n > PEERS_MAX)
		return refuse(0, "peer", "there are more than %d", PEERS_MAX);
	config->peers = calloc(n, sizeof(*config->peers));
	if (!config->peers)
		return no_memory();
	for (unsigned int i = 0; i < n; i++) {
		cfg_t *section = cfg_getnsec(reading.file, "peer", i);

		config->n_peers++;
		if (!read_peer(section, config->peers + i))
			return false;
		for (unsigned int j = 0; j < i; j++) {
			if (!distinct(section, config->peers + i, config->peers + j))
				return false;
		}
	}
	return true;
}

static bool read_types(struct config *config)
{
	unsigned int n = cfg_size(reading.file, "types");

	config->n_types = 1;
	strcpy(config->types[0], "default");
	if (n > TYPES_MAX)
		return refuse(line_of(reading.file, "types", TYPES_MAX), "types",
			      "there are more than %d", TYPES_MAX);
	for (unsigned int i = 0; i < n; i++) {
		const char *name = told(reading.file, "types", i);
		const char *wrong = name_wrong(name);

		for (unsigned int j = 0; !wrong && j < i; j++) {
			if (!strcmp(name, config->types[j]))
				wrong = "it is told twice";
		}
		if (wrong)
			return refuse(line_of(reading.file, "types", i), "types", "\"%s\": %s",
				      name, wrong);
		snprintf(config->types[i], NAME_LEN, "%s", name);
		config->n_types = i + 1;
	}
	return true;
}

/* Unless told the last: what nobody has named waits for what somebody has. */
static bool read_type(cfg_t *section, const struct config *config, uint8_t *type)
{
	const char *text = told(section, "type", 0);

	*type = (uint8_t)(config->n_types - 1);
	if (!text)
		return true;
	for (unsigned int i = 0; i < config->n_types; i++) {
		if (!strcmp(text, config->types[i])) {
			*type = (uint8_t)i;
			return true;
		}
	}
	return refuse(line_of(section, "type", 0), "type", "%s is none of types", text);
}

static bool read_whose(cfg_t *section, const struct config *config, struct peer_config **peer)
{
	const char *text = told(section, "peer", 0);

	if (!text)
		return refuse(section->line, "peer", "%s { } has to have it: where its flows go",
			      section->name);
	for (size_t i = 0; i < config->n_peers; i++) {
		if (strcmp(text, config->peers[i].name))
			continue;
		*peer = config->peers + i;
		if ((*peer)->reached)
			return true;
		return refuse(line_of(section, "peer", 0), "peer",
			      "peer %s has no address, so nothing can go there", text);
	}
	return refuse(line_of(section, "peer", 0), "peer", "there is no peer %s", text);
}

static bool same_address(const union address *a, const union address *b)
{
	if (a->any.sa_family != b->any.sa_family || address_port(a) != address_port(b))
		return false;
	if (a->any.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == b->in.sin_addr.s_addr;
	return IN6_ARE_ADDR_EQUAL(&a->in6.sin6_addr, &b->in6.sin6_addr);
}

static bool read_listen(cfg_t *section, struct config *config, enum listener how, unsigned int i)
{
	struct listen_config *listen = config->listeners + config->n_listeners;

	listen->how = how;
	if (!read_address(section, "listen", i, &listen->address))
		return false;
	for (size_t j = 0; j < config->n_listeners; j++) {
		if (same_address(&config->listeners[j].address, &listen->address))
			return refuse(line_of(section, "listen", i), "listen",
				      "%s is listened on twice", told(section, "listen", i));
	}
	config->n_listeners++;
	if (how == LISTEN_PEERS)
		return true;
	if (!read_whose(section, config, &listen->peer) ||
	    !read_type(section, config, &listen->type))
		return false;
	if (how != LISTEN_FORWARD)
		return true;
	if (!read_address(section, "to", 0, &listen->to) ||
	    !read_switch(section, "proxy-protocol", &listen->proxied))
		return false;
	return !any_address(&listen->to) ||
	       refuse(line_of(section, "to", 0), "to", "it is the address of nobody");
}

static bool read_listeners(struct config *config)
{
	static const struct {
		const char *name;
		enum listener how;
	} sections[] = {
		{ "forward", LISTEN_FORWARD },
		{ "socks", LISTEN_SOCKS },
		{ "tproxy", LISTEN_TPROXY },
	};
	unsigned int n = cfg_size(reading.file, "listen");

	for (int s = 0; s < 3; s++)
		n += cfg_size(reading.file, sections[s].name);
	if (!n)
		return refuse(0, "listen",
			      "there is none, nor a forward, socks or tproxy { }: so nothing would ever come");
	if (n > LISTENERS_MAX)
		return refuse(0, "listen",
			      "there are more than %d, with those of forward, socks and tproxy",
			      LISTENERS_MAX);
	config->listeners = calloc(n, sizeof(*config->listeners));
	if (!config->listeners)
		return no_memory();
	for (unsigned int i = 0; i < cfg_size(reading.file, "listen"); i++) {
		if (!read_listen(reading.file, config, LISTEN_PEERS, i))
			return false;
	}
	for (int s = 0; s < 3; s++) {
		for (unsigned int i = 0; i < cfg_size(reading.file, sections[s].name); i++) {
			cfg_t *section = cfg_getnsec(reading.file, sections[s].name, i);

			if (!read_listen(section, config, sections[s].how, 0))
				return false;
		}
	}
	return true;
}

static bool read_names(struct config *config)
{
	const char *user = told(reading.file, "user", 0);
	const char *control = told(reading.file, "control", 0);
	const struct sockaddr_un *room = NULL;

	if (user && name_wrong(user))
		return refuse(line_of(reading.file, "user", 0), "user", "\"%s\": %s", user,
			      name_wrong(user));
	if (user && !copy_text(&config->user, user))
		return false;
	if (!control)
		control = "/run/sched-tcp/control";
	if (*control != '/' || strlen(control) >= sizeof(room->sun_path))
		return refuse(line_of(reading.file, "control", 0), "control",
			      "\"%s\" is no path that begins with / and has at most %zu characters",
			      control, sizeof(room->sun_path) - 1);
	return copy_text(&config->control, control);
}

static bool read_meaning(struct config *config)
{
	return read_names(config) && read_numbers(config) && read_types(config) &&
	       read_peers(config) && read_listeners(config);
}

struct config *config_read(const char *path)
{
	struct config *config = calloc(1, sizeof(*config));
	char *text = NULL;
	bool ok = false;

	reading = (struct reader){ .path = path, .config = config };
	if (!config)
		no_memory();
	else
		text = read_text(path);
	if (text)
		ok = plain(text) && parse(text) && read_meaning(config);
	if (reading.file)
		cfg_free(reading.file);
	free(reading.places);
	free(text);
	reading = (struct reader){ 0 };
	if (ok)
		return config;
	config_free(config);
	return NULL;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->n_peers; i++) {
		struct peer_config *peer = config->peers + i;

		explicit_bzero(peer->psk, sizeof(peer->psk));
		free(peer->cert);
		free(peer->key);
		free(peer->ca);
		free(peer->subject);
		free(peer->within);
		free(peer->allow);
	}
	free(config->peers);
	free(config->listeners);
	free(config->user);
	free(config->control);
	free(config);
}

/*
 * Addresses
 */

/* An address of IPv4 is one, also as ::ffff:192.0.2.1 of a socket of IPv6: else who may not go to
 * it would write it like that.
 */
bool allowed(const struct allowed *list, size_t n, const union address *to)
{
	const unsigned char *bits = (const unsigned char *)&to->in.sin_addr;
	int family = to->any.sa_family;
	in_port_t port = address_port(to);

	if (family != AF_INET && family != AF_INET6)
		return false;
	if (family == AF_INET6) {
		bits = to->in6.sin6_addr.s6_addr;
		if (is_mapped(bits)) {
			family = AF_INET;
			bits += 12;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (port < list[i].from || port > list[i].to)
			continue;
		if (list[i].family == AF_UNSPEC ||
		    (list[i].family == family && same_bits(list[i].bits, bits, list[i].length)))
			return true;
	}
	return false;
}

const char *address_text(const union address *address, char *text)
{
	char host[INET6_ADDRSTRLEN] = "";

	if (address->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &address->in.sin_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT, "%s:%u", host, address_port(address));
	} else if (address->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &address->in6.sin6_addr, host, sizeof(host));
		snprintf(text, ADDRESS_TEXT, "[%s]:%u", host, address_port(address));
	} else {
		snprintf(text, ADDRESS_TEXT, "-");
	}
	return text;
}

socklen_t address_len(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof(address->in) : sizeof(address->in6);
}

uint16_t address_port(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohs(address->in.sin_port);
	return address->any.sa_family == AF_INET6 ? ntohs(address->in6.sin6_port) : 0;
}

void address_set_port(union address *address, uint16_t port)
{
	if (address->any.sa_family == AF_INET)
		address->in.sin_port = htons(port);
	else
		address->in6.sin6_port = htons(port);
}
