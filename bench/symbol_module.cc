// SPDX-License-Identifier: Apache-2.0
//
// The source of bench_symbol's modules: code of the kind that C++ programs have, most of it
// inlined.  SEED gives each object functions of its own.
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)
#define SPACE        PASTE(space, SEED)
#define ENTRY        PASTE(entry, SEED)

namespace SPACE
{
template <int N> struct Record {
	std::string name;
	std::vector<int> values;
	std::map<std::string, std::unique_ptr<Record>> children;

	Record &child(const std::string &key)
	{
		auto found = children.find(key);

		if (found == children.end())
			found = children.emplace(key, std::make_unique<Record>()).first;
		return *found->second;
	}
	long sum() const
	{
		long total = std::accumulate(values.begin(), values.end(), 0L);

		for (const auto &entry : children)
			total += entry.second->sum() * N;
		return total;
	}
};

template <int N> long work(int count)
{
	Record<N> root;
	std::unordered_map<int, std::string> names;
	std::vector<std::string> order;

	for (int i = 0; i < count; i++) {
		names[i % (N + 3)] = std::to_string(i * N);
		root.child(names[i % (N + 3)]).values.push_back(i);
		order.push_back(names[i % (N + 3)] + "/" + std::to_string(N));
	}
	std::sort(order.begin(), order.end(),
	          [](const std::string &a, const std::string &b) { return a.size() < b.size(); });
	return root.sum() + static_cast<long>(order.size());
}
} // namespace SPACE

extern "C" __attribute__((visibility("default"))) long ENTRY(int count)
{
	using namespace SPACE;

	return work<1>(count) + work<2>(count) + work<3>(count) + work<4>(count) + work<5>(count) +
	       work<6>(count) + work<7>(count) + work<8>(count);
}
