/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search - a server of songs, at the peak of its day: many requests at once, then none.
 *
 *   search REQUESTS SECONDS   answers them all, prints its RSS, and stays for so many seconds
 *
 * It remembers each visitor.  With -DPOOL, visitors have memory of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct word {
	struct word *next;
	char text[];
};

struct visitor {
	struct visitor *next;
	unsigned long number, songs;
	char name[168];
};

struct request {
	struct word *words;
	struct visitor *visitor;
};

static struct visitor *visitors;

static void *xmalloc(size_t bytes)
{
	void *memory = malloc(bytes);

	if (memory == NULL)
		abort();
	return memory;
}

static struct visitor *new_visitor(void)
{
#ifdef POOL
	enum { COUNT = 5000 };
	static struct visitor *pool;
	static size_t used = COUNT;

	if (used == COUNT) {
		pool = xmalloc(COUNT * sizeof(*pool));
		used = 0;
	}
	return &pool[used++];
#else
	return xmalloc(sizeof(struct visitor));
#endif
}

static struct visitor *remember_visitor(unsigned long number)
{
	struct visitor *visitor = new_visitor();

	memset(visitor, 0, sizeof(*visitor));
	visitor->number = number;
	snprintf(visitor->name, sizeof(visitor->name), "visitor %lu", number);
	visitor->next = visitors;
	visitors = visitor;
	return visitor;
}

static void parse_words(struct request *request, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++) {
		size_t bytes = sizeof(struct word) + 130 + i * 53 % 200;
		struct word *word = xmalloc(bytes);

		memset(word, 'a', bytes);
		word->next = request->words;
		request->words = word;
	}
}

static void parse_request(struct request *request, unsigned long number)
{
	request->words = NULL;
	parse_words(request, 10);
	request->visitor = remember_visitor(number);
	parse_words(request, 10);
}

static void answer_request(struct request *request)
{
	while (request->words != NULL) {
		struct word *word = request->words;

		request->words = word->next;
		request->visitor->songs++;
		free(word);
	}
}

static unsigned long rss_mib(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
		return 0;
	fclose(file);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE) >> 20;
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	struct request *requests = xmalloc(count * sizeof(*requests));

	printf("%lu requests come, RSS %lu MiB\n", count, rss_mib());
	for (unsigned long i = 0; i < count; i++)
		parse_request(&requests[i], i);
	printf("all of them wait, RSS %lu MiB\n", rss_mib());
	for (unsigned long i = 0; i < count; i++)
		answer_request(&requests[i]);
	free(requests);
	printf("all are answered, RSS %lu MiB\n", rss_mib());
	fflush(stdout);
	sleep(seconds);
	return 0;
}
