/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expand - expresses derived forms by simpler ones:
 *
 *   (let* ((a x) ...) body ...)       (let ((a x)) (let* (...) body ...))
 *   (let loop ((a x) ...) body ...)   ((letrec ((loop (lambda (a ...) body ...))) loop) x ...)
 *   (do ((a x step) ...) (test r ...) body ...)
 *                                     (let do-loop ((a x) ...)
 *                                       (if test (begin r ...)
 *                                         (begin body ... (do-loop step ...))))
 *   (cond (test e ...) ...)           (if test (begin e ...) (cond ...))
 *   (case key ((a b) e ...) ...)      (let ((case-key key))
 *                                       (cond ((memv case-key '(a b)) e ...) ...))
 *   (when test e ...)                 (if test (begin e ...)), and unless
 *
 * It expands one step at a time, so a result may be a derived form again.  Data are shared, and
 * never changed.
 */
#include "syntax.h"

struct expander {
	struct vm *vm;
	const char *file;
	uint32_t line;
};

static struct datum *symbol(struct expander *e, const char *name)
{
	return datum_symbol(e->vm, name, e->line);
}

#define list(e, ...)                                                      \
	datum_list((e)->vm, (e)->line, (struct datum *[]){ __VA_ARGS__ }, \
	           sizeof((struct datum *[]){ __VA_ARGS__ }) / sizeof(struct datum *))

/* A list that begins so and goes on with these elements of another. */
static struct datum *list_with(struct expander *e, struct datum *first, struct datum *second,
                               struct datum *rest)
{
	struct datum *result = second == NULL ? list(e, first) : list(e, first, second);
	struct datum *last = result->first;

	while (last->next != NULL)
		last = last->next;
	last->next = rest;
	return result;
}

static struct datum *empty_list(struct expander *e)
{
	return datum_list(e->vm, e->line, NULL, 0);
}

static struct datum *begin(struct expander *e, struct datum *rest)
{
	return list_with(e, symbol(e, "begin"), NULL, rest);
}

/* Adds to the end of a list that is under construction. */
static void append(struct expander *e, struct datum *result, struct datum *element)
{
	struct datum **end = &result->first;

	while (*end != NULL)
		end = &(*end)->next;
	*end = list(e, element)->first;
}

static struct datum *expand_let_star(struct expander *e, struct datum *form)
{
	struct datum *bindings = form->first->next, *body = bindings->next, *rest;

	if (bindings->first == NULL || bindings->first->next == NULL)
		return list_with(e, symbol(e, "let"), bindings, body);
	rest = empty_list(e);
	rest->first = bindings->first->next;
	return list(e, symbol(e, "let"), list(e, bindings->first),
	            list_with(e, symbol(e, "let*"), rest, body));
}

static struct datum *expand_named_let(struct expander *e, struct datum *form)
{
	struct datum *name = form->first->next, *bindings = name->next, *body = bindings->next;
	struct datum *names = empty_list(e), *lambda, *loop, *call;

	for (struct datum *b = bindings->first; b != NULL; b = b->next) {
		if (datum_length(b) != 2)
			syntax_fail(e->file, b->line, "let: a binding is (name value)");
		append(e, names, b->first);
	}
	lambda = list_with(e, symbol(e, "lambda"), names, body);
	loop = list(e, symbol(e, "letrec"), list(e, list(e, name, lambda)), name);
	call = list(e, loop);
	for (struct datum *b = bindings->first; b != NULL; b = b->next)
		append(e, call, b->first->next);
	return call;
}

static struct datum *expand_do(struct expander *e, struct datum *form)
{
	struct datum *variables = form->first->next, *end, *bindings = empty_list(e);
	struct datum *step = list(e, symbol(e, "do-loop")), *body = list(e, symbol(e, "begin"));

	if (datum_length(form) < 3 || datum_length(variables->next) < 1)
		syntax_fail(e->file, form->line,
		            "do: (do ((name first step) ...) (test result ...) ...)");
	end = variables->next;
	for (struct datum *v = variables->first; v != NULL; v = v->next) {
		if (datum_length(v) != 2 && datum_length(v) != 3)
			syntax_fail(e->file, v->line, "do: a variable is (name first step)");
		append(e, bindings, list(e, v->first, v->first->next));
		append(e, step, v->first->next->next == NULL ? v->first : v->first->next->next);
	}
	for (struct datum *b = end->next; b != NULL; b = b->next)
		append(e, body, b);
	append(e, body, step);
	return list(e, symbol(e, "let"), symbol(e, "do-loop"), bindings,
	            list(e, symbol(e, "if"), end->first, begin(e, end->first->next), body));
}

static struct datum *expand_cond(struct expander *e, struct datum *form)
{
	struct datum *clause = form->first->next, *rest;

	if (clause == NULL)
		return begin(e, NULL);
	if (datum_length(clause) < 2)
		syntax_fail(e->file, clause->line, "cond: a clause is (test expression ...)");
	if (datum_is_form(clause, "else"))
		return begin(e, clause->first->next);
	e->line = clause->line;
	rest = list_with(e, symbol(e, "cond"), NULL, clause->next);
	return list(e, symbol(e, "if"), clause->first, begin(e, clause->first->next), rest);
}

static struct datum *expand_case(struct expander *e, struct datum *form)
{
	struct datum *key = symbol(e, "case-key"), *cond = list(e, symbol(e, "cond")), *test;

	if (datum_length(form) < 2)
		syntax_fail(e->file, form->line,
		            "case: (case key ((datum ...) expression ...) ...)");
	for (struct datum *c = form->first->next->next; c != NULL; c = c->next) {
		if (datum_length(c) < 2)
			syntax_fail(e->file, c->line,
			            "case: a clause is ((datum ...) expression ...)");
		test = list(e, symbol(e, "memv"), key, list(e, symbol(e, "quote"), c->first));
		append(e, cond,
		       datum_is_form(c, "else") ? c : list_with(e, test, NULL, c->first->next));
	}
	return list(e, symbol(e, "let"), list(e, list(e, key, form->first->next)), cond);
}

static struct datum *expand_when(struct expander *e, struct datum *form, bool unless)
{
	struct datum *test = form->first->next;

	if (datum_length(form) < 3)
		syntax_fail(e->file, form->line, "when: (when test expression ...)");
	if (unless)
		test = list(e, symbol(e, "not"), test);
	return list(e, symbol(e, "if"), test, begin(e, form->first->next->next));
}

struct datum *expand(struct vm *vm, const char *file, struct datum *form)
{
	struct expander e = { .vm = vm, .file = file, .line = form->line };

	if (datum_is_form(form, "cond"))
		return expand_cond(&e, form);
	if (datum_is_form(form, "case"))
		return expand_case(&e, form);
	if (datum_is_form(form, "do"))
		return expand_do(&e, form);
	if (datum_is_form(form, "when") || datum_is_form(form, "unless"))
		return expand_when(&e, form, datum_is_form(form, "unless"));
	if (datum_is_form(form, "let") || datum_is_form(form, "let*")) {
		if (datum_length(form) < 3)
			syntax_fail(file, form->line, "let: (let ((name value) ...) body ...)");
		if (datum_is_form(form, "let*"))
			return expand_let_star(&e, form);
		if (form->first->next->kind == DATUM_SYMBOL)
			return expand_named_let(&e, form);
	}
	return form;
}
