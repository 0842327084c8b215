/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 100 000 distinct addresses in 200 modules with full DWARF: how long until all are functions and
 * lines, and how much memory that takes.
 *
 * The modules are one shared object of C++ (bench/symbol_module.cc), compiled here and copied with
 * build-ids of their own, so that each has to be read.  BENCH_SYMBOL_MODULES and
 * BENCH_SYMBOL_ADDRESSES change how many; TMPDIR says where (about 1.4 GB).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "symbol/symbol.h"

enum { OBJECTS = 3, BUILD_ID_BYTES = 20, PATH_BYTES = 300 };

struct modules {
	char dir[PATH_BYTES];
	size_t count, addresses_each;
	struct gg_symbol_module *modules;
	uint64_t text_address, text_bytes;
};

static size_t from_environment(const char *name, size_t usual)
{
	const char *text = getenv(name);

	return text != NULL ? strtoul(text, NULL, 10) : usual;
}

static int shell(const char *dir, const char *command)
{
	char line[4 * PATH_BYTES];

	snprintf(line, sizeof(line), "cd '%s' && %s", dir, command);
	return system(line); // NOLINT
}

static int compile(const struct modules *m)
{
	char command[2 * PATH_BYTES];

	for (int i = 0; i < OBJECTS; i++) {
		snprintf(command, sizeof(command),
		         "c++ -O2 -g -fPIC -std=c++17 -DSEED=%d -c '%s' -o %d.o", i,
		         BENCH_SYMBOL_SOURCE, i);
		if (shell(m->dir, command) != 0)
			return -1;
	}
	return shell(m->dir, "c++ -shared -o module.so *.o -Wl,--build-id=0x"
	                     "67656967657267656967657267656967657267ff");
}

/* The linker's build-id, which the copies replace. */
static const uint8_t linked_id[BUILD_ID_BYTES] = "geigergeigergeigerg\xff";

static int copy_modules(struct modules *m)
{
	char path[2 * PATH_BYTES], line[256];
	struct stat status;
	uint8_t *bytes, *id;
	FILE *sections;
	int fd;

	snprintf(path, sizeof(path), "%s/module.so", m->dir);
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -1;
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	id = bytes != MAP_FAILED ? memmem(bytes, (size_t)status.st_size, linked_id, BUILD_ID_BYTES)
	                         : NULL;
	if (id == NULL)
		return -1;
	close(fd);
	for (size_t i = 0; i < m->count; i++) {
		struct gg_symbol_module *module = &m->modules[i];
		uint8_t *own_id = malloc(BUILD_ID_BYTES);

		memcpy(own_id, linked_id, BUILD_ID_BYTES);
		memcpy(own_id, &i, sizeof(i));
		memcpy(id, own_id, BUILD_ID_BYTES);
		snprintf(path, sizeof(path), "%s/%zu.so", m->dir, i);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || write(fd, bytes, (size_t)status.st_size) != status.st_size)
			return -1;
		close(fd);
		module->path = strdup(path);
		module->build_id = own_id;
		module->build_id_bytes = BUILD_ID_BYTES;
	}
	munmap(bytes, (size_t)status.st_size);
	snprintf(
		path, sizeof(path),
		"readelf -SW '%s/module.so' | sed 's/\\[ */[/' | awk '$2 == \".text\" { print $4, $6 }'",
		m->dir);
	sections = popen(path, "r"); // NOLINT
	if (sections == NULL || fgets(line, sizeof(line), sections) == NULL)
		return -1;
	pclose(sections);
	m->text_address = strtoull(line, NULL, 16);
	m->text_bytes = strtoull(strchr(line, ' '), NULL, 16);
	printf("%zu modules of %.1f MB, %.1f KB of code each\n", m->count,
	       (double)status.st_size / 1e6, (double)m->text_bytes / 1e3);
	return 0;
}

/* Distinct: each address is drawn from a part of the code of its own. */
static void choose_addresses(struct modules *m)
{
	uint64_t part = m->text_bytes / m->addresses_each;

	for (size_t i = 0; i < m->count; i++) {
		uint64_t *addresses = calloc(m->addresses_each, sizeof(*addresses));

		for (size_t j = 0; j < m->addresses_each; j++)
			addresses[j] = m->text_address + j * part +
			               gg_hash_integer(i * m->addresses_each + j, 7) % part;
		m->modules[i].addresses = addresses;
		m->modules[i].address_count = m->addresses_each;
	}
}

/* Resident bytes of this process and its children, now; the most of it is kept. */
static size_t most_resident_kb;

