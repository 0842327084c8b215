/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_demangle - compares pairs of a linker's name and the name that people should see. */
#include <stdlib.h>

#include "symbol/names/demangle.h"
#include "test.h"

static void expect(const char *linkage_name, const char *full_wanted, const char *short_wanted)
{
	struct gg_buf full = { 0 }, brief = { 0 };

	gg_demangle(linkage_name, &full, &brief);
	CHECK_MSG(strcmp(gg_buf_text(&full), full_wanted) == 0, "%s:\n  full %s\n  not  %s",
	          linkage_name, gg_buf_text(&full), full_wanted);
	CHECK_MSG(strcmp(gg_buf_text(&brief), short_wanted) == 0, "%s:\n  short %s\n  not   %s",
	          linkage_name, gg_buf_text(&brief), short_wanted);
	gg_buf_done(&full);
	gg_buf_done(&brief);
}

static void expect_short(const char *full, const char *wanted)
{
	struct gg_buf brief = { 0 };

	gg_shorten_cxx(full, &brief);
	CHECK_MSG(strcmp(gg_buf_text(&brief), wanted) == 0, "%s:\n  short %s\n  not   %s", full,
	          gg_buf_text(&brief), wanted);
	gg_buf_done(&brief);
}

/* Was geiger built with libiberty? */
static bool has_demanglers(void)
{
	struct gg_buf full = { 0 }, brief = { 0 };
	bool is_demangled;

	gg_demangle("_Znwm", &full, &brief);
	is_demangled = strcmp(gg_buf_text(&full), "_Znwm") != 0;
	gg_buf_done(&full);
	gg_buf_done(&brief);
	return is_demangled;
}

TEST(names_that_are_not_mangled_lose_clone_suffixes_and_versions)
{
	expect("main", "main", "main");
	expect("f.part.0", "f.part.0", "f");
	expect("f.constprop.0.isra.0.cold", "f.constprop.0.isra.0.cold", "f");
	expect("f.llvm.1234", "f.llvm.1234", "f");
	expect("my.name", "my.name", "my.name");
	expect("malloc@@GLIBC_2.2.5", "malloc@@GLIBC_2.2.5", "malloc");
	expect("", "", "");
	expect(".", ".", ".");
	expect("@", "@", "@");
	expect("_Z", "_Z", "_Z");
	expect("_R", "_R", "_R");
	expect("_RNv", "_RNv", "_RNv");
	expect("_Znonsense", "_Znonsense", "_Znonsense");
}

TEST(cxx_names_are_demangled_and_shortened)
{
	if (!has_demanglers())
		SKIP("built without libiberty");
	expect("_Znwm", "operator new(unsigned long)", "operator new");
	expect("_ZdaPv", "operator delete[](void*)", "operator delete[]");
	expect("_ZN2ns5Class6methodEi", "ns::Class::method(int)", "ns::Class::method");
	expect("_ZNK2ns5Class6methodERKS0_", "ns::Class::method(ns::Class const&) const",
	       "ns::Class::method");
	expect("_ZNSt6vectorIiSaIiEE9push_backEOi",
	       "std::vector<int, std::allocator<int> >::push_back(int&&)",
	       "std::vector<...>::push_back");
	expect("_Z1fIiEvT_", "void f<int>(int)", "f<...>");
	expect("_Z1fi.part.0", "f(int) [clone .part.0]", "f");
	expect("_ZN12_GLOBAL__N_11fEv", "(anonymous namespace)::f()", "(anonymous namespace)::f");
	expect("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
	       "main::{lambda#1}::operator()");
	expect("_ZThn16_N1A1fEv", "non-virtual thunk to A::f()", "non-virtual thunk to A::f");
	expect("_ZGVZ1fvE1x", "guard variable for f()::x", "guard variable for f::x");
}

