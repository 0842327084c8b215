/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nursery_live SCHEME INTERVAL FOLDER PROGRAM.scm - the example's interpreter with one function
 * more:
 *
 *   (check major?)   collects; prints what the heap holds then, as "CHECK TYPE OBJECTS BYTES"
 *                    lines; and writes what is recorded then to the file FOLDER/CHECK.region
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "vm.h"

static const char *folder;
static int check_count;

static value check(struct vm *vm, const value *arguments, uint32_t count)
{
	struct heap_count counts[TYPE_COUNT];
	char path[4096];
	int error;

	(void)count;
	heap_collect(&vm->heap, arguments[0] != VALUE_FALSE);
	heap_count_old(&vm->heap, counts);
	for (int type = 0; type < TYPE_COUNT; type++)
		printf("%d %s %llu %llu\n", check_count, type_names[type],
		       (unsigned long long)counts[type].objects,
		       (unsigned long long)counts[type].bytes);
	snprintf(path, sizeof(path), "%s/%d.region", folder, check_count++);
	error = geiger_snapshot(path);
	if (error != 0)
		vm_fail(vm, "%s: %s", path, strerror(-error));
	return VALUE_UNSPECIFIED;
}

int main(int argc, char **argv)
{
	static const struct primitive primitive = { "check", check, 1, 1 };
	static struct vm vm;
	struct vm_options options = { 0 };
	struct geiger_options recording = { 0 };
	char *text = NULL;
	size_t room = 0;
	FILE *file = argc == 5 ? fopen(argv[4], "re") : NULL;

	if (file == NULL || getdelim(&text, &room, '\0', file) < 0)
		return 2;
	fclose(file);
	folder = argv[3];
	options.heap.nursery_bytes = 64 << 10;
	options.heap.profile.scheme = (enum geiger_scheme)atoi(argv[1]);
	options.heap.profile.interval_bytes = strtoull(argv[2], NULL, 10);
	options.heap.profile.seed = 1;
	if (geiger_recording_to() == GEIGER_TO_NOWHERE && geiger_start(&recording) != 0)
		return 3;
	vm_init(&vm, &options);
	vm_add_primitives(&vm, &primitive, 1);
	vm_run(&vm, "live.scm", text);
	vm_done(&vm);
	free(text);
	return 0;
}
