/* SPDX-License-Identifier: Apache-2.0 */
/* sites_program PLUGIN - runs all sites and prints what each of them did (sites.h). */
#include "sites.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAIN(name, call)                                         \
	SITE_RANGE(name);                                         \
	SITE_CODE(name) static void *allocate_##name(size_t size) \
	{                                                         \
		void *block = call;                               \
                                                                  \
		SITE_KEEP(block);                                 \
		return block;                                     \
	}

PLAIN(tiny, malloc(size))
PLAIN(small, malloc(size))
PLAIN(text, calloc(1, size))
PLAIN(node, calloc(size / 8, 8))
PLAIN(record, malloc(size))
PLAIN(page, aligned_alloc(64, size))
PLAIN(buffer, malloc(size))
PLAIN(chunk, realloc(NULL, size))
PLAIN(image, malloc(size))
PLAIN(huge, malloc(size))
PLAIN(thread_small, malloc(size))
PLAIN(thread_large, malloc(size))

/* Inlined into its caller, whose section it therefore shares. */
static inline __attribute__((always_inline)) void *inlined(size_t size)
{
	void *block = malloc(size);

	SITE_KEEP(block);
	return block;
}

SITE_RANGE(inlined);
SITE_CODE(inlined) static void *allocate_inlined(size_t size)
{
	void *block = inlined(size + 8);

	SITE_KEEP(block);
	return block;
}

/* Calls itself five times before it allocates: total must count it once. */
SITE_RANGE(recursive);
SITE_CODE(recursive) static void *descend(size_t size, int depth)
{
	void *block = depth > 0 ? descend(size, depth - 1) : malloc(size);

	SITE_KEEP(block);
	return block;
}

static void *allocate_recursive(size_t size)
{
	return descend(size, 5);
}

SITE_RANGE(grown);
SITE_CODE(grown) static void *allocate_grown(size_t size)
{
	void *block = realloc(NULL, size);

	SITE_KEEP(block);
	return block;
}

#define SITE(name, size, count)                                                                    \
	{                                                                                          \
#name, __start_code_##name, __stop_code_##name, size, count, allocate_##name, NULL \
	}

static const struct site sites[] = {
	SITE(tiny, 8, 120000),   SITE(small, 16, 80000),   SITE(text, 40, 40000),
	SITE(node, 64, 30000),   SITE(record, 200, 10000), SITE(page, 4096, 500),
	SITE(buffer, 8192, 300), SITE(chunk, 65536, 40),   SITE(image, 262144, 12),
	SITE(huge, 1 << 20, 6),  SITE(inlined, 992, 2000), SITE(recursive, 2000, 1000),
	SITE(grown, 16384, 150),
};
static const struct site thread_sites[] = {
	SITE(thread_small, 100, 20000),
	SITE(thread_large, 131072, 20),
};

/* Keeps every second block; the list of the kept ones is in the blocks themselves. */
static void run_site(const struct site *site)
{
	static __thread void *kept; /* reachable to the end */

	for (unsigned i = 0; i < site->count; i += 2) {
		void *first = site->allocate(site->size_bytes);
		void *second = site->allocate(site->size_bytes);

		if (first == NULL || second == NULL)
			abort();
		memcpy(first, &kept, sizeof(kept));
		kept = first;
		if (site->release != NULL)
			site->release(second);
		else
			free(second);
	}
}

static sem_t has_begun;

static void *run_thread(void *site)
{
	free(malloc(16)); /* it has its stream of samples from here on */
	sem_post(&has_begun);
	run_site(site);
	return NULL;
}

static void print_site(const struct site *site)
{
	size_t size = site->size_bytes + (strcmp(site->name, "inlined") == 0 ? 8 : 0);
	unsigned long long live = site->count / 2, all = site->count;
	const char *base, *file;
	Dl_info info;

	if (dladdr(site->from, &info) == 0)
		abort();
	base = info.dli_fbase;
	file = strrchr(info.dli_fname, '/');
	printf("site %s %s %#tx %#tx %llu %llu %llu %llu\n", site->name,
	       file != NULL ? file + 1 : info.dli_fname, (const char *)site->from - base,
	       (const char *)site->to - base, live * size, live, all * size, all);
}

int main(int argc, char **argv)
{
	void *plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	const struct site *more = plugin != NULL ? dlsym(plugin, "sites_plugin") : NULL;
	pthread_t threads[2];

	if (more == NULL) {
		fprintf(stderr, "sites_program: no plugin\n");
		return 2;
	}
	for (unsigned i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
		run_site(&sites[i]);
	for (unsigned i = 0; i < sites_cxx_count; i++)
		run_site(&sites_cxx[i]);
	for (unsigned i = 0; i < 2; i++)
		run_site(&more[i]);
	/* One after the other, so that each has the same samples at each run. */
	for (unsigned i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, run_thread, (void *)&thread_sites[i]) != 0)
			abort();
		while (sem_wait(&has_begun) != 0)
			;
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < sizeof(sites) / sizeof(sites[0]); i++)
		print_site(&sites[i]);
	for (unsigned i = 0; i < sites_cxx_count; i++)
		print_site(&sites_cxx[i]);
	for (unsigned i = 0; i < 2; i++)
		print_site(&more[i]);
	for (unsigned i = 0; i < 2; i++)
		print_site(&thread_sites[i]);
	return 0;
}