TEST(operators_keep_their_own_brackets)
{
	expect_short("A::operator()(int) const", "A::operator()");
	expect_short("A::operator<(A const&)", "A::operator<");
	expect_short("std::ostream& operator<< <int>(std::ostream&, int const&)",
	             "operator<<<...>");
	expect_short("A::operator->() const", "A::operator->");
	expect_short("A::operator->*(int)", "A::operator->*");
	expect_short("bool operator<=><int>(int, int)", "operator<=><...>");
	expect_short("A::operator[](unsigned long)", "A::operator[]");
	expect_short("A::operator,(int)", "A::operator,");
	expect_short("A::operator bool() const", "A::operator bool");
	expect_short("A::operator std::vector<int>() const", "A::operator std::vector<...>");
	expect_short("operator new[](unsigned long, std::nothrow_t const&)", "operator new[]");
	expect_short("operator\"\" _km(long double)", "operator\"\" _km");
	expect_short("my_operator(int)", "my_operator");
	expect_short("operators::f(int)", "operators::f");
}

TEST(return_types_go_and_what_is_local_stays)
{
	expect_short("std::enable_if<(1 > 0), int>::type f<int>(int)", "f<...>");
	expect_short("unsigned long const& g<A::operator<>(int)", "g<...>");
	expect_short("decltype ({parm#1}+(1)) f<int>(int)", "f<...>");
	expect_short("decltype (*{parm#1}) f<int>(int)", "f<...>");
	expect_short("void (*f<int>(int))(char)", "f<...>");
	expect_short("f(int)::Local::g() const", "f::Local::g");
	expect_short("f[abi:cxx11](int)", "f");
	expect_short("vtable for A<int>", "vtable for A<...>");
	expect_short("construction vtable for A-in-B", "construction vtable for A-in-B");
	expect_short("A<&(B::f(int))>::g(void (*)(int))", "A<...>::g");
	expect_short("A<(b)5>::f() &&", "A<...>::f");
	expect_short("A<my_operator<int>, &B::operator<>::f()", "A<...>::f");
	expect_short("std::function<void ()>::operator()() const",
	             "std::function<...>::operator()");
}

TEST(text_that_is_no_name_gives_some_text)
{
	static const char *const texts[] = {
		"",    "<",        ">",          "(",         ")", "<<<<",
		"a<b", "operator", "operator<",  "((((",      "{", "}}",
		" ",   "  a  ",    "a<(>)",      "::",        "[", "]",
		"a(b", "decltype", "decltype (", "operator ",
	};
	struct gg_buf out = { 0 };

	for (size_t i = 0; i < GG_COUNT(texts); i++) {
		gg_buf_clear(&out);
		gg_shorten_cxx(texts[i], &out);
		CHECK(!out.failed && out.length <= strlen(texts[i]) + 8);
	}
	gg_buf_done(&out);
}

