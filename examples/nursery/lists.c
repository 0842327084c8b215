/* SPDX-License-Identifier: Apache-2.0 */
/* lists - primitives on pairs and vectors, and those that compare and test any values. */
#include <inttypes.h>

#include "vm.h"

static struct object *checked(struct vm *vm, value v, enum type type)
{
	if (!is_type(v, type))
		vm_fail(vm, "a %s was expected", type_names[type]);
	return as_object(v);
}

static value cons(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return vm_pair(vm, &a[0], &a[1]);
}

static value car(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return checked(vm, a[0], TYPE_PAIR)->fields[0];
}

static value cdr(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return checked(vm, a[0], TYPE_PAIR)->fields[1];
}

static value cadr(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return checked(vm, checked(vm, a[0], TYPE_PAIR)->fields[1], TYPE_PAIR)->fields[0];
}

static value cddr(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return checked(vm, checked(vm, a[0], TYPE_PAIR)->fields[1], TYPE_PAIR)->fields[1];
}

static value caddr(struct vm *vm, const value *a, uint32_t count)
{
	value rest = cddr(vm, a, count);

	return checked(vm, rest, TYPE_PAIR)->fields[0];
}

static value set_car(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	heap_set(&vm->heap, checked(vm, a[0], TYPE_PAIR), 0, a[1]);
	return VALUE_UNSPECIFIED;
}

static value set_cdr(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	heap_set(&vm->heap, checked(vm, a[0], TYPE_PAIR), 1, a[1]);
	return VALUE_UNSPECIFIED;
}

/* The list is made from its end, on top of the stack. */
static value list(struct vm *vm, const value *a, uint32_t count)
{
	value result;

	vm_push(vm, VALUE_NIL);
	while (count > 0) {
		result = vm_pair(vm, &a[--count], &vm->sp[-1]);
		vm->sp[-1] = result;
	}
	return *--vm->sp;
}

static value length(struct vm *vm, const value *a, uint32_t count)
{
	int64_t result = 0;

	(void)count;
	for (value v = a[0]; v != VALUE_NIL; v = checked(vm, v, TYPE_PAIR)->fields[1])
		result++;
	return from_fixnum(result);
}

static value reverse(struct vm *vm, const value *a, uint32_t count)
{
	value result;

	(void)count;
	vm_push(vm, a[0]);
	vm_push(vm, VALUE_NIL);
	while (vm->sp[-2] != VALUE_NIL) {
		vm_push(vm, checked(vm, vm->sp[-2], TYPE_PAIR)->fields[0]);
		result = vm_pair(vm, &vm->sp[-1], &vm->sp[-2]);
		vm->sp--;
		vm->sp[-1] = result;
		vm->sp[-2] = as_object(vm->sp[-2])->fields[1];
	}
	vm->sp -= 2;
	return vm->sp[1];
}

static value append(struct vm *vm, const value *a, uint32_t count)
{
	value *base = vm->sp, result;

	(void)count;
	for (value v = a[0]; v != VALUE_NIL; v = as_object(v)->fields[1])
		vm_push(vm, checked(vm, v, TYPE_PAIR)->fields[0]);
	vm_push(vm, a[1]);
	while (vm->sp - base > 1) {
		result = vm_pair(vm, &vm->sp[-2], &vm->sp[-1]);
		vm->sp--;
		vm->sp[-1] = result;
	}
	vm->sp = base;
	return base[0];
}

static bool is_eqv(value a, value b)
{
	return a == b ||
	       (is_type(a, TYPE_FLONUM) && is_type(b, TYPE_FLONUM) && as_flonum(a) == as_flonum(b));
}

static bool is_equal(value a, value b)
{
	struct object *x, *y;

	if (is_eqv(a, b))
		return true;
	if (!is_object(a) || !is_object(b))
		return false;
	x = as_object(a);
	y = as_object(b);
	if (object_type(x) != object_type(y) || object_bytes(x) != object_bytes(y))
		return false;
	switch (object_type(x)) {
	case TYPE_STRING:
		return string_length(x) == string_length(y) &&
		       memcmp(string_bytes(x), string_bytes(y), string_length(x)) == 0;
	case TYPE_PAIR:
	case TYPE_VECTOR:
		for (size_t i = 0; object_size(i) < object_bytes(x); i++)
			if (!is_equal(x->fields[i], y->fields[i]))
				return false;
		return true;
	default:
		return false;
	}
}

static value eq(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(is_eqv(a[0], a[1]));
}

static value equal(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(is_equal(a[0], a[1]));
}

static value memv(struct vm *vm, const value *a, uint32_t count)
{
	value v = a[1];

	(void)count;
	while (v != VALUE_NIL && !is_eqv(a[0], checked(vm, v, TYPE_PAIR)->fields[0]))
		v = as_object(v)->fields[1];
	return v == VALUE_NIL ? VALUE_FALSE : v;
}

