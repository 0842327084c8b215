/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrappers_templates - allocates through the standard library, and through an arena of its own
 * that is a template.
 */
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#define ALONE __attribute__((noinline))

template <class T> struct arena {
	ALONE static void *take(size_t count)
	{
		return malloc(count * sizeof(T));
	}
};

static void *volatile kept;

ALONE static void fill_table(std::vector<int> &table)
{
	table.reserve(100000);
}

ALONE static void name_things(std::map<int, std::string> &names)
{
	for (int i = 0; i < 100; i++)
		names[i] = std::string(5000, 'x');
}

template <int number> ALONE static void use()
{
	kept = arena<double>::take(100000 + 1000 * number);
	kept = nullptr;
}

template <int... numbers> static void use_all(std::integer_sequence<int, numbers...>)
{
	(use<numbers>(), ...);
}

int main()
{
	std::vector<int> table;
	std::map<int, std::string> names;

	fill_table(table);
	name_things(names);
	use_all(std::make_integer_sequence<int, 10>());
	std::_Exit(0);
}
