/* SPDX-License-Identifier: Apache-2.0 */
/* bad_free - writes the message by system calls. */
#include "malloc/bad_free.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 200 };

static char *put_text(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length);
	return at + length;
}

static char *put_address(char *at, const void *p)
{
	uintptr_t address = (uintptr_t)p;
	int shift = 60;

	at = put_text(at, "0x");
	while (shift > 0 && address >> shift == 0)
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[address >> shift & 15];
	return at;
}

__attribute__((noreturn)) static void end_with(const char *message, const char *end)
{
	syscall(SYS_write, 2, message, (size_t)(end - message));
	/* A handler of the program may print more; if it returns, this is the end. */
	syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGABRT);
	__builtin_trap();
}

__attribute__((noreturn)) static void end_call(const char *function, const void *p, const char *why)
{
	char message[MESSAGE_BYTES], *at = message;

	at = put_text(at, "geiger-malloc: ");
	at = put_text(at, function);
	at = put_text(at, "(");
	at = put_address(at, p);
	at = put_text(at, "): ");
	at = put_text(at, why);
	at = put_text(at, "\n");
	end_with(message, at);
}

void gg_malloc_bad_free(const void *p, const char *why)
{
	end_call("free", p, why);
}

void gg_malloc_bad_realloc(const void *p, const char *why)
{
	end_call("realloc", p, why);
}

void gg_malloc_bad_link(const struct gg_malloc_block *block)
{
	char message[MESSAGE_BYTES], *at = message;

	at = put_text(at, "geiger-malloc: the free block at ");
	at = put_address(at, block);
	at = put_text(at, " was written to: its link to the next one is damaged\n");
	end_with(message, at);
}