TEST(rust_v0_names_are_demangled_and_shortened)
{
	if (!has_demanglers())
		SKIP("built without libiberty");
	/* The examples of RFC 2603 have this form. */
	expect("_RNvNtNtC7mycrateu8gdel_5qa6escher4bach",
	       "mycrate::g\xc3\xb6"
	       "del::escher::bach",
	       "mycrate::g\xc3\xb6"
	       "del::escher::bach");
	expect("_RNvC6_123foo3bar", "123foo::bar", "123foo::bar");
	expect("_RNCNvCs1_3app4main0", "app::main::{closure#0}", "app::main::{closure#0}");
	expect("_RNCNCNvC3app4mains_0s0_0", "app::main::{closure#1}::{closure#2}",
	       "app::main::{closure#1}::{closure#2}");
	expect("_RINvC3app1fmE", "app::f::<u32>", "app::f::<...>");
	expect("_RNvMC3appNtB2_4Type6method", "<app::Type>::method", "<app::Type>::method");
	expect("_RNvXC3appINtB2_3VechENtB2_4Drop4drop", "<app::Vec<u8> as app::Drop>::drop",
	       "<app::Vec<...> as app::Drop>::drop");
	expect("_RINvC3app1fFKCmEuE", "app::f::<extern \"C\" fn(u32)>", "app::f::<...>");
	expect("_RNvMC3appDNtB2_5Iterap4ItemmEL_1f", "<dyn app::Itera<Item = u32>>::f",
	       "<dyn app::Itera<...>>::f");
	expect("_RNvMC3appDG_NtB2_2TrEL_1f", "<dyn for<'a> app::Tr>::f",
	       "<dyn for<'a> app::Tr>::f");
	expect("_RINvMC3appFG_RL0_mEu1fpE", "<for<'a> fn(&'a u32)>::f::<_>",
	       "<for<'a> fn(&'a u32)>::f::<...>");
	expect("_RINvC3app1fKj1f_E", "app::f::<31>", "app::f::<...>");
	expect("_RINvC3app1fKin80_E", "app::f::<-128>", "app::f::<...>");
	expect("_RINvC3app1fKb1_KcZ_E", "_RINvC3app1fKb1_KcZ_E", "_RINvC3app1fKb1_KcZ_E");
	expect("_RINvC3app1fKb1_Kc41_E", "app::f::<true, 'A'>", "app::f::<...>");
	expect("_RINvC3app1fKc3e_Kb1_E", "app::f::<'>', true>", "app::f::<...>");
	expect("_RINvC3app1fB0_E", "app::f::<app::f>", "app::f::<...>");
	expect("_RINvC3app1fB9_E", "_RINvC3app1fB9_E", "_RINvC3app1fB9_E"); /* leads forwards */
	/* Texts, structures and tuples as constants, which only nightly compilers allow. */
	expect("_RINvC3app1fKRe6162_E", "_RINvC3app1fKRe6162_E", "_RINvC3app1fKRe6162_E");
	expect("_RINvC3app1fKTm5_b0_EE", "_RINvC3app1fKTm5_b0_EE", "_RINvC3app1fKTm5_b0_EE");
	expect("_RNvC3app1f.llvm.42", "app::f.llvm.42", "app::f");
	expect("_RNvC3app1fC5other", "app::f", "app::f");
	expect("_RTmhE", "_RTmhE", "_RTmhE"); /* a type is no symbol */
	/*
	 * These capitals look like references and lifetimes, but belong to identifiers and hashes.
	 */
	expect("_RINvMNtCsFGabcBxyz12_3app10FGGeneralsNtB3_14Big_BagBuilder4makehE",
	       "<app::FGGenerals::Big_BagBuilder>::make::<u8>",
	       "<app::FGGenerals::Big_BagBuilder>::make::<...>");
	expect("_RINvNtC3app16DGGenerals_Baggy4makeNtB2_7GiantBoE",
	       "app::DGGenerals_Baggy::make::<app::DGGenerals_Baggy::GiantBo>",
	       "app::DGGenerals_Baggy::make::<...>");
}

TEST(rust_legacy_names_are_demangled_and_shortened)
{
	if (!has_demanglers())
		SKIP("built without libiberty");
	expect("_ZN3app4main17h0123456789abcdefE", "app::main::h0123456789abcdef", "app::main");
	expect("_ZN47_$LT$app..Vec$LT$T$GT$$u20$as$u20$app..Drop$GT$4drop17h0123456789abcdefE",
	       "<app::Vec<T> as app::Drop>::drop::h0123456789abcdef",
	       "<app::Vec<...> as app::Drop>::drop");
	expect("_ZN3app43drop_in_place$LT$app..Vec$LT$app..T$GT$$GT$17h0123456789abcdefE",
	       "app::drop_in_place<app::Vec<app::T>>::h0123456789abcdef",
	       "app::drop_in_place<...>");
	expect("_ZN3app4main28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
	       "app::main::{{closure}}::h0123456789abcdef", "app::main::{{closure}}");
	/* No hash, or another last part: C++. */
	expect("_ZN3app4mainEv.cold", "app::main() [clone .cold]", "app::main");
}

