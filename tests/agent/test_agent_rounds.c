/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_agent_rounds - attaches and detaches the agent many times while the program works.
 *
 * GG_TEST_ROUNDS is the number of rounds.  Threads allocate, check what they wrote into their
 * blocks, and free blocks of each other; libraries come and go; children are forked.  Each region
 * must be consistent, and at the end every slot and all code must be as before the first round.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/late.h"
#include "agent/place.h"
#include "random.h"
#include "region/control.h"
#include "region/reader/view.h"
#include "test.h"

enum { THREADS = 4, BLOCKS = 64, ROUNDS = 150, CHECKED_EVERY = 10 };

static atomic_bool ends;
static atomic_uint wrong_count;
static void *_Atomic shared[BLOCKS]; /* blocks that one thread makes and another one frees */

/* --- the program's work --- */

static void fill(unsigned char *p, size_t bytes)
{
	memset(p, (int)(bytes & 0xff), bytes);
	if (bytes >= sizeof(bytes))
		memcpy(p, &bytes, sizeof(bytes));
}

static void check_and_free(unsigned char *p)
{
	size_t bytes;

	if (p == NULL)
		return;
	memcpy(&bytes, p, sizeof(bytes));
	for (size_t i = sizeof(bytes); i < bytes; i += 61)
		if (p[i] != (bytes & 0xff))
			wrong_count++;
	free(p);
}

static void step(uint64_t r)
{
	size_t bytes = 8 + (r >> 8) % 3000, larger = bytes + 500;
	unsigned char *p = r % 3 == 0 ? calloc(1, bytes) : malloc(bytes);

	if (r % 3 == 0)
		for (size_t i = 0; i < bytes; i++)
			wrong_count += p[i] != 0;
	if (r % 5 == 0) {
		unsigned char *moved = realloc(p, larger);

		if (moved == NULL)
			abort();
		p = moved;
		bytes = larger;
	}
	fill(p, bytes);
	check_and_free(atomic_exchange(&shared[(r >> 32) % BLOCKS], p));
}

static void *work(void *argument)
{
	uint64_t state = (uintptr_t)argument;

	while (!ends)
		step(random_next(&state));
	return NULL;
}

static void *load_and_unload(void *argument)
{
	typedef void *allocate(size_t);
	typedef void release(void *);

	while (!ends) {
		void *library = dlopen(argument, RTLD_LAZY | RTLD_LOCAL), *p;

		if (library == NULL) {
			wrong_count++;
			break;
		}
		p = ((allocate *)dlsym(library, "visitor_allocate"))(100);
		((release *)dlsym(library, "visitor_release"))(p);
		dlclose(library);
	}
	return NULL;
}

