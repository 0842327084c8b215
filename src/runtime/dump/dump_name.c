/* SPDX-License-Identifier: Apache-2.0 */
/* dump_name - numbers and names, and which dumps were written. */
#include "runtime/dump/dump_name.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "runtime/digits.h"
#include "runtime/syscalls.h"

enum { KINDS = 4, NUMBER_SHIFT = 8 };

static const char kinds[KINDS + 1] = "iumf";

static uint64_t next_sequence, next_of_kind[KINDS];

/*
 * For each of the last dumps, by sequence: the number of its kind + 1, and in the low bits its
 * kind.  0: it was not written, or it was removed.
 */
static uint64_t written[GG_AGENT_DUMPS_KEPT_MAX];

struct gg_dump_serial gg_dump_name_next(char kind)
{
	gg_assert(kind != '\0' && strchr(kinds, kind) != NULL);
	return (struct gg_dump_serial){
		.sequence = gg_add_relaxed(&next_sequence, 1),
		.of_kind = gg_add_relaxed(&next_of_kind[strchr(kinds, kind) - kinds], 1),
		.kind = kind,
	};
}

static char *put_number(char *at, uint64_t number)
{
	char digits[GG_DIGITS_MAX];

	return stpcpy(at, gg_digits(number, digits));
}

/* Prints at least four digits. */
static char *put_four(char *at, uint64_t number)
{
	for (uint64_t least = 1000; least > number && least > 1; least /= 10)
		*at++ = '0';
	return put_number(at, number);
}

/* pid:[4026531836] */
static uint64_t pid_namespace(void)
{
	char text[64];
	uint64_t number = 0;

	if (gg_syscall_read_link("/proc/self/ns/pid", text, sizeof(text)) <= 0)
		return 0;
	for (const char *at = text; *at != '\0'; at++)
		if (*at >= '0' && *at <= '9')
			number = number * 10 + (uint64_t)(*at - '0');
	return number;
}

static char *put_gperftools(char *at, const struct gg_dump_serial *number, bool is_child)
{
	if (is_child) {
		*at++ = '_';
		at = put_number(at, (uint64_t)getpid());
	}
	*at++ = '.';
	return put_four(at, number->sequence + 1);
}

static char *put_jemalloc(char *at, const struct gg_dump_serial *number, bool with_namespace)
{
	*at++ = '.';
	if (with_namespace) {
		at = put_number(at, pid_namespace());
		*at++ = '.';
	}
	at = put_number(at, (uint64_t)getpid());
	*at++ = '.';
	at = put_number(at, number->sequence);
	*at++ = '.';
	*at++ = number->kind;
	return number->kind == 'f' ? at : put_number(at, number->of_kind);
}

void gg_dump_name_write(char name[GG_DUMP_NAME_MAX], const struct gg_agent_triggers *triggers,
                        const struct gg_dump_serial *number, bool is_child)
{
	char *at = stpcpy(name, triggers->prefix);

	if (triggers->names == GG_AGENT_NAMES_GPERFTOOLS)
		at = put_gperftools(at, number, is_child);
	else
		at = put_jemalloc(at, number, triggers->names == GG_AGENT_NAMES_JEMALLOC_NAMESPACE);
	stpcpy(at, ".heap");
}

/* The dump of that sequence goes, if it is there: each is removed once. */
static void drop(char name[GG_DUMP_NAME_MAX], const struct gg_agent_triggers *triggers,
                 uint64_t sequence, bool is_child)
{
	uint64_t *word = &written[sequence % GG_AGENT_DUMPS_KEPT_MAX];
	/* Acquire: pairs with gg_dump_name_register(), after which the file has its name. */
	uint64_t seen = gg_exchange_acq_rel(word, 0);
	struct gg_dump_serial number = { .sequence = sequence,
		                         .kind = (char)(seen & ((1 << NUMBER_SHIFT) - 1)),
		                         .of_kind = (seen >> NUMBER_SHIFT) - 1 };

	if (seen == 0)
		return;
	gg_dump_name_write(name, triggers, &number, is_child);
	unlink(name);
}

void gg_dump_name_register(char name[GG_DUMP_NAME_MAX], const struct gg_agent_triggers *triggers,
                           const struct gg_dump_serial *number, bool is_child)
{
	uint64_t newest;

	gg_exchange_seq_cst(&written[number->sequence % GG_AGENT_DUMPS_KEPT_MAX],
	                    (number->of_kind + 1) << NUMBER_SHIFT | (uint8_t)number->kind);
	if (triggers->keep == 0)
		return;
	/*
	 * Sequentially consistent, so that of two threads which finish at once at least one sees
	 * the other's dump.
	 */
	newest = gg_load_seq_cst(&next_sequence) - 1;
	if (number->sequence + triggers->keep <= newest)
		drop(name, triggers, number->sequence, is_child);
	if (number->sequence >= triggers->keep)
		drop(name, triggers, number->sequence - triggers->keep, is_child);
}
