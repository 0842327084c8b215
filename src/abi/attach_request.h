/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_request - what the host side asks of the agent in a running process, and the answer.
 *
 *   load the agent by dlopen(RTLD_NOW | RTLD_LOCAL), and find GG_ATTACH_ENTRY in it
 *   put a struct gg_attach_request and a struct gg_attach_result into the memory of the process
 *   call the entry at a safe point; it returns 0 or -Exxx, which is also the status of the result
 *
 * Both structures have a fixed size and no pointers, so another process can write and read them as
 * bytes.  A newer geiger may meet an older agent in a process, because the library stays loaded
 * after a detach: the entry refuses another version or size with -EPROTO and changes nothing.
 *
 * Safe point  The calling thread is neither inside the allocator nor inside the loader, holds no
 *             lock of either, and is in no signal handler.  The entry of malloc(), calloc(),
 *             realloc() or free(), called by the program itself, is such a point.  All other
 *             threads run on: the entry may wait for an allocator lock that one of them holds.
 * Stack       The entry needs GG_ATTACH_STACK_BYTES below the stack pointer.
 * Kept        errno, the signal mask, and the cancellation state of the calling thread.
 * Never       waits for another process, or raises a signal.  It makes no thread but one, in a Java
 *             VM: that of the adapter (bindings/jvm), which ends when it has joined the VM.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define GG_ATTACH_ENTRY "geiger_agent_attach"
#define GG_DETACH_ENTRY "geiger_agent_detach"

enum {
	GG_ATTACH_VERSION = 1,
	GG_ATTACH_STACK_BYTES = 32 << 10,
	GG_ATTACH_DIRECTORY_MAX = 400, /* bytes with the zero at the end, as GEIGER_DIR has them */
	GG_ATTACH_OPTIONS_MAX = 3640,
	GG_ATTACH_PATH_MAX = 512,
	GG_ATTACH_REASON_MAX = 256
};

struct gg_attach_request {
	uint32_t version; /* GG_ATTACH_VERSION */
	uint32_t bytes;   /* sizeof(struct gg_attach_request) */
	uint64_t flags;   /* reserved; 0 */
	/* These three win over the same settings in `options`. */
	uint64_t interval_bytes;                 /* sampling interval; 0: as `options` says */
	uint64_t seed;                           /* 0: as `options` says */
	char directory[GG_ATTACH_DIRECTORY_MAX]; /* of the region; "": as `options` says */
	/*
	 * The variables of docs/AGENT.md as "NAME=VALUE\n" lines, up to a zero byte.  The agent
	 * reads them here, and ignores the variables in the environment of the process: another
	 * person may have set those for another purpose long ago.
	 */
	char options[GG_ATTACH_OPTIONS_MAX];
	uint64_t reserved[3]; /* 0 */
};

/* The function that stated how many bytes were in use at the attach.  Never renumber. */
enum gg_attach_source {
	GG_ATTACH_SOURCE_NONE,     /* nobody: the number is unknown */
	GG_ATTACH_SOURCE_GLIBC,    /* mallinfo2(): chunks in use; those in thread caches count */
	GG_ATTACH_SOURCE_JEMALLOC, /* stats.allocated */
	GG_ATTACH_SOURCE_TCMALLOC, /* generic.current_allocated_bytes */
	GG_ATTACH_SOURCE_MIMALLOC  /* reserved: mimalloc states no number of this kind */
};

/* Whether Python's functions are shown.  Never renumber. */
enum gg_attach_python {
	GG_ATTACH_PYTHON_ABSENT, /* there is no CPython, or it is left out */
	GG_ATTACH_PYTHON_SHOWN,  /* the adapter samples Python's allocators */
	GG_ATTACH_PYTHON_REFUSED /* `reason` says why; malloc is sampled all the same */
};

enum gg_attach_state {
	GG_ATTACH_STATE_NOTHING,  /* the process is as it was before the call */
	GG_ATTACH_STATE_ATTACHED, /* hooks are in place, and a region is written */
	GG_ATTACH_STATE_DETACHED, /* hooks are gone where they still were; the library stays */
	GG_ATTACH_STATE_PENDING   /* another thread is attaching or detaching right now */
};

/*
 * The agent fills all of it in every case.  The status is 0 or one of these; `reason` says each in
 * words for a person:
 *   -EPROTO    the version or size of the request is another one
 *   -EINVAL    a text of the request does not end, or a reserved member is not 0
 *   -EALREADY  attach: the agent is recording; `region` names where.  Detach: nothing is attached
 *   -EBUSY     another thread is attaching or detaching; call again
 *   -EPERM     the agent was preloaded, so it can neither be attached nor detached
 *   -ENOTSUP   the process cannot be profiled: no allocator was found, or a sanitizer's is in use
 *   -Exxx      the region could not be made; the errno of the call that failed
 */
struct gg_attach_result {
	uint32_t version; /* GG_ATTACH_VERSION */
	uint32_t bytes;   /* sizeof(struct gg_attach_result) */
	int32_t status;
	uint32_t state;          /* enum gg_attach_state: after the call */
	uint64_t attached_ns;    /* CLOCK_MONOTONIC; 0: never */
	uint64_t stood_still_ns; /* how long the entry took */
	/* Slots are words through which modules call the allocator; these count all modules. */
	uint32_t module_count; /* modules with at least one slot of the next line */
	uint32_t slot_count;   /* attach: lead to hooks now; detach: have their old value again */
	uint32_t unwritable_count; /* could not be written, so they are as before */
	uint32_t foreign_count; /* hold neither the old value nor the hook, so they are as before */
	/* Bytes in use by the allocator's own count, read just before the first slot changed. */
	int64_t in_use_bytes;              /* -1: unknown */
	uint32_t in_use_source;            /* enum gg_attach_source */
	uint32_t python;                   /* enum gg_attach_python */
	char region[GG_ATTACH_PATH_MAX];   /* path of the region, as this process sees it; or "" */
	char reason[GG_ATTACH_REASON_MAX]; /* in words if it, or Python's part, failed; or "" */
};

typedef int gg_attach_entry(const struct gg_attach_request *request,
                            struct gg_attach_result *ret_result);
typedef int gg_detach_entry(struct gg_attach_result *ret_result);

static_assert(sizeof(struct gg_attach_request) == 4096, "one page, the same in every version 1");
static_assert(offsetof(struct gg_attach_request, directory) == 32, "in version 1");
static_assert(offsetof(struct gg_attach_request, options) == 432, "in version 1");
static_assert(sizeof(struct gg_attach_result) == 832, "the same in every version 1");
static_assert(offsetof(struct gg_attach_result, attached_ns) == 16, "in version 1");
static_assert(offsetof(struct gg_attach_result, in_use_bytes) == 48, "in version 1");
static_assert(offsetof(struct gg_attach_result, region) == 64, "in version 1");
