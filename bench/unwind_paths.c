/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call paths to be unwound: 64 functions that call each other from 8 places each, so a depth and a
 * number give a stack, and 512 call sites make up all of them.  Compiled twice, with and without
 * frame pointers (PATHS_NAME).
 */
#include "unwind_paths.h"

#include "base/compiler.h"

#define NOINLINE __attribute__((noinline))

typedef void hop(struct path *path);

static hop *const hops[64];

/* The next number of the path: which function, and from which place. */
static unsigned draw(struct path *path)
{
	path->state = path->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(path->state >> 40);
}

/*
 * Locals of different sizes make different rules; the use of `path` behind the call keeps it a
 * call.
 */
#define PLACE(n)                       \
	case n:                        \
		hops[next % 64](path); \
		path->sink += n;       \
		break;

#define FUNCTION(name, words)                        \
	NOINLINE static void name(struct path *path) \
	{                                            \
		volatile uint64_t locals[words];     \
		unsigned next = draw(path);          \
                                                     \
		locals[0] = next;                    \
		if (--path->left == 0) {             \
			path->leaf(path->context);   \
			path->sink += locals[0];     \
			return;                      \
		}                                    \
		switch (next >> 8 & 7) {             \
			PLACE(0)                     \
			PLACE(1)                     \
			PLACE(2)                     \
			PLACE(3)                     \
			PLACE(4)                     \
			PLACE(5)                     \
			PLACE(6)                     \
			PLACE(7)                     \
		}                                    \
		path->sink += locals[0];             \
	}

#define EIGHT(name)           \
	FUNCTION(name##0, 1)  \
	FUNCTION(name##1, 2)  \
	FUNCTION(name##2, 3)  \
	FUNCTION(name##3, 4)  \
	FUNCTION(name##4, 6)  \
	FUNCTION(name##5, 8)  \
	FUNCTION(name##6, 12) \
	FUNCTION(name##7, 16)

EIGHT(a)
EIGHT(b)
EIGHT(c)
EIGHT(d)
EIGHT(e)
EIGHT(f)
EIGHT(g)
EIGHT(h)

static hop *const hops[64] = {
	a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3, c4, c5,
	c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7, f0, f1, f2, f3,
	f4, f5, f6, f7, g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7,
};

void PATHS_NAME(uint64_t number, unsigned depth, void (*leaf)(void *context), void *context)
{
	struct path path = { .state = number, .left = depth, .leaf = leaf, .context = context };

	hops[draw(&path) % 64](&path);
}
