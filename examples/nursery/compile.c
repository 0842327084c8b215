/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile - from data to nodes: each variable becomes a place (an environment so many steps
 * outwards, a field in it; or a symbol), each call knows whether it is a tail call.
 *
 * Every function call, let and letrec with variables makes one environment at run time, and one
 * `struct scope` here.
 */
#include "syntax.h"

struct scope {
	const struct scope *outer;
	struct symbol **names;
	uint32_t count;
};

struct compiler {
	struct vm *vm;
	const char *file;
};

static const struct node *compile_datum(struct compiler *c, struct datum *datum,
                                        const struct scope *scope, bool tail);
static const struct node *compile_body(struct compiler *c, struct datum *form,
                                       const struct scope *scope, bool tail, uint32_t line);

static struct node *new_node(struct compiler *c, enum node_kind kind, uint32_t line,
                             uint32_t part_count)
{
	struct node *node = vm_arena(c->vm, sizeof(*node) + part_count * sizeof(struct node *));

	node->kind = kind;
	node->line = line;
	node->part_count = part_count;
	return node;
}

static const struct node *plain(struct compiler *c, value v, uint32_t line)
{
	struct node *node = new_node(c, NODE_PLAIN, line, 0);

	node->plain = v;
	return node;
}

/* ---- Constants: the only values on the heap that a program's text makes. ---- */

static value constant_value(struct compiler *c, const struct datum *datum)
{
	struct vm *vm = c->vm;
	struct object *string;
	value *base = vm->sp;
	value list = VALUE_NIL;

	switch (datum->kind) {
	case DATUM_PLAIN:
		return datum->plain;
	case DATUM_SYMBOL:
		return from_symbol(datum->symbol);
	case DATUM_FLONUM:
		return vm_flonum(vm, datum->flonum);
	case DATUM_STRING:
		string = vm_new_string(vm, datum->length);
		memcpy(string_bytes(string), datum->text, datum->length);
		return from_object(string);
	case DATUM_LIST:
		break;
	}
	for (const struct datum *element = datum->first; element != NULL; element = element->next)
		vm_push(vm, constant_value(c, element));
	vm_push(vm, list);
	while (vm->sp - base > 1) {
		list = vm_pair(vm, &vm->sp[-2], &vm->sp[-1]);
		vm->sp--;
		vm->sp[-1] = list;
	}
	list = vm->sp[-1];
	vm->sp = base;
	return list;
}

static const struct node *constant(struct compiler *c, const struct datum *datum)
{
	value v = constant_value(c, datum);
	struct node *node;

	if (!is_object(v))
		return plain(c, v, datum->line);
	node = new_node(c, NODE_CONSTANT, datum->line, 0);
	node->index = vm_constant(c->vm, v);
	return node;
}

/* ---- Variables. ---- */

static struct scope *new_scope(struct compiler *c, const struct scope *outer, uint32_t count)
{
	struct scope *scope = vm_arena(c->vm, sizeof(*scope));

	scope->outer = outer;
	scope->names = vm_arena(c->vm, (count + 1) * sizeof(scope->names[0]));
	return scope;
}

static void add_name(struct compiler *c, struct scope *scope, const struct datum *name)
{
	if (name->kind != DATUM_SYMBOL)
		syntax_fail(c->file, name->line, "the name of a variable was to come here");
	scope->names[scope->count++] = name->symbol;
}

static const struct node *variable(struct compiler *c, const struct datum *name,
                                   const struct scope *scope, bool set)
{
	struct node *node = new_node(c, set ? NODE_SET_LOCAL : NODE_LOCAL, name->line, set);

	if (name->kind != DATUM_SYMBOL)
		syntax_fail(c->file, name->line, "set!: (set! name value)");
	for (; scope != NULL; scope = scope->outer) {
		for (uint32_t i = 0; i < scope->count; i++) {
			if (scope->names[i] == name->symbol) {
				node->index = i + 1; /* field 0 is the environment around it */
				return node;
			}
		}
		node->depth++;
	}
	node->kind = set ? NODE_SET_GLOBAL : NODE_GLOBAL;
	node->symbol = name->symbol;
	return node;
}

/* ---- Forms. ---- */

static const struct node *lambda(struct compiler *c, const char *name, struct datum *parameters,
                                 struct datum *body, const struct scope *scope, uint32_t line)
{
	struct node *node = new_node(c, NODE_LAMBDA, line, 0);
	struct lambda *made = vm_arena(c->vm, sizeof(*made));
	struct scope *inner;

