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
#define FLAG_HEAP            (UINT64_C(1) << 9)
#define FLAG_READY           (UINT64_C(1) << 12)
#define FLAG_GC              (UINT64_C(1) << 14)
#define FLAG_TEXT            (UINT64_C(1) << 28)
#define FLAG_TYPE            (UINT64_C(1) << 31)

enum {
	STATIC_TYPES = 64,
	STATIC_NAME_BYTES = 64,
	STATIC_RANGE_BYTES = 1 << 20 /* the interpreter's types lie this near to each other */
};

struct type_facts {
	uint64_t flags, basic_bytes, item_bytes;
};

/*
 * Types of the interpreter's own data, which are never freed and never change.  Most objects have
 * one of them, and a system call for each of type and name would cost more than all other work on a
 * small sample.  A type is at the place that its address gives; a newer one replaces an older one.
 * The caller of gg_python_object_type() lets one thread in at a time.
 */
static struct {
	uint64_t address; /* 0: none */
	struct type_facts facts;
	char name[STATIC_NAME_BYTES];
} static_types[STATIC_TYPES];

static size_t static_place(uint64_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 58);
}

_Static_assert(STATIC_TYPES == 1 << (64 - 58), "each hash has a place");

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

static struct type_facts facts_of(const uint8_t type[TYPE_BYTES])
{
	return (struct type_facts){ .flags = word_at(type, TYPE_FLAGS),
		                    .basic_bytes = word_at(type, TYPE_BASIC_BYTES),
		                    .item_bytes = word_at(type, TYPE_ITEM_BYTES) };
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
static bool has_size(const struct gg_python *python, const struct type_facts *type, size_t bytes)
{
	/* Characters follow a part of the struct. */
	if ((type->flags & FLAG_TEXT) != 0)
		return bytes > python->layout->ascii_bytes;
	if (type->basic_bytes < OBJECT_BYTES || bytes < type->basic_bytes)
		return false;
	if (type->item_bytes != 0 ||
	    (python->layout->version >= 0x030d && (type->flags & FLAG_INLINE_VALUES) != 0))
		return true;
	return bytes < type->basic_bytes + 8; /* rounded up */
}

/* `bytes`: of the block with the heads before the object. */
static bool fits(const struct gg_python *python, const struct type_facts *type, size_t heads,
                 size_t bytes)
{
	return heads_of(python, type->flags) == heads &&
	       has_size(python, type, bytes - heads * HEAD_BYTES);
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

/* Keeps a type of the interpreter's own data. */
static void keep_static(const struct gg_python *python, uint64_t address,
                        const struct type_facts *type, const char *name)
{
	uint64_t own = (uint64_t)(uintptr_t)python->type_type;
	uint64_t distance = address > own ? address - own : own - address;
	size_t place = static_place(address), length = strlen(name);

	if ((type->flags & FLAG_HEAP) != 0 || distance >= STATIC_RANGE_BYTES ||
	    length >= STATIC_NAME_BYTES)
		return;
	static_types[place].address = address;
	static_types[place].facts = *type;
	memcpy(static_types[place].name, name, length + 1);
}

/* Whether the block is an object of that type with so many heads; then its name is copied. */
static bool is_object(const struct gg_python *python, uint64_t address, size_t heads,
                      size_t block_bytes, char *name, size_t name_bytes)
{
	size_t place = static_place(address);
	uint8_t bytes[TYPE_BYTES];
	struct type_facts type;

	if (static_types[place].address == address && name_bytes >= STATIC_NAME_BYTES) {
		if (!fits(python, &static_types[place].facts, heads, block_bytes))
			return false;
		memcpy(name, static_types[place].name, STATIC_NAME_BYTES);
		return true;
	}
	if (!read_type(python, address, bytes))
		return false;
	type = facts_of(bytes);
	if (!fits(python, &type, heads, block_bytes) ||
	    !read_name(word_at(bytes, TYPE_NAME), name, name_bytes))
		return false;
	keep_static(python, address, &type, name);
	return true;
}

bool gg_python_object_type(const struct gg_python *python, const void *block, size_t block_bytes,
                           char *name, size_t name_bytes)
{
	enum { LOOK_BYTES = HEADS_MAX * HEAD_BYTES + OBJECT_BYTES };
	uint8_t bytes[LOOK_BYTES];
	size_t count = block_bytes < LOOK_BYTES ? block_bytes : LOOK_BYTES;

	if (read_memory((uint64_t)(uintptr_t)block, bytes, count) != count)
		return false;
	for (size_t heads = 0; heads <= HEADS_MAX; heads++) {
		size_t at = heads * HEAD_BYTES;
		uint64_t address = at + OBJECT_BYTES <= count ? word_at(bytes, at + 8) : 0;

		if (may_be_address(address) &&
		    is_object(python, address, heads, block_bytes, name, name_bytes))
			return true;
	}
	return false;
}
