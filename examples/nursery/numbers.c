/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numbers - primitives on numbers: integers of 63 bits, and doubles.  A result that is too large
 * for an integer becomes a double.
 */
#include <stdlib.h>

#include "vm.h"

#define FIXNUM_MOST (INT64_MAX >> 1)

static double as_double(struct vm *vm, value v)
{
	if (is_fixnum(v))
		return (double)as_fixnum(v);
	if (!is_type(v, TYPE_FLONUM))
		vm_fail(vm, "a number was expected");
	return as_flonum(v);
}

static int64_t as_whole(struct vm *vm, value v)
{
	if (!is_fixnum(v))
		vm_fail(vm, "a whole number was expected");
	return as_fixnum(v);
}

static value number(struct vm *vm, int64_t result, bool overflowed, double alternative)
{
	if (overflowed || result > FIXNUM_MOST || result < -FIXNUM_MOST)
		return vm_flonum(vm, alternative);
	return from_fixnum(result);
}

static value add_two(struct vm *vm, value a, value b)
{
	int64_t result;
	bool overflowed;

	if (!is_fixnum(a) || !is_fixnum(b))
		return vm_flonum(vm, as_double(vm, a) + as_double(vm, b));
	overflowed = __builtin_add_overflow(as_fixnum(a), as_fixnum(b), &result);
	return number(vm, result, overflowed, (double)as_fixnum(a) + (double)as_fixnum(b));
}

static value subtract_two(struct vm *vm, value a, value b)
{
	int64_t result;
	bool overflowed;

	if (!is_fixnum(a) || !is_fixnum(b))
		return vm_flonum(vm, as_double(vm, a) - as_double(vm, b));
	overflowed = __builtin_sub_overflow(as_fixnum(a), as_fixnum(b), &result);
	return number(vm, result, overflowed, (double)as_fixnum(a) - (double)as_fixnum(b));
}

static value multiply_two(struct vm *vm, value a, value b)
{
	int64_t result;
	bool overflowed;

	if (!is_fixnum(a) || !is_fixnum(b))
		return vm_flonum(vm, as_double(vm, a) * as_double(vm, b));
	overflowed = __builtin_mul_overflow(as_fixnum(a), as_fixnum(b), &result);
	return number(vm, result, overflowed, (double)as_fixnum(a) * (double)as_fixnum(b));
}

/* The result so far is no root; it is read for the last time before the next one is allocated. */
static value add(struct vm *vm, const value *a, uint32_t count)
{
	value result = from_fixnum(0);

	for (uint32_t i = 0; i < count; i++)
		result = add_two(vm, result, a[i]);
	return result;
}

static value multiply(struct vm *vm, const value *a, uint32_t count)
{
	value result = from_fixnum(1);

	for (uint32_t i = 0; i < count; i++)
		result = multiply_two(vm, result, a[i]);
	return result;
}

static value subtract(struct vm *vm, const value *a, uint32_t count)
{
	value result = a[0];

	if (count == 1)
		return subtract_two(vm, from_fixnum(0), a[0]);
	for (uint32_t i = 1; i < count; i++)
		result = subtract_two(vm, result, a[i]);
	return result;
}

static value divide(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	if (is_fixnum(a[0]) && is_fixnum(a[1]) && as_fixnum(a[1]) != 0 &&
	    as_fixnum(a[0]) % as_fixnum(a[1]) == 0)
		return from_fixnum(as_fixnum(a[0]) / as_fixnum(a[1]));
	return vm_flonum(vm, as_double(vm, a[0]) / as_double(vm, a[1]));
}

static int64_t divisor(struct vm *vm, value v)
{
	int64_t by = as_whole(vm, v);

	if (by == 0)
		vm_fail(vm, "division by zero");
	return by;
}

static value quotient(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_fixnum(as_whole(vm, a[0]) / divisor(vm, a[1]));
}

static value remainder_of(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_fixnum(as_whole(vm, a[0]) % divisor(vm, a[1]));
}

static value modulo(struct vm *vm, const value *a, uint32_t count)
{
	int64_t by = divisor(vm, a[1]), rest = as_whole(vm, a[0]) % by;

	(void)count;
	return from_fixnum(rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest);
}

/* Less than 0, 0, or more, as a is less than b, equal, or more. */
static int compare(struct vm *vm, value a, value b)
{
	double x, y;

	if (is_fixnum(a) && is_fixnum(b))
		return as_fixnum(a) < as_fixnum(b) ? -1 : as_fixnum(a) > as_fixnum(b);
	x = as_double(vm, a);
	y = as_double(vm, b);
	return x < y ? -1 : x > y;
}

static value equals(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a[0], a[1]) == 0);
}

static value less(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a[0], a[1]) < 0);
}

static value more(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a[0], a[1]) > 0);
}

static value at_most(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a[0], a[1]) <= 0);
}

static value at_least(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a[0], a[1]) >= 0);
}

static value is_zero(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return from_bool(compare(vm, a[0], from_fixnum(0)) == 0);
}

static value to_inexact(struct vm *vm, const value *a, uint32_t count)
{
	(void)count;
	return vm_flonum(vm, as_double(vm, a[0]));
}

/* (argument index default): a whole number from the command line. */
static value argument(struct vm *vm, const value *a, uint32_t count)
{
	int64_t index = as_whole(vm, a[0]);
	const char *const *argument = vm->arguments;

	(void)count;
	while (*argument != NULL && index-- > 0)
		argument++;
	return *argument == NULL ? a[1] : from_fixnum(strtoll(*argument, NULL, 10));
}

void vm_add_number_primitives(struct vm *vm)
{
	static const struct primitive primitives[] = {
		{ "*", multiply, 0, UINT32_MAX },
		{ "+", add, 0, UINT32_MAX },
		{ "-", subtract, 1, UINT32_MAX },
		{ "/", divide, 2, 2 },
		{ "<", less, 2, 2 },
		{ "<=", at_most, 2, 2 },
		{ "=", equals, 2, 2 },
		{ ">", more, 2, 2 },
		{ ">=", at_least, 2, 2 },
		{ "argument", argument, 2, 2 },
		{ "exact->inexact", to_inexact, 1, 1 },
		{ "modulo", modulo, 2, 2 },
		{ "quotient", quotient, 2, 2 },
		{ "remainder", remainder_of, 2, 2 },
		{ "zero?", is_zero, 1, 1 },
	};

	vm_add_primitives(vm, primitives, sizeof(primitives) / sizeof(primitives[0]));
}