	if (parameters->kind != DATUM_LIST)
		syntax_fail(c->file, line, "lambda: (lambda (name ...) body ...)");
	inner = new_scope(c, scope, datum_length(parameters));
	for (struct datum *p = parameters->first; p != NULL; p = p->next)
		add_name(c, inner, p);
	made->name = name;
	made->file = c->file;
	made->line = line;
	made->parameter_count = inner->count;
	made->body = compile_body(c, body, inner->count == 0 ? scope : inner, true, line);
	node->lambda = made;
	return node;
}

/* A value that will have a name; functions have it in profiles. */
static const struct node *named_value(struct compiler *c, const struct datum *name,
                                      struct datum *datum, const struct scope *scope)
{
	if (datum_is_form(datum, "lambda") && datum_length(datum) >= 3)
		return lambda(c, name->symbol->name, datum->first->next, datum->first->next->next,
		              scope, datum->line);
	return compile_datum(c, datum, scope, false);
}

static bool is_function_definition(const struct datum *define)
{
	return define->first->next->kind == DATUM_LIST && define->first->next->first != NULL;
}

/* The name in (define name value) or (define (name parameter ...) body ...). */
static struct datum *defined_name(struct compiler *c, struct datum *define)
{
	if (datum_length(define) < 3)
		syntax_fail(c->file, define->line, "define: (define name value)");
	return is_function_definition(define) ? define->first->next->first : define->first->next;
}

static const struct node *defined_value(struct compiler *c, struct datum *define,
                                        const struct scope *scope)
{
	struct datum *name = defined_name(c, define), parameters = *define->first->next;

	if (!is_function_definition(define))
		return named_value(c, name, define->first->next->next, scope);
	parameters.first = name->next;
	return lambda(c, name->symbol->name, &parameters, define->first->next->next, scope,
	              define->line);
}

static const struct node *sequence(struct compiler *c, enum node_kind kind, struct datum *form,
                                   const struct scope *scope, bool tail, uint32_t line)
{
	struct node *node;
	uint32_t count = 0;

	for (struct datum *f = form; f != NULL; f = f->next)
		count++;
	if (count == 1)
		return compile_datum(c, form, scope, tail);
	node = new_node(c, kind, line, count);
	for (uint32_t i = 0; i < count; i++, form = form->next)
		node->parts[i] = compile_datum(c, form, scope, tail && i + 1 == count);
	return node;
}

/* Forms in order; definitions at the beginning are a letrec around the rest. */
static const struct node *compile_body(struct compiler *c, struct datum *form,
                                       const struct scope *scope, bool tail, uint32_t line)
{
	struct datum *first = form;
	struct scope *inner;
	struct node *node;
	uint32_t count = 0;

	for (; form != NULL && datum_is_form(form, "define"); form = form->next)
		count++;
	if (form == NULL)
		syntax_fail(c->file, line, "a body has an expression at its end");
	if (count == 0)
		return sequence(c, NODE_SEQUENCE, form, scope, tail, line);
	inner = new_scope(c, scope, count);
	for (struct datum *f = first; f != form; f = f->next)
		add_name(c, inner, defined_name(c, f));
	node = new_node(c, NODE_LETREC, line, count + 1);
	node->tail = tail;
	for (uint32_t i = 0; i < count; i++, first = first->next)
		node->parts[i] = defined_value(c, first, inner);
	node->parts[count] = sequence(c, NODE_SEQUENCE, form, inner, tail, line);
	return node;
}

static const struct node *let(struct compiler *c, struct datum *form, const struct scope *scope,
                              bool tail, bool recursive)
{
	struct datum *bindings = form->first->next;
	struct scope *inner;
	struct node *node;
	uint32_t count = 0;

	if (datum_length(form) < 3 || bindings->kind != DATUM_LIST)
		syntax_fail(c->file, form->line, "let: (let ((name value) ...) body ...)");
	if (bindings->first == NULL)
		return compile_body(c, bindings->next, scope, tail, form->line);
	inner = new_scope(c, scope, datum_length(bindings));
	for (struct datum *b = bindings->first; b != NULL; b = b->next) {
		if (datum_length(b) != 2)
			syntax_fail(c->file, b->line, "let: a binding is (name value)");
		add_name(c, inner, b->first);
	}
	node = new_node(c, recursive ? NODE_LETREC : NODE_LET, form->line, inner->count + 1);
	node->tail = tail;
	for (struct datum *b = bindings->first; b != NULL; b = b->next)
		node->parts[count++] = named_value(c, b->first, b->first->next,
		                                   recursive ? inner : scope);
	node->parts[count] = compile_body(c, bindings->next, inner, tail, form->line);
	return node;
}

