/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target once on each file that is given, and on each file of the folders that are
 * given: what the fuzzer once found stays found, with any compiler and sanitizer.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
	struct stat status;
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	int code = -1;

	if (file == NULL || fstat(fileno(file), &status) < 0)
		goto out;
	data = malloc((size_t)status.st_size + 1);
	if (data == NULL || fread(data, 1, (size_t)status.st_size, file) != (size_t)status.st_size)
		goto out;
	code = LLVMFuzzerTestOneInput(data, (size_t)status.st_size);
out:
	if (code != 0)
		printf("%s: cannot be replayed\n", path);
	free(data);
	if (file != NULL)
		fclose(file);
	return code;
}

int main(int argc, char **argv)
{
	int run_count = 0, failed_count = 0;

	for (int i = 1; i < argc; i++) {
		DIR *folder = opendir(argv[i]);

		if (folder == NULL) {
			run_count++;
			failed_count += run_file(argv[i]) != 0;
			continue;
		}
		for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
			char path[4096];

			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			run_count++;
			failed_count += run_file(path) != 0;
		}
		closedir(folder);
	}
	printf("%d inputs replayed\n", run_count);
	printf("%s - every_input_of_the_corpus_is_survived\n",
	       run_count > 0 && failed_count == 0 ? "ok" : "FAILED");
	return run_count > 0 && failed_count == 0 ? 0 : 1;
}
