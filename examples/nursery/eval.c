/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval - evaluates nodes.
 *
 * A Scheme function that is called, not in tail position, is one call_closure() on the C stack with
 * its `struct frame`; within it eval() calls itself for the parts of an expression.  A tail call
 * goes on in the frame that is there.
 *
 * Values that wait while something else is evaluated are on the value stack, for the collector to
 * see and to update.  No C variable here holds an object while another is allocated.
 */
#include "syntax.h"

static value eval(struct vm *vm, const struct node *node, struct frame *frame);

static struct object *environment_at(const struct frame *frame, uint32_t depth)
{
	struct object *environment = as_object(frame->environment);

	for (; depth > 0; depth--)
		environment = as_object(environment->fields[0]);
	return environment;
}

/* eval(), without a call for what needs none. */
static inline value evaluate(struct vm *vm, const struct node *node, struct frame *frame)
{
	if (node->kind == NODE_LOCAL)
		return environment_at(frame, node->depth)->fields[node->index];
	if (node->kind == NODE_PLAIN)
		return node->plain;
	if (node->kind == NODE_GLOBAL && node->symbol->value != 0)
		return node->symbol->value;
	return eval(vm, node, frame);
}

static const struct lambda *closure_lambda(const struct object *closure)
{
	return (const struct lambda *)closure->fields[0];
}

/*
 * An environment with these variables, which are on the value stack.  Field 0 is for the caller to
 * fill.
 */
static struct object *new_environment(struct vm *vm, const value *variables, uint32_t count)
{
	struct object *environment = heap_new(&vm->heap, TYPE_ENVIRONMENT, object_size(count + 1));

	for (uint32_t i = 0; i < count; i++)
		environment->fields[i + 1] = variables[i];
	return environment;
}

/* The environment in which the closure base[0] runs with the arguments that follow it. */
static value bind(struct vm *vm, const value *base, uint32_t count)
{
	const struct lambda *lambda = closure_lambda(as_object(base[0]));
	struct object *environment;

	if (lambda->parameter_count != count)
		vm_fail(vm, "%s takes %u arguments, not %u", lambda->name, lambda->parameter_count,
		        count);
	if (count == 0)
		return as_object(base[0])->fields[1];
	environment = new_environment(vm, base + 1, count);
	environment->fields[0] = as_object(base[0])->fields[1];
	return from_object(environment);
}

static __attribute__((noinline)) value call_closure(struct vm *vm, value *base, uint32_t count)
{
	struct frame frame = { .caller = vm->frame };
	const struct node *body;
	value result;

	if ((const char *)__builtin_frame_address(0) < vm->native_limit)
		vm_fail(vm, "recursion too deep");
	frame.environment = bind(vm, base, count);
	frame.lambda = closure_lambda(as_object(base[0]));
	body = frame.lambda->body;
	frame.at = body;
	vm->sp = base;
	vm->frame = &frame;
	result = eval(vm, body, &frame);
	vm->frame = frame.caller;
	return result;
}

static value call_primitive(struct vm *vm, value *base, uint32_t count)
{
	const struct primitive *primitive = as_primitive(base[0]);
	value result;

	if (count < primitive->least || count > primitive->most)
		vm_fail(vm, "%s does not take %u arguments", primitive->name, count);
	result = primitive->run(vm, base + 1, count);
	vm->sp = base;
	return result;
}

/* The variables of a let, or letrec, as a new environment of the frame. */
static void enter(struct vm *vm, const struct node *node, struct frame *frame, bool recursive)
{
	uint32_t count = node->part_count - 1;
	value *base = vm->sp;
	struct object *environment;
	value v;

	for (uint32_t i = 0; i < count; i++)
		vm_push(vm, recursive ? VALUE_UNSPECIFIED : evaluate(vm, node->parts[i], frame));
	frame->at = node;
	environment = new_environment(vm, base, count);
	environment->fields[0] = frame->environment;
	frame->environment = from_object(environment);
	vm->sp = base;
	for (uint32_t i = 0; recursive && i < count; i++) {
		v = evaluate(vm, node->parts[i], frame);
		heap_set(&vm->heap, as_object(frame->environment), i + 1, v);
	}
}

