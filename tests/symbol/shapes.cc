// SPDX-License-Identifier: Apache-2.0
//
// C++ with much to inline: templates, lambdas, virtual functions, operators, containers.  The tests
// of src/symbol/ compile it and compare what two tools say of its addresses.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>
namespace outer
{
namespace
{
template <class T> struct Shape {
	virtual ~Shape()
	{
	}
	virtual T area() const = 0;
	T operator()(T x) const
	{
		return x * area();
	}
};
struct Square : Shape<double> {
	double s;
	explicit Square(double v) : s(v)
	{
	}
	double area() const override
	{
		return s * s;
	}
};
struct Disk : Shape<double> {
	double r;
	explicit Disk(double v) : r(v)
	{
		log.push_back(v);
	}
	double area() const override
	{
		return 3.14 * r * r;
	}
	std::vector<double> log;
};
} // namespace
template <typename... A> int sum(A... a)
{
	return (0 + ... + a);
}
class Registry
{
	std::map<std::string, std::unique_ptr<Shape<double>>> m;

      public:
	void add(const std::string &k, std::unique_ptr<Shape<double>> s)
	{
		m.emplace(k, std::move(s));
	}
	double total(std::function<double(double)> f) const
	{
		double t = 0;
		for (auto &p : m)
			t += f((*p.second)(2));
		return t;
	}
	friend std::ostream &operator<<(std::ostream &o, const Registry &r)
	{
		for (auto &p : r.m)
			o << p.first << p.second->area() << "\n";
		return o;
	}
	operator bool() const
	{
		return !m.empty();
	}
};
} // namespace outer
static inline int fold(int a)
{
	std::vector<int> v;
	for (int i = 0; i < a; i++)
		v.push_back(i * a);
	std::sort(v.begin(), v.end(), [](int x, int y) { return x % 7 < y % 7; });
	int s = 0;
	for (int x : v)
		s += x;
	return s;
}
int main(int argc, char **argv)
{
	outer::Registry r;
	for (int i = 0; i < argc + 3; i++) {
		r.add(std::to_string(i), std::make_unique<outer::Square>(i));
		r.add("d" + std::to_string(i), std::make_unique<outer::Disk>(i));
	}
	std::ostringstream o;
	o << r;
	if (r)
		printf("%s %f %d\n", o.str().c_str(),
		       r.total([argc](double x) { return x + argc; }),
		       outer::sum(argc, 2, fold(argc)));
	try {
		if (argc > 100)
			throw std::string("x");
	} catch (std::string &e) {
		puts(e.c_str());
	}
	return 0;
}