static value member(struct vm *vm, const value *a, uint32_t count)
{
	value v = a[1];

	(void)count;
	while (v != VALUE_NIL && !is_equal(a[0], checked(vm, v, TYPE_PAIR)->fields[0]))
		v = as_object(v)->fields[1];
	return v == VALUE_NIL ? VALUE_FALSE : v;
}

static value assoc(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	for (value v = a[1]; v != VALUE_NIL; v = as_object(v)->fields[1]) {
		value entry = checked(vm, v, TYPE_PAIR)->fields[0];

		if (is_equal(a[0], checked(vm, entry, TYPE_PAIR)->fields[0]))
			return entry;
	}
	return VALUE_FALSE;
}

/* ---- Vectors. ---- */

static size_t vector_length(const struct object *vector)
{
	return (object_bytes(vector) - sizeof(*vector)) / sizeof(value);
}

static size_t checked_index(struct vm *vm, const struct object *vector, value index)
{
	if (!is_fixnum(index) || (uint64_t)as_fixnum(index) >= vector_length(vector))
		vm_fail(vm, "no such index: the vector has %zu elements", vector_length(vector));
	return (size_t)as_fixnum(index);
}

static value make_vector(struct vm *vm, const value *a, uint32_t count)
{
	static const value zero = 1;

	if (!is_fixnum(a[0]) || as_fixnum(a[0]) < 0 || as_fixnum(a[0]) > INT32_MAX)
		vm_fail(vm, "a vector cannot have that length");
	return vm_vector(vm, (size_t)as_fixnum(a[0]), count > 1 ? &a[1] : &zero);
}

static value vector(struct vm *vm, const value *a, uint32_t count)
{
	struct object *result = heap_new(&vm->heap, TYPE_VECTOR, object_size(count));

	memcpy(result->fields, a, count * sizeof(value));
	return from_object(result);
}

static value vector_ref(struct vm *vm, const value *a, uint32_t count)
{
	struct object *v = checked(vm, a[0], TYPE_VECTOR);

	(void)count;
	return v->fields[checked_index(vm, v, a[1])];
}

static value vector_set(struct vm *vm, const value *a, uint32_t count)
{
	struct object *v = checked(vm, a[0], TYPE_VECTOR);

	(void)count;
	heap_set(&vm->heap, v, checked_index(vm, v, a[1]), a[2]);
	return VALUE_UNSPECIFIED;
}

static value vector_length_of(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_fixnum((int64_t)vector_length(checked(vm, a[0], TYPE_VECTOR)));
}

/* ---- What a value is. ---- */

static value is_null(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(a[0] == VALUE_NIL);
}

static value is_false(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(a[0] == VALUE_FALSE);
}

static value is_pair(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(is_type(a[0], TYPE_PAIR));
}

static value is_vector(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(is_type(a[0], TYPE_VECTOR));
}

static value is_string(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(is_type(a[0], TYPE_STRING));
}

static value is_symbol_value(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(is_symbol(a[0]));
}

static value is_number(struct vm *vm, const value *a, uint32_t count)
{
	(void)vm, (void)count;
	return from_bool(is_fixnum(a[0]) || is_type(a[0], TYPE_FLONUM));
}

void vm_add_list_primitives(struct vm *vm)
{
	static const struct primitive primitives[] = {
		{ "append", append, 2, 2 },
		{ "assoc", assoc, 2, 2 },
		{ "assv", assoc, 2, 2 },
		{ "caddr", caddr, 1, 1 },
		{ "cadr", cadr, 1, 1 },
		{ "car", car, 1, 1 },
		{ "cddr", cddr, 1, 1 },
		{ "cdr", cdr, 1, 1 },
		{ "cons", cons, 2, 2 },
		{ "eq?", eq, 2, 2 },
		{ "equal?", equal, 2, 2 },
		{ "eqv?", eq, 2, 2 },
		{ "length", length, 1, 1 },
		{ "list", list, 0, UINT32_MAX },
		{ "make-vector", make_vector, 1, 2 },
		{ "member", member, 2, 2 },
		{ "memv", memv, 2, 2 },
		{ "not", is_false, 1, 1 },
		{ "null?", is_null, 1, 1 },
		{ "number?", is_number, 1, 1 },
		{ "pair?", is_pair, 1, 1 },
		{ "reverse", reverse, 1, 1 },
		{ "set-car!", set_car, 2, 2 },
		{ "set-cdr!", set_cdr, 2, 2 },
		{ "string?", is_string, 1, 1 },
		{ "symbol?", is_symbol_value, 1, 1 },
		{ "vector", vector, 0, UINT32_MAX },
		{ "vector-length", vector_length_of, 1, 1 },
		{ "vector-ref", vector_ref, 2, 2 },
		{ "vector-set!", vector_set, 3, 3 },
		{ "vector?", is_vector, 1, 1 },
	};

	vm_add_primitives(vm, primitives, sizeof(primitives) / sizeof(primitives[0]));
}