static value make_closure(struct vm *vm, const struct node *node, struct frame *frame)
{
	struct object *closure;

	frame->at = node;
	closure = heap_new(&vm->heap, TYPE_CLOSURE, object_size(2));
	closure->fields[0] = (value)node->lambda;
	closure->fields[1] = frame->environment;
	return from_object(closure);
}

static void set_variable(struct vm *vm, const struct node *node, struct frame *frame)
{
	value v = evaluate(vm, node->parts[0], frame);

	if (node->kind == NODE_SET_LOCAL) {
		heap_set(&vm->heap, environment_at(frame, node->depth), node->index, v);
		return;
	}
	if (node->kind == NODE_SET_GLOBAL && node->symbol->value == 0)
		vm_fail(vm, "set!: there is no variable %s", node->symbol->name);
	node->symbol->value = v;
}

/* All but the last part; false: the rest is not needed, *ret_value is the result. */
static bool evaluate_parts(struct vm *vm, const struct node *node, struct frame *frame,
                           value *ret_value)
{
	for (uint32_t i = 0; i + 1 < node->part_count; i++) {
		value v = evaluate(vm, node->parts[i], frame);

		if ((node->kind == NODE_AND && v == VALUE_FALSE) ||
		    (node->kind == NODE_OR && v != VALUE_FALSE)) {
			*ret_value = v;
			return false;
		}
	}
	return true;
}

static value eval(struct vm *vm, const struct node *node, struct frame *frame)
{
	value *base, result;

	/* Each turn evaluates a node to its end, or goes on with one in tail position. */
	for (;;) {
		switch (node->kind) {
		case NODE_PLAIN:
		case NODE_LOCAL:
			return evaluate(vm, node, frame);
		case NODE_CONSTANT:
			return vm->constants[node->index];
		case NODE_GLOBAL:
			frame->at = node;
			if (node->symbol->value == 0)
				vm_fail(vm, "there is no variable %s", node->symbol->name);
			return node->symbol->value;
		case NODE_SET_LOCAL:
		case NODE_SET_GLOBAL:
		case NODE_DEFINE:
			set_variable(vm, node, frame);
			return VALUE_UNSPECIFIED;
		case NODE_IF:
			node = node->parts[evaluate(vm, node->parts[0], frame) == VALUE_FALSE ? 2
			                                                                      : 1];
			continue;
		case NODE_AND:
		case NODE_OR:
		case NODE_SEQUENCE:
			if (!evaluate_parts(vm, node, frame, &result))
				return result;
			node = node->parts[node->part_count - 1];
			continue;
		case NODE_LAMBDA:
			return make_closure(vm, node, frame);
		case NODE_LET:
		case NODE_LETREC:
			if (!node->tail)
				vm_push(vm, frame->environment);
			enter(vm, node, frame, node->kind == NODE_LETREC);
			if (!node->tail) {
				result = evaluate(vm, node->parts[node->part_count - 1], frame);
				frame->environment = *--vm->sp;
				return result;
			}
			node = node->parts[node->part_count - 1];
			continue;
		case NODE_CALL:
			base = vm->sp;
			for (uint32_t i = 0; i < node->part_count; i++)
				vm_push(vm, evaluate(vm, node->parts[i], frame));
			frame->at = node;
			if (is_primitive(base[0]))
				return call_primitive(vm, base, node->part_count - 1);
			if (!is_type(base[0], TYPE_CLOSURE))
				vm_fail(vm, "this is no function");
			if (!node->tail)
				return call_closure(vm, base, node->part_count - 1);
			frame->environment = bind(vm, base, node->part_count - 1);
			frame->lambda = closure_lambda(as_object(base[0]));
			vm->sp = base;
			node = frame->lambda->body;
			continue;
		}
	}
}

value vm_eval_body(struct vm *vm, const struct lambda *body)
{
	struct frame frame = {
		.caller = vm->frame, .lambda = body, .at = body->body, .environment = VALUE_NIL
	};
	value result;

	vm->frame = &frame;
	result = eval(vm, body->body, &frame);
	vm->frame = frame.caller;
	return result;
}
