/* SPDX-License-Identifier: Apache-2.0 */
/* test_base_java_name - the names of classes, as Java writes them. */
#include <string.h>

#include "base/java_name.h"
#include "test.h"

static const char *name_of(const char *signature)
{
	static char name[64];

	size_t length = gg_java_class_name(signature, name, sizeof(name));

	CHECK_EQ_U64(length, strlen(name));
	return name;
}

TEST(a_class_has_dots)
{
	CHECK_EQ_STR(name_of("Ljava/util/HashMap$Node;"), "java.util.HashMap$Node");
	CHECK_EQ_STR(name_of("LMain;"), "Main");
}

TEST(arrays_have_brackets)
{
	CHECK_EQ_STR(name_of("[I"), "int[]");
	CHECK_EQ_STR(name_of("[[Z"), "boolean[][]");
	CHECK_EQ_STR(name_of("[Ljava/lang/String;"), "java.lang.String[]");
	CHECK_EQ_STR(name_of("J"), "long");
}

TEST(hidden_classes_have_no_number_of_the_run)
{
	CHECK_EQ_STR(name_of("LMain$$Lambda.0x00007f1c04000a00;"), "Main$$Lambda");
	CHECK_EQ_STR(name_of("LMain$$Lambda$14.0x0000000800c03000;"), "Main$$Lambda");
	CHECK_EQ_STR(name_of("LMain$$Lambda$14+0x0000000800c03000;"), "Main$$Lambda");
	CHECK_EQ_STR(name_of("LMain$$Lambda$14+0x0000000800c03000.172032696;"), "Main$$Lambda");
	CHECK_EQ_STR(name_of("LMain/0x0000000800c03000.7;"), "Main");
	CHECK_EQ_STR(name_of("LMain.7;"), "Main.7");
	CHECK_EQ_STR(name_of("LMain.0x.7;"), "Main.0x.7");
	CHECK_EQ_STR(name_of("Lx.7;"), "x.7");
	CHECK_EQ_STR(name_of("Lp/LambdaForm$MH.0x0000000800c04000;"), "p.LambdaForm$MH");
	CHECK_EQ_STR(name_of("[Lp/Outer$12;"), "p.Outer$12[]");
}

TEST(other_texts_stay)
{
	CHECK_EQ_STR(name_of(""), "");
	CHECK_EQ_STR(name_of("L"), "L");
	CHECK_EQ_STR(name_of("[["), "[[");
	CHECK_EQ_STR(name_of("L;"), "L;");
	CHECK_EQ_STR(name_of("Int"), "Int");
}

TEST(a_long_name_is_truncated)
{
	char name[8];

	CHECK_EQ_U64(gg_java_class_name("[Ljava/lang/String;", name, sizeof(name)), 7);
	CHECK_EQ_STR(name, "java.la");
	CHECK_EQ_U64(gg_java_class_name("[Ljava/lang/String;", name, 1), 0);
	CHECK_EQ_STR(name, "");
}
