/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers and names as people read them. What is written always ends with a NUL and has only
 * characters of ASCII that can be printed.
 */
#ifndef SFTOP_FORMAT_H
#define SFTOP_FORMAT_H

#include "model.h"

#define NUMBER_MAX	16
#define ADDRESS_MAX	48	/* of IPv6 */
#define END_MAX		88	/* an address, and a port or a hash */
#define ROW_TEXT_MAX	320

/* A copy with ? for what cannot be printed */
void format_printable(char *to, const char *from, size_t size);

/* "1.5M", four characters: a number, and thousands of thousands of it */
const char *format_count(char to[NUMBER_MAX], double n);
/* "1.5ms", up to five characters */
const char *format_time(char to[NUMBER_MAX], __u64 us);
/* "1:" or "1:2" or "root" */
const char *format_handle(char to[NUMBER_MAX], __u32 handle);
/* The words that tc has for it */
const char *format_proto(char to[NUMBER_MAX], const struct entry *e);
const char *format_sort(const struct entry *e);

/* "" if it was not told */
const char *format_address(char to[ADDRESS_MAX], const struct entry *e, bool dst);
/* With its port; @name stands for the address, if it is known. */
const char *format_end(char to[END_MAX], const struct entry *e, bool dst, const char *name);

/* Who it is, where no addresses are told */
const char *format_unnamed(char to[NUMBER_MAX], const struct entry *e);

/* All that a filter looks at */
void format_row_text(char *to, size_t size, const struct snapshot *s, const struct entry *e);

#endif
