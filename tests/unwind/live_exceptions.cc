// SPDX-License-Identifier: Apache-2.0
//
// Throws through frames of all kinds and allocates everywhere on the way: before, in the throw
// itself, in destructors, in handlers, in threads.
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

struct Leaves {
	explicit Leaves(int n) : name(40, static_cast<char>('a' + n % 26))
	{
	}
	~Leaves()
	{
		std::string again = name + name;
		last() = again.size();
	}
	static volatile size_t &last()
	{
		static thread_local volatile size_t value;
		return value;
	}
	std::string name;
};

struct Deep : std::runtime_error {
	explicit Deep(const std::string &what) : std::runtime_error(what)
	{
	}
};

int descend(int depth, int throw_at, std::vector<std::string> &log)
{
	Leaves leaves(depth);
	auto *room = static_cast<char *>(__builtin_alloca(16 + 16 * (depth % 5)));

	room[0] = static_cast<char>(depth);
	if (depth == throw_at)
		throw Deep("at depth " + std::to_string(depth) + std::string(30, '.'));
	if (depth > 60)
		return room[0];
	try {
		std::function<int()> next = [&] { return descend(depth + 1, throw_at, log); };
		return next() + room[0];
	} catch (const Deep &deep) {
		log.push_back(std::string(deep.what()) + " seen in " + std::to_string(depth));
		if (depth % 3 == 0)
			throw;
		if (depth % 3 == 1)
			throw Deep(log.back());
		return 1;
	}
}

int work(int seed)
{
	std::map<int, std::vector<std::string>> logs;
	int sum = 0;

	for (int i = 0; i < 60; i++) {
		try {
			sum += descend(0, 5 + (i * 7 + seed) % 50, logs[i % 7]);
		} catch (const std::exception &) {
			sum++;
		}
		std::regex words("([a-z]+) ([a-z]+) ([0-9]+)");
		std::smatch match;
		for (auto &line : logs[i % 7])
			sum += std::regex_search(line, match, words);
		logs[i % 7].clear();
	}
	return sum;
}

} // namespace

int main()
{
	std::vector<std::thread> threads;
	int sum = work(0);

	for (int i = 1; i < 4; i++)
		threads.emplace_back([i] { work(i); });
	for (auto &thread : threads)
		thread.join();
	return sum > 0 ? 0 : 1;
}