static void *fork_children(void *argument)
{
	uint64_t state = 77;

	(void)argument;
	while (!ends) {
		int status = -1;
		pid_t child = fork();

		if (child == 0) {
			for (int i = 0; i < 50; i++)
				step(random_next(&state));
			_exit(wrong_count != 0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			wrong_count++;
	}
	return NULL;
}

static void *allocate_once(void *argument)
{
	(void)argument;
	return malloc(64);
}

static void *begin_and_end_threads(void *argument)
{
	pthread_t thread;
	void *p;

	(void)argument;
	while (!ends) {
		if (pthread_create(&thread, NULL, allocate_once, NULL) != 0) {
			wrong_count++;
			break;
		}
		pthread_join(thread, &p);
		free(p);
	}
	return NULL;
}

/* --- the slots and the code of all modules but the agent --- */

struct slot_value {
	uint64_t value;
	const char *name;
};

struct image {
	struct slot_value *values;
	size_t count, capacity;
	uint64_t code_hash;
};

static void add_slot(struct image *image, uint64_t value, const char *name)
{
	if (image->count == image->capacity) {
		image->capacity = image->capacity * 2 + 1024;
		image->values = realloc(image->values, image->capacity * sizeof(*image->values));
	}
	image->values[image->count++] = (struct slot_value){ value, name };
}

struct scanned {
	uint64_t base;
	const Elf64_Sym *symbols;
	const char *names;
};

static void add_relocations(struct image *image, const struct scanned *module,
                            const Elf64_Rela *relocations, size_t count)
{
	for (size_t i = 0; relocations != NULL && i < count; i++) {
		uint32_t type = ELF64_R_TYPE(relocations[i].r_info);

#if defined(__x86_64__)
		if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64)
#else
		if (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
		    type == R_AARCH64_ABS64)
#endif
			add_slot(image, *(uint64_t *)(module->base + relocations[i].r_offset),
			         module->names + module->symbols[ELF64_R_SYM(relocations[i].r_info)]
			                                 .st_name);
	}
}

static const void *address_of(uint64_t base, uint64_t value)
{
	return (const void *)(value < base ? base + value : value);
}

static int add_module(struct dl_phdr_info *info, size_t bytes, void *context)
{
	const Elf64_Rela *relocations = NULL, *calls = NULL;
	struct scanned module = { .base = info->dlpi_addr };
	size_t relocation_bytes = 0, call_bytes = 0;
	struct image *image = context;

	(void)bytes;
	if (strstr(info->dlpi_name, "geiger-agent") != NULL || info->dlpi_name[0] == 'l')
		return 0; /* the agent, and linux-vdso.so.1 */
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const unsigned char *begin = (const void *)(info->dlpi_addr + header->p_vaddr);

		if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0)
			for (size_t k = 0; k < header->p_memsz; k++)
				image->code_hash = image->code_hash * 31 + begin[k];
		if (header->p_type != PT_DYNAMIC)
			continue;
		for (const Elf64_Dyn *d = (const void *)begin; d->d_tag != DT_NULL; d++) {
			if (d->d_tag == DT_RELA)
				relocations = address_of(info->dlpi_addr, d->d_un.d_ptr);
			if (d->d_tag == DT_SYMTAB)
				module.symbols = address_of(module.base, d->d_un.d_ptr);
			if (d->d_tag == DT_STRTAB)
				module.names = address_of(module.base, d->d_un.d_ptr);
			if (d->d_tag == DT_JMPREL)
				calls = address_of(info->dlpi_addr, d->d_un.d_ptr);
			if (d->d_tag == DT_RELASZ)
				relocation_bytes = d->d_un.d_val;
			if (d->d_tag == DT_PLTRELSZ)
				call_bytes = d->d_un.d_val;
		}
	}
	add_relocations(image, &module, relocations, relocation_bytes / sizeof(Elf64_Rela));
	add_relocations(image, &module, calls, call_bytes / sizeof(Elf64_Rela));
	return 0;
}

static struct image image_now(void)
{
	struct image image = { .capacity = 1 << 16 };

	image.values = malloc(image.capacity * sizeof(*image.values));
	dl_iterate_phdr(add_module, &image);
	return image;
}

/* The lines of /proc/self/maps that belong to modules other than the agent. */
static char *maps_now(void)
{
	char line[8192], *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes), *from = fopen("/proc/self/maps", "r");

	while (from != NULL && fgets(line, sizeof(line), from) != NULL)
		if (strstr(line, "/") != NULL && strstr(line, "geiger") == NULL)
			fputs(line, to);
	if (from != NULL)
		fclose(from);
	fclose(to);
	return text;
}

/* --- the rounds --- */

struct rounds {
	char directory[64];
	struct image before;
	char *maps_before;
};

static void rounds_setup(struct rounds *r)
{
	snprintf(r->directory, sizeof(r->directory), "/dev/shm/geiger-test-XXXXXX");
	REQUIRE(mkdtemp(r->directory) != NULL);
	setenv("GEIGER_DIR", r->directory, 1);
	ends = false;
	/*
	 * Binds every slot that the work uses.  The slots of the first test are remembered before
	 * the agent is ever attached, those of the others after some detach.
	 */
	for (uint64_t i = 0, state = 5; i < 1000; i++)
		step(random_next(&state));
	free(maps_now());
	free(image_now().values);
}

static void rounds_teardown(struct rounds *r)
{
	place_remove(r->directory);
}

FIXTURE(rounds)

static void remember(struct rounds *r)
{
	r->maps_before = maps_now();
	r->before = image_now();
}

/*
 * True for each slot that may not differ.  Others of a program that is bound lazily may be bound
 * meanwhile by the program itself; what the work calls is bound before.
 */
static bool must_stay(const char *name)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "free", "_exit" };

	if (getenv("LD_BIND_NOW") != NULL)
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void compare(struct rounds *r)
{
	struct image now = image_now();
	size_t different = 0;
	char *maps = maps_now();

	CHECK_EQ_U64(now.count, r->before.count);
	for (size_t i = 0; i < now.count && i < r->before.count; i++)
		if (now.values[i].value != r->before.values[i].value &&
		    must_stay(now.values[i].name)) {
			printf("the slot of %s differs\n", now.values[i].name);
			different++;
		}
	CHECK_EQ_U64(different, 0);
	CHECK_EQ_U64(now.code_hash, r->before.code_hash);
	CHECK_EQ_STR(maps, r->maps_before);
	free(now.values);
	free(maps);
	free(r->before.values);
	free(r->maps_before);
}

