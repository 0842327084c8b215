/* SPDX-License-Identifier: Apache-2.0 */
#include "vm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "prelude.h"
#include "syntax.h"

enum { STACK_VALUES = 1 << 20, NATIVE_STACK_BYTES = 8 << 20, NATIVE_STACK_SPARE_BYTES = 256 << 10 };

/* ---- The arena. ---- */

enum { ARENA_BLOCK_BYTES = 64 << 10 };

struct arena_block {
	struct arena_block *next;
	size_t used_bytes, bytes;
	_Alignas(16) char memory[];
};

static void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (memory == NULL)
		heap_out_of_memory(bytes);
	return memory;
}

void *vm_arena(struct vm *vm, size_t bytes)
{
	struct arena_block *block = vm->arena;
	void *memory;

	bytes = (bytes + 15) & ~(size_t)15;
	if (block == NULL || bytes > block->bytes - block->used_bytes) {
		size_t block_bytes = bytes > ARENA_BLOCK_BYTES ? bytes : ARENA_BLOCK_BYTES;

		block = allocate(sizeof(*block) + block_bytes);
		block->bytes = block_bytes;
		block->next = vm->arena;
		vm->arena = block;
	}
	memory = block->memory + block->used_bytes;
	block->used_bytes += bytes;
	return memory;
}

struct symbol *vm_symbol(struct vm *vm, const char *name, size_t length)
{
	struct symbol *symbol, **bucket;
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	bucket = &vm->symbols[hash % SYMBOL_BUCKETS];
	for (symbol = *bucket; symbol != NULL; symbol = symbol->next)
		if (strncmp(symbol->name, name, length) == 0 && symbol->name[length] == '\0')
			return symbol;
	symbol = vm_arena(vm, sizeof(*symbol) + length + 1);
	memcpy(symbol->name, name, length);
	symbol->next = *bucket;
	*bucket = symbol;
	return symbol;
}

uint32_t vm_constant(struct vm *vm, value v)
{
	if (vm->constant_count == vm->constant_capacity) {
		vm->constant_capacity = 2 * vm->constant_capacity + 64;
		vm->constants = realloc(vm->constants,
		                        vm->constant_capacity * sizeof(vm->constants[0]));
		if (vm->constants == NULL)
			heap_out_of_memory(vm->constant_capacity * sizeof(vm->constants[0]));
	}
	vm->constants[vm->constant_count] = v;
	return vm->constant_count++;
}

/* ---- Roots. ---- */

static void visit_roots(void *user, struct heap *heap, heap_visitor *visit)
{
	struct vm *vm = user;

	for (value *slot = vm->stack; slot < vm->sp; slot++)
		visit(heap, slot);
	for (struct frame *frame = vm->frame; frame != NULL; frame = frame->caller)
		visit(heap, &frame->environment);
	for (uint32_t i = 0; i < vm->constant_count; i++)
		visit(heap, &vm->constants[i]);
	for (int i = 0; i < SYMBOL_BUCKETS; i++)
		for (struct symbol *symbol = vm->symbols[i]; symbol != NULL; symbol = symbol->next)
			visit(heap, &symbol->value);
}

/* ---- Objects. ---- */

struct object *vm_new_string(struct vm *vm, size_t length)
{
	struct object *string = heap_new(&vm->heap, TYPE_STRING, object_size(1 + (length + 7) / 8));

	string->fields[0] = length;
	if (length > 0)
		string->fields[(length + 7) / 8] = 0; /* what pads the last bytes */
	return string;
}

value vm_vector(struct vm *vm, size_t length, const value *fill)
{
	struct object *vector = heap_new(&vm->heap, TYPE_VECTOR, object_size(length));

	for (size_t i = 0; i < length; i++)
		vector->fields[i] = *fill;
	return from_object(vector);
}

/* ---- The interpreter. ---- */

/* How far down the C stack may go. */
static const char *native_limit(void)
{
	size_t bytes = NATIVE_STACK_BYTES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		bytes = limit.rlim_cur;
	if (bytes < 2 * NATIVE_STACK_SPARE_BYTES)
		bytes = 2 * NATIVE_STACK_SPARE_BYTES;
	return (const char *)__builtin_frame_address(0) - bytes + NATIVE_STACK_SPARE_BYTES;
}

void vm_init(struct vm *vm, const struct vm_options *options)
{
	static const char *const none[] = { NULL };
	struct heap_options heap = options->heap;

	*vm = (struct vm){ 0 };
	vm->native_limit = native_limit();
	vm->arguments = options->arguments == NULL ? none : options->arguments;
	vm->stack = allocate(STACK_VALUES * sizeof(value));
	vm->sp = vm->stack;
	vm->stack_end = vm->stack + STACK_VALUES;
	heap.profile.frames = vm_frames;
	heap.profile.frames_user = vm;
	heap_init(&vm->heap, &heap, visit_roots, vm);
	vm_add_list_primitives(vm);
	vm_add_number_primitives(vm);
	vm_add_text_primitives(vm);
	vm_run(vm, "prelude.scm", prelude);
}

void vm_done(struct vm *vm)
{
	heap_done(&vm->heap);
	for (struct arena_block *block = vm->arena, *next; block != NULL; block = next) {
		next = block->next;
		free(block);
	}
	free(vm->constants);
	free(vm->stack);
}

void vm_add_primitives(struct vm *vm, const struct primitive *primitives, size_t count)
{
	for (size_t i = 0; i < count; i++)
		vm_symbol(vm, primitives[i].name, strlen(primitives[i].name))->value =
			from_primitive(&primitives[i]);
}

void vm_run(struct vm *vm, const char *file, const char *text)
{
	uint32_t line = 1;
	struct datum *form;

	while ((form = read_datum(vm, file, &text, &line)) != NULL)
		vm_eval_body(vm, compile(vm, file, form));
}

void vm_fail(struct vm *vm, const char *format, ...)
{
	const struct frame *frame = vm->frame;
	va_list arguments;

	fflush(stdout);
	if (frame != NULL)
		fprintf(stderr, "%s:%u: in %s: ", frame->lambda->file, frame->at->line,
		        frame->lambda->name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}
