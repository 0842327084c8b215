/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gperftools_program MODE [PREFIX] - a program that was written for gperftools, by its headers, and
 * is linked to nothing of it.
 *
 *   env            3000 blocks of 1000 bytes, for what HEAPPROFILE makes of them
 *   frees          2000 of 3000 blocks of 1000 bytes are freed
 *   calls PREFIX   each call, and what it answers
 *   signal         SIGUSR2
 *   extension      each MallocExtension call
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension_c.h>

#pragma weak HeapProfilerStart
#pragma weak IsHeapProfilerRunning
#pragma weak HeapProfilerStop
#pragma weak HeapProfilerDump
#pragma weak GetHeapProfile
#pragma weak MallocExtension_VerifyAllMemory
#pragma weak MallocExtension_VerifyNewMemory
#pragma weak MallocExtension_VerifyArrayNewMemory
#pragma weak MallocExtension_VerifyMallocMemory
#pragma weak MallocExtension_MallocMemoryStats
#pragma weak MallocExtension_GetStats
#pragma weak MallocExtension_GetNumericProperty
#pragma weak MallocExtension_SetNumericProperty
#pragma weak MallocExtension_MarkThreadIdle
#pragma weak MallocExtension_MarkThreadBusy
#pragma weak MallocExtension_ReleaseToSystem
#pragma weak MallocExtension_ReleaseFreeMemory
#pragma weak MallocExtension_GetEstimatedAllocatedSize
#pragma weak MallocExtension_GetAllocatedSize
#pragma weak MallocExtension_GetThreadCacheSize
#pragma weak MallocExtension_MarkThreadTemporarilyIdle
#pragma weak MallocExtension_GetOwnership

static void *kept[3000];

__attribute__((noinline)) static void *allocate(size_t bytes)
{
	return malloc(bytes);
}

static void use_env(void)
{
	for (size_t i = 0; i < 3000; i++)
		kept[i] = allocate(1000);
	printf("running: %d\n", IsHeapProfilerRunning());
}

static void use_frees(void)
{
	for (size_t i = 0; i < 3000; i++)
		kept[i] = allocate(1000);
	for (size_t i = 0; i < 2000; i++)
		free(kept[i]);
}

static void use_calls(const char *prefix)
{
	char *text = GetHeapProfile();
	void *block;

	printf("running: %d, text: \"%s\"\n", IsHeapProfilerRunning(), text);
	free(text);
	HeapProfilerDump("nothing is running");
	kept[0] = allocate(5000000);
	HeapProfilerStart(prefix);
	HeapProfilerStart("/nowhere/x");
	printf("running: %d\n", IsHeapProfilerRunning());
	for (size_t i = 1; i < 11; i++)
		kept[i] = allocate(3000000);
	block = allocate(20000000);
	free(block);
	text = GetHeapProfile();
	printf("text: %.13s, mappings: %d\n", text, strstr(text, "\nMAPPED_LIBRARIES:\n") != NULL);
	free(text);
	HeapProfilerDump("because");
	HeapProfilerStop();
	printf("running: %d\n", IsHeapProfilerRunning());
	HeapProfilerDump("nothing is running");
}

static void use_extension(void)
{
	int blocks = 1, histogram[kMallocExtensionHistogramSize] = { 1 };
	size_t total = 1, value = 0;
	char stats[100] = "x";
	void *block = allocate(1000);

	printf("verify: %d%d%d%d\n", MallocExtension_VerifyAllMemory(),
	       MallocExtension_VerifyNewMemory(block), MallocExtension_VerifyArrayNewMemory(block),
	       MallocExtension_VerifyMallocMemory(block));
	printf("stats: %d\n", MallocExtension_MallocMemoryStats(&blocks, &total, histogram));
	MallocExtension_GetStats(stats, sizeof(stats));
	MallocExtension_MarkThreadIdle();
	MallocExtension_MarkThreadBusy();
	MallocExtension_MarkThreadTemporarilyIdle();
	MallocExtension_ReleaseToSystem(4096);
	MallocExtension_ReleaseFreeMemory();
	printf("sizes: %d %d\n", MallocExtension_GetEstimatedAllocatedSize(1000) >= 1000,
	       MallocExtension_GetAllocatedSize(block) >= 1000);
	printf("owned: %d\n", MallocExtension_GetOwnership(block) != MallocExtension_kNotOwned);
	printf("cache: %d\n", MallocExtension_GetThreadCacheSize() < 1 << 30);
	printf("allocated: %d\n",
	       MallocExtension_GetNumericProperty("generic.current_allocated_bytes", &value));
	printf("set: %d\n",
	       MallocExtension_SetNumericProperty("tcmalloc.sampling_period_bytes", 4096));
	printf("period: %d",
	       MallocExtension_GetNumericProperty("tcmalloc.sampling_period_bytes", &value));
	printf(" %zu\n", value);
	free(block);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (HeapProfilerStart == NULL) {
		printf("there is no profiler\n");
		return 3;
	}
	if (strcmp(mode, "env") == 0)
		use_env();
	else if (strcmp(mode, "frees") == 0)
		use_frees();
	else if (strcmp(mode, "calls") == 0)
		use_calls(argv[2]);
	else if (strcmp(mode, "signal") == 0)
		raise(SIGUSR2);
	else if (strcmp(mode, "extension") == 0)
		use_extension();
	else
		return 2;
	return 0;
}