/* The name stays mangled, and the answer takes milliseconds. */
static void expect_refused(const char *linkage_name)
{
	struct gg_buf full = { 0 }, brief = { 0 };

	gg_demangle(linkage_name, &full, &brief);
	CHECK_EQ_STR(gg_buf_text(&full), linkage_name);
	CHECK(brief.length > 0 && !brief.failed);
	gg_buf_done(&full);
	gg_buf_done(&brief);
}

static const char base_62[] = "0123456789abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* a::b::<...> with a tuple of two words and then one of the tuple before twice, `count` times. */
static void make_rust_tuples(struct gg_buf *name, int count)
{
	size_t last = strlen("INvC1a1b"); /* where the last tuple stands, from behind _R */

	gg_buf_clear(name);
	gg_buf_append_text(name, "_RINvC1a1bTmmE");
	for (int i = 0; i < count; i++) {
		size_t at = name->length - 2;
		char offset[4] = { base_62[(last - 1) / 62], base_62[(last - 1) % 62], '_' };
		const char *shown = offset[0] == '0' ? offset + 1 : offset;

		gg_buf_printf(name, "TB%sB%sE", shown, shown);
		last = at;
	}
	gg_buf_append_text(name, "E");
}

/* f(A<int, int>, A<A<int, int>, A<int, int> >, ...): each has the one before twice. */
static void make_cxx_templates(struct gg_buf *name, int count)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	gg_buf_clear(name);
	gg_buf_append_text(name, "_Z1f1AIiiE");
	for (int i = 0; i < count; i++)
		gg_buf_printf(name, "S_IS%c_S%c_E", digits[i], digits[i]);
}

TEST(a_name_that_would_grow_without_bound_stays_as_it_is)
{
	struct gg_buf name = { 0 };

	make_rust_tuples(&name, 1);
	if (has_demanglers())
		expect(gg_buf_text(&name), "a::b::<(u32, u32), ((u32, u32), (u32, u32))>",
		       "a::b::<...>");
	make_rust_tuples(&name, 40);
	expect_refused(gg_buf_text(&name));
	make_cxx_templates(&name, 1);
	if (has_demanglers())
		expect(gg_buf_text(&name), "f(A<int, int>, A<A<int, int>, A<int, int> >)", "f");
	make_cxx_templates(&name, 36);
	expect_refused(gg_buf_text(&name));
	gg_buf_done(&name);
}

TEST(a_name_of_parts_within_parts_within_parts_stays_as_it_is)
{
	struct gg_buf name = { 0 };

	gg_buf_append_text(&name, "_RINvC1a1b");
	for (int i = 0; i < 10000; i++)
		gg_buf_append_text(&name, "R");
	gg_buf_append_text(&name, "mE");
	expect_refused(gg_buf_text(&name));
	gg_buf_clear(&name);
	gg_buf_append_text(&name, "_Z1f");
	for (int i = 0; i < 15000; i++)
		gg_buf_append_text(&name, "P");
	gg_buf_append_text(&name, "i");
	expect_refused(gg_buf_text(&name));
	gg_buf_done(&name);
}

TEST(a_rust_name_with_more_lifetimes_than_any_real_one_stays_as_it_is)
{
	expect_refused("_RINvC1a1bDGzzzzzzzzzz_C1cEL_E");
	expect_refused("_RINvC1a1bFGzzzzzzzzzz_EuE");
	/*
	 * Parts that are parsed but not printed: the place of an impl, and the crate of an
	 * instance.
	 */
	expect_refused("_RNvMIC1apDGzzzzzzzzzz_C1cEL_Em1b");
	expect_refused("_RNvC1a1bIC1cDGzzzzzzzzzz_C1dEL_E");
	/* More digits than 64 bits have. */
	expect_refused("_RNvMIC1aFGzzzzzzzzzzzzzzzzzzzzzz_EuEm1b");
}
