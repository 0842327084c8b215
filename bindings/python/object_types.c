/* SPDX-License-Identifier: Apache-2.0 */
/* object_types - reads the block's first words, and the types that they may point to. */
#include "object_types.h"

#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	HEAD_BYTES = 16,  /* that of the collector, and that of attributes */
	HEADS_MAX = 2,    /* before an object */
	OBJECT_BYTES = 16 /* a reference count, and the type */
};

/* Offsets in PyTypeObject, which are the same in all releases. */
enum {
	TYPE_TYPE = 8,
	TYPE_NAME = 24,
	TYPE_BASIC_BYTES = 32,
	TYPE_ITEM_BYTES = 40,
	TYPE_FLAGS = 168,
	TYPE_BYTES = 176
};

#define FLAG_INLINE_VALUES   (UINT64_C(1) << 2) /* 3.13 */
#define FLAG_MANAGED_WEAKREF (UINT64_C(1) << 3) /* 3.12 */
#define FLAG_MANAGED_DICT    (UINT64_C(1) << 4) /* 3.11 */
#define FLAG_READY           (UINT64_C(1) << 12)
#define FLAG_GC              (UINT64_C(1) << 14)
#define FLAG_TEXT            (UINT64_C(1) << 28)
#define FLAG_TYPE            (UINT64_C(1) << 31)

/* Returns how many bytes were readable. */
static size_t read_memory(uint64_t address, void *bytes, size_t count)
{
	struct iovec local = { bytes, count }, remote = { (void *)(uintptr_t)address, count };
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static uint64_t word_at(const uint8_t *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* An aligned address in user space. */
static bool may_be_address(uint64_t word)
{
	return word >= 4096 && word >> 47 == 0 && word % 8 == 0;
}

/* `type`, or a class of it whose own class is `type`, such as ABCMeta. */
static bool is_metatype(const struct gg_python *python, uint64_t address)
{
	uint64_t type = (uint64_t)(uintptr_t)python->type_type;
	uint8_t of_type[TYPE_BYTES];

	return address == type || (may_be_address(address) &&
	                           read_memory(address, of_type, TYPE_BYTES) == TYPE_BYTES &&
	                           word_at(of_type, TYPE_TYPE) == type &&
	                           (word_at(of_type, TYPE_FLAGS) & (FLAG_TYPE | FLAG_READY)) ==
	                                   (FLAG_TYPE | FLAG_READY));
}

/* Copies the type object.  It returns false if the address has no type object. */
static bool read_type(const struct gg_python *python, uint64_t address, uint8_t type[TYPE_BYTES])
{
	return read_memory(address, type, TYPE_BYTES) == TYPE_BYTES &&
	       is_metatype(python, word_at(type, TYPE_TYPE)) &&
	       (word_at(type, TYPE_FLAGS) & FLAG_READY) != 0;
}

static size_t heads_of(const struct gg_python *python, uint64_t flags)
{
	size_t count = (flags & FLAG_GC) != 0;

	if (python->layout->version >= 0x030c)
		count += (flags & (FLAG_MANAGED_DICT | FLAG_MANAGED_WEAKREF)) != 0;
	else if (python->layout->version == 0x030b)
		count += (flags & FLAG_MANAGED_DICT) != 0;
	return count;
}

/* `bytes`: of the object, without heads. */
static bool has_size(const struct gg_python *python, const uint8_t *type, size_t bytes)
{
	uint64_t flags = word_at(type, TYPE_FLAGS), basic = word_at(type, TYPE_BASIC_BYTES);

	/* Characters follow a part of the struct. */
	if ((flags & FLAG_TEXT) != 0)
		return bytes > python->layout->ascii_bytes;
	if (basic < OBJECT_BYTES || bytes < basic)
		return false;
	if (word_at(type, TYPE_ITEM_BYTES) != 0 ||
	    (python->layout->version >= 0x030d && (flags & FLAG_INLINE_VALUES) != 0))
		return true;
	return bytes < basic + 8; /* rounded up */
}

/* Names are UTF-8, and texts of the program. */
static bool read_name(uint64_t address, char *name, size_t name_bytes)
{
	size_t count = read_memory(address, name, name_bytes - 1);

	name[count] = '\0';
	for (const char *c = name; *c != '\0'; c++)
		if ((unsigned char)*c < ' ')
			return false;
	return *name != '\0';
}

bool gg_python_object_type(const struct gg_python *python, const void *block, size_t block_bytes,
                           char *name, size_t name_bytes)
{
	enum { LOOK_BYTES = HEADS_MAX * HEAD_BYTES + OBJECT_BYTES };
	uint8_t bytes[LOOK_BYTES], type[TYPE_BYTES];
	size_t count = block_bytes < LOOK_BYTES ? block_bytes : LOOK_BYTES;

	if (read_memory((uint64_t)(uintptr_t)block, bytes, count) != count)
		return false;
	for (size_t heads = 0; heads <= HEADS_MAX; heads++) {
		size_t at = heads * HEAD_BYTES;
		uint64_t address = at + OBJECT_BYTES <= count ? word_at(bytes, at + 8) : 0;

		if (may_be_address(address) && read_type(python, address, type) &&
		    heads_of(python, word_at(type, TYPE_FLAGS)) == heads &&
		    has_size(python, type, block_bytes - at))
			return read_name(word_at(type, TYPE_NAME), name, name_bytes);
	}
	return false;
}