static const struct node *conditional(struct compiler *c, struct datum *form,
                                      const struct scope *scope, bool tail)
{
	struct node *node = new_node(c, NODE_IF, form->line, 3);
	struct datum *test = form->first->next;
	uint32_t length = datum_length(form);

	if (length != 3 && length != 4)
		syntax_fail(c->file, form->line, "if: (if test then else)");
	node->parts[0] = compile_datum(c, test, scope, false);
	node->parts[1] = compile_datum(c, test->next, scope, tail);
	node->parts[2] = length == 3 ? plain(c, VALUE_UNSPECIFIED, form->line)
	                             : compile_datum(c, test->next->next, scope, tail);
	return node;
}

static const struct node *call(struct compiler *c, struct datum *form, const struct scope *scope,
                               bool tail)
{
	struct node *node = new_node(c, NODE_CALL, form->line, datum_length(form));
	uint32_t i = 0;

	node->tail = tail;
	for (struct datum *part = form->first; part != NULL; part = part->next)
		node->parts[i++] = compile_datum(c, part, scope, false);
	return node;
}

static const struct node *set(struct compiler *c, struct datum *form, const struct scope *scope)
{
	struct node *node;

	if (datum_length(form) != 3)
		syntax_fail(c->file, form->line, "set!: (set! name value)");
	node = (struct node *)variable(c, form->first->next, scope, true);
	node->parts[0] = compile_datum(c, form->first->next->next, scope, false);
	return node;
}

static const struct node *compile_list(struct compiler *c, struct datum *form,
                                       const struct scope *scope, bool tail)
{
	uint32_t length = datum_length(form);

	if (datum_is_form(form, "quote") && length == 2)
		return constant(c, form->first->next);
	if (datum_is_form(form, "if"))
		return conditional(c, form, scope, tail);
	if (datum_is_form(form, "lambda") && length >= 3)
		return lambda(c, "lambda", form->first->next, form->first->next->next, scope,
		              form->line);
	if (datum_is_form(form, "let") || datum_is_form(form, "letrec"))
		return let(c, form, scope, tail, datum_is_form(form, "letrec"));
	if (datum_is_form(form, "set!"))
		return set(c, form, scope);
	if (datum_is_form(form, "begin"))
		return length == 1 ? plain(c, VALUE_UNSPECIFIED, form->line)
		                   : sequence(c, NODE_SEQUENCE, form->first->next, scope, tail,
		                              form->line);
	if (datum_is_form(form, "and"))
		return length == 1
		               ? plain(c, VALUE_TRUE, form->line)
		               : sequence(c, NODE_AND, form->first->next, scope, tail, form->line);
	if (datum_is_form(form, "or"))
		return length == 1
		               ? plain(c, VALUE_FALSE, form->line)
		               : sequence(c, NODE_OR, form->first->next, scope, tail, form->line);
	if (datum_is_form(form, "define") || length == 0)
		syntax_fail(c->file, form->line,
		            length == 0 ? "() has no value; write '()"
		                        : "define: not in an expression");
	return call(c, form, scope, tail);
}

static const struct node *compile_datum(struct compiler *c, struct datum *datum,
                                        const struct scope *scope, bool tail)
{
	struct datum *expanded;

	switch (datum->kind) {
	case DATUM_SYMBOL:
		return variable(c, datum, scope, false);
	case DATUM_LIST:
		break;
	default:
		return constant(c, datum);
	}
	while ((expanded = expand(c->vm, c->file, datum)) != datum)
		datum = expanded;
	return compile_list(c, datum, scope, tail);
}

const struct lambda *compile(struct vm *vm, const char *file, struct datum *form)
{
	struct compiler c = { .vm = vm, .file = file };
	struct lambda *top = vm_arena(vm, sizeof(*top));
	struct node *node;

	*top = (struct lambda){ .name = "(top level)", .file = file, .line = form->line };
	if (datum_is_form(form, "define")) {
		node = new_node(&c, NODE_DEFINE, form->line, 1);
		node->symbol = defined_name(&c, form)->symbol;
		node->parts[0] = defined_value(&c, form, NULL);
		top->body = node;
	} else {
		top->body = compile_datum(&c, form, NULL, true);
	}
	return top;
}
