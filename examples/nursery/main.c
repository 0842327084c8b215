/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nursery - runs a Scheme program on a heap with a generational copying collector; README.md.
 *
 *   nursery [OPTION]... PROGRAM.scm [NUMBER]...
 *
 * The numbers are for the program: (argument 0 18) is the first one, or 18.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

static const char usage[] =
	"nursery [OPTION]... PROGRAM.scm [NUMBER]...\n"
	"\n"
	"  --off              no sampling\n"
	"  --interval=BYTES   mean sampling interval; without it that of the recording\n"
	"  --scheme=NAME      bernoulli, poisson or stride\n"
	"  --seed=NUMBER      of the samples; without it they differ from run to run\n"
	"  --record           record also where nobody asked for it (see geiger_start())\n"
	"  --nursery=BYTES    size of the nursery, 4 MiB without it\n"
	"  --stress           collect at each allocation\n"
	"  --statistics       what the collector did, to standard error\n";

struct settings {
	struct vm_options vm;
	bool record, statistics;
};

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "nursery: %s: %s\n\n%s", what, why, usage);
	exit(2);
}

/* The rest of an argument that begins so; NULL if it does not. */
static const char *after(const char *argument, const char *prefix)
{
	size_t length = strlen(prefix);

	return strncmp(argument, prefix, length) == 0 ? argument + length : NULL;
}

static uint64_t parse_number(const char *argument, const char *text)
{
	char *end;
	uint64_t number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || text[0] == '-')
		fail(argument, "a number was expected");
	return number;
}

static enum geiger_scheme parse_scheme(const char *argument, const char *text)
{
	if (strcmp(text, "bernoulli") == 0)
		return GEIGER_BERNOULLI;
	if (strcmp(text, "poisson") == 0)
		return GEIGER_POISSON;
	if (strcmp(text, "stride") == 0)
		return GEIGER_STRIDE;
	fail(argument, "there is no such scheme");
}

static void parse_option(struct settings *settings, const char *argument)
{
	struct heap_options *heap = &settings->vm.heap;
	const char *text;

	if (strcmp(argument, "--off") == 0)
		heap->profile.off = true;
	else if ((text = after(argument, "--interval=")) != NULL)
		heap->profile.interval_bytes = parse_number(argument, text);
	else if ((text = after(argument, "--scheme=")) != NULL)
		heap->profile.scheme = parse_scheme(argument, text);
	else if ((text = after(argument, "--seed=")) != NULL)
		heap->profile.seed = parse_number(argument, text);
	else if (strcmp(argument, "--record") == 0)
		settings->record = true;
	else if ((text = after(argument, "--nursery=")) != NULL)
		heap->nursery_bytes = parse_number(argument, text) & ~(size_t)4095;
	else if (strcmp(argument, "--stress") == 0)
		heap->stress = true;
	else if (strcmp(argument, "--statistics") == 0)
		settings->statistics = true;
	else
		fail(argument, "there is no such option");
}

/* The whole file, ended by a zero; free() it. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t room = 0;

	if (file == NULL)
		fail(path, strerror(errno));
	/* "Up to the first zero", which a program does not have. */
	if (getdelim(&text, &room, '\0', file) < 0)
		fail(path, "the file is empty, or no file");
	fclose(file);
	return text;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static void print_statistics(const struct heap *heap)
{
	fprintf(stderr,
	        "%llu minor and %llu major collections, %llu bytes promoted, %zu in the old space\n",
	        (unsigned long long)heap->minor_count, (unsigned long long)heap->major_count,
	        (unsigned long long)heap->promoted_bytes, heap->old.bytes);
}

int main(int argc, char **argv)
{
	struct settings settings = { 0 };
	struct geiger_options recording = { 0 };
	static struct vm vm;
	char *text;
	int i, error;

	for (i = 1; i < argc && argv[i][0] == '-'; i++)
		parse_option(&settings, argv[i]);
	if (i >= argc) {
		fputs(usage, stderr);
		return 2;
	}
	text = read_file(argv[i]);
	settings.vm.arguments = (const char *const *)&argv[i + 1];
	recording.interval_bytes = settings.vm.heap.profile.interval_bytes;
	if (settings.record && (error = geiger_start(&recording)) != 0)
		fail("--record", strerror(-error));

	vm_init(&vm, &settings.vm);
	vm_run(&vm, base_name(argv[i]), text);
	fflush(stdout);
	if (settings.statistics)
		print_statistics(&vm.heap);
	free(text);
	return 0; /* without vm_done(): what is alive now is what the profile shows at its end */
}