static void watch_memory(void *context, uint64_t done_count, uint64_t total_count, const char *what)
{
	char command[128], line[64];
	size_t kb = 0;
	FILE *list;

	(void)context;
	(void)done_count;
	(void)total_count;
	(void)what;
	snprintf(command, sizeof(command), "ps -o rss= -p %d --ppid %d", (int)getpid(),
	         (int)getpid());
	list = popen(command, "r"); // NOLINT
	while (list != NULL && fgets(line, sizeof(line), list) != NULL)
		kb += strtoul(line, NULL, 10);
	if (list != NULL)
		pclose(list);
	if (kb > most_resident_kb)
		most_resident_kb = kb;
}

/* Processor time of this process and of all children that have ended. */
static double cpu_seconds(void)
{
	double seconds = 0;

	for (int who = 0; who < 2; who++) {
		struct rusage usage;

		getrusage(who == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &usage);
		seconds += (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
		           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
	}
	return seconds;
}

static void run(const struct modules *m, const char *title, struct gg_symbol_options options)
{
	struct gg_error error = { 0 };
	struct gg_symbols *symbols;
	uint64_t start_ns = gg_clock_monotonic_ns(), frame_count = 0, named_count = 0;
	const struct gg_symbol_frame *frames;
	size_t cached_count = 0, full_count = 0;
	double seconds, cpu = cpu_seconds();

	most_resident_kb = 0;
	if (gg_symbols_resolve(&symbols, m->modules, m->count, &options, &error) < 0) {
		printf("%s: %s\n", title, error.message);
		return;
	}
	seconds = (double)(gg_clock_monotonic_ns() - start_ns) / 1e9;
	for (size_t i = 0; i < m->count; i++) {
		cached_count += gg_symbols_outcome(symbols, i)->from_cache;
		full_count += gg_symbols_outcome(symbols, i)->status == GG_SYMBOL_FULL;
		for (size_t j = 0; j < m->addresses_each; j++) {
			size_t count = gg_symbols_frames(symbols, i, j, &frames);

			frame_count += count;
			named_count += count > 0;
		}
	}
	cpu = cpu_seconds() - cpu;
	printf("%-26s %6.2f s, of processors %6.2f s; %zu modules in full, %zu from the cache; "
	       "%.1f %% named, %.2f frames each",
	       title, seconds, cpu, full_count, cached_count,
	       100.0 * (double)named_count / (double)(m->count * m->addresses_each),
	       (double)frame_count / (double)named_count);
	if (options.progress != NULL)
		printf("; %.0f MiB resident in all", (double)most_resident_kb / 1024);
	printf("\n");
	gg_symbols_free(symbols);
}

static void run_all(const struct modules *m)
{
	char cache[2 * PATH_BYTES];
	const struct gg_progress watched = { .report = watch_memory };
	struct rusage usage;

	snprintf(cache, sizeof(cache), "%s/cache", m->dir);
	run(m, "no cache", (struct gg_symbol_options){ .cache_dir = "", .offline = true });
	run(m, "no cache, one worker",
	    (struct gg_symbol_options){ .cache_dir = "", .offline = true, .workers = 1 });
	run(m, "no cache, memory watched",
	    (struct gg_symbol_options){ .cache_dir = "", .offline = true, .progress = &watched });
	run(m, "first run with a cache",
	    (struct gg_symbol_options){ .cache_dir = cache, .offline = true });
	run(m, "second run with it",
	    (struct gg_symbol_options){ .cache_dir = cache, .offline = true });
	getrusage(RUSAGE_CHILDREN, &usage);
	printf("largest worker or compiler: %.0f MiB resident", (double)usage.ru_maxrss / 1024);
	getrusage(RUSAGE_SELF, &usage);
	printf("; this process: %.0f MiB\n", (double)usage.ru_maxrss / 1024);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	struct modules m = { .count = from_environment("BENCH_SYMBOL_MODULES", 200) };
	char command[2 * PATH_BYTES];

	m.addresses_each = from_environment("BENCH_SYMBOL_ADDRESSES", 100000) / m.count;
	m.modules = calloc(m.count, sizeof(*m.modules));
	snprintf(m.dir, sizeof(m.dir), "%s/bench-symbol-XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (m.modules == NULL || mkdtemp(m.dir) == NULL) {
		perror(m.dir);
		return 1;
	}
	if (compile(&m) != 0 || copy_modules(&m) != 0) {
		printf("symbols: the modules could not be made (is there a C++ compiler?)\n");
	} else {
		choose_addresses(&m);
		run_all(&m);
	}
	snprintf(command, sizeof(command), "rm -r '%s'", m.dir);
	return system(command) == 0 ? 0 : 1; // NOLINT
}
