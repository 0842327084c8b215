/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded links: a write to a free block ends the process with a message, wherever it is found. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "geiger/malloc.h"
#include "malloc/list_link.h"
#include "test.h"

enum { BLOCKS = 300, ROUNDS = 40 };

static void *volatile hidden;

static char *hide(void *p)
{
	hidden = p;
	return hidden;
}

/* Returns the text of a child that SIGABRT ends; "" if it lives on.  Static. */
static const char *message_of(void (*damage)(size_t bytes), size_t bytes)
{
	static const struct rlimit no_core;
	static char text[1024];
	int fd = memfd_create("message", 0), status = 0;
	pid_t child = fork();
	ssize_t length;

	if (child == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		dup2(fd, STDERR_FILENO);
		damage(bytes);
		_exit(0);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	length = pread(fd, text, sizeof(text) - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	close(fd);
	if (!WIFEXITED(status))
		CHECK_EQ_I64(WTERMSIG(status), SIGABRT);
	return WIFEXITED(status) ? "" : text;
}

/* Many allocations, so that the damaged block is handed out. */
static void use_up(size_t bytes)
{
	for (int i = 0; i < ROUNDS * BLOCKS; i++)
		memset(hide(geiger_malloc(bytes)), 1, bytes);
}

static char *free_many(size_t bytes)
{
	static char *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = hide(geiger_malloc(bytes));
	/* Every other one, so that no slab goes back. */
	for (int i = 0; i < BLOCKS; i += 2)
		geiger_free(blocks[i]);
	return blocks[BLOCKS / 2];
}

/* A pointer of the program: what an attacker would have malloc() return. */
static void write_pointer(size_t bytes)
{
	static char target[64];
	char *p = free_many(bytes), *value = target;

	memcpy(p, &value, sizeof(value));
	use_up(bytes);
}

static void write_zeros(size_t bytes)
{
	memset(free_many(bytes), 0, 16);
	use_up(bytes);
}

static void write_one_byte(size_t bytes)
{
	char *p = free_many(bytes);

	p[6] ^= 0x55;
	use_up(bytes);
}

static void write_nothing(size_t bytes)
{
	free_many(bytes);
	use_up(bytes);
}

static bool is_message(const char *text)
{
	return strncmp(text, "geiger-malloc: the free block at 0x", 35) == 0 &&
	       strstr(text, "was written to") != NULL;
}

TEST(a_damaged_link_ends_in_a_message)
{
	static const size_t sizes[] = { 16, 64, 200, 1024, 5000, 32768 };

	for (size_t i = 0; i < GG_COUNT(sizes); i++) {
		CHECK_MSG(is_message(message_of(write_pointer, sizes[i])), "%zu", sizes[i]);
		CHECK_MSG(is_message(message_of(write_zeros, sizes[i])), "%zu", sizes[i]);
		CHECK_MSG(is_message(message_of(write_one_byte, sizes[i])), "%zu", sizes[i]);
		CHECK_EQ_STR(message_of(write_nothing, sizes[i]), "");
	}
}

/* The first word of a freed block is no address of the heap. */
TEST(a_link_tells_no_address)
{
	char *blocks[64];
	uintptr_t word;
	int near_count = 0;

	for (int i = 0; i < 64; i++)
		blocks[i] = hide(geiger_malloc(64));
	for (int i = 0; i < 64; i++)
		geiger_free(blocks[i]);
	for (int i = 0; i < 64; i++) {
		memcpy(&word, hide(blocks[i]), sizeof(word));
		near_count += (word ^ (uintptr_t)blocks[i]) >> 40 == 0;
	}
	CHECK_EQ_I64(near_count, 0);
	CHECK(gg_malloc_link_key != 0);
}