static bool is_whole(const char *path)
{
	struct gg_region_view view;
	struct gg_error error;
	bool is;

	if (gg_region_view_open(&view, path, &error) < 0) {
		printf("%s\n", error.message);
		return false;
	}
	is = gg_region_view_check(&view, NULL) == 0 && view.header.end_monotonic_ns != 0 &&
	     view.header.attach.flags == GG_REGION_DETACHED;
	printf("# %u samples, %u missed frees, %u scans, %u slots, %u foreign\n",
	       (unsigned)view.header.counters[GG_COUNT_SAMPLES],
	       (unsigned)view.header.counters[GG_COUNT_MISSED_FREES], view.header.attach.scan_count,
	       view.header.attach.slot_count, view.header.attach.foreign_count);
	gg_region_view_done(&view);
	return is;
}

enum { TRIES = 600000, PAUSE_US = 100 };

/* Repeats a call that another thread's work keeps from being done at once, for a minute. */
#define UNTIL_NOT_BUSY(call)                              \
	do {                                              \
		for (int try = 0; try < TRIES; try++) {   \
			if ((call) != -EBUSY)             \
				break;                    \
			usleep(try < 100 ? 0 : PAUSE_US); \
		}                                         \
	} while (0)

static void attach_and_detach(int round, const char *directory)
{
	struct gg_attach_request request = late_request("GEIGER_KEEP=2\n");
	struct gg_attach_result attached, detached;

	request.interval_bytes = round % 3 == 0 ? 1 : round % 3 == 1 ? 4096 : 1 << 19;
	request.seed = (uint64_t)round + 1;
	UNTIL_NOT_BUSY(late_attach(&request, &attached));
	CHECK_MSG(attached.status == 0, "round %d: attach: %d %s", round, attached.status,
	          attached.reason);
	for (int i = 0; i < round % 7; i++)
		sched_yield();
	UNTIL_NOT_BUSY(late_detach(&detached));
	CHECK_MSG(detached.status == 0, "round %d: detach: %d %s", round, detached.status,
	          detached.reason);
	CHECK(strncmp(attached.region, directory, strlen(directory)) == 0);
	if (round % CHECKED_EVERY != 0)
		return;
	/* Another thread may be the last one to leave. */
	for (int i = 0; i < 60000 && detached.state != GG_ATTACH_STATE_DETACHED; i++) {
		usleep(1000);
		late_detach(&detached);
	}
	CHECK_MSG(is_whole(attached.region), "round %d: %s", round, attached.region);
}

static int round_count(void)
{
	const char *text = getenv("GG_TEST_ROUNDS");

	return text != NULL ? atoi(text) : ROUNDS;
}

static void run_rounds(struct rounds *r, void *(*body)(void *), void *argument, int thread_count)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < thread_count; i++)
		REQUIRE(pthread_create(&threads[i], NULL, body,
		                       argument != NULL ? argument : (void *)(uintptr_t)(i + 1)) ==
		        0);
	for (int i = 0; i < round_count() && !test_failed; i++)
		attach_and_detach(i, r->directory);
	ends = true;
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ_U64(wrong_count, 0);
}

TEST_WITH(rounds, a_program_of_one_thread_is_as_before)
{
	remember(rounds);
	for (int i = 0; i < round_count() && !test_failed; i++) {
		uint64_t state = (uint64_t)i + 1;

		attach_and_detach(i, rounds->directory);
		for (int k = 0; k < 20; k++)
			step(random_next(&state));
	}
	CHECK_EQ_U64(wrong_count, 0);
	compare(rounds);
}

TEST_WITH(rounds, threads_allocate_and_free_meanwhile)
{
	remember(rounds);
	run_rounds(rounds, work, NULL, THREADS);
	compare(rounds);
}

TEST_WITH(rounds, libraries_come_and_go_meanwhile)
{
	run_rounds(rounds, load_and_unload, getenv("VISITOR"), 2);
}

/* gperftools' debug library does not release a lock of its own in forked children, which hang. */
TEST_WITH(rounds, children_are_forked_meanwhile)
{
	if (dlsym(RTLD_DEFAULT, "_ZN11MallocBlock15alloc_map_lock_E") != NULL)
		SKIP("forked children of this allocator hang without geiger, too");
	run_rounds(rounds, fork_children, NULL, 2);
}

TEST_WITH(rounds, threads_begin_and_end_meanwhile)
{
	run_rounds(rounds, begin_and_end_threads, NULL, 2);
}
