/* SPDX-License-Identifier: Apache-2.0 */
/* test_jvm_methods - what the cache of methods asks of a VM, which is a table of functions here. */
#include <stdlib.h>
#include <string.h>

#include "jvm/methods.h"
#include "test.h"

static unsigned asked_count, class_count; /* local references to classes that are held */

static jvmtiError JNICALL declaring_class(jvmtiEnv *env, jmethodID method, jclass *ret_class)
{
	(void)env, (void)method;
	*ret_class = (jclass)&class_count;
	class_count++;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL class_signature(jvmtiEnv *env, jclass klass, char **ret_text,
                                          char **ret_generic)
{
	(void)env, (void)klass, (void)ret_generic;
	*ret_text = strdup("Lp/Class;");
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL source_file(jvmtiEnv *env, jclass klass, char **ret_text)
{
	(void)env, (void)klass;
	*ret_text = strdup("Class.java");
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL method_name(jvmtiEnv *env, jmethodID method, char **ret_name,
                                      char **ret_signature, char **ret_generic)
{
	char name[32];

	(void)env, (void)ret_signature, (void)ret_generic;
	asked_count++;
	snprintf(name, sizeof(name), "m%zu", (size_t)(uintptr_t)method);
	*ret_name = strdup(name);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL line_table(jvmtiEnv *env, jmethodID method, jint *ret_count,
                                     jvmtiLineNumberEntry **ret_lines)
{
	(void)env, (void)method;
	*ret_count = 1;
	*ret_lines = calloc(1, sizeof(**ret_lines));
	(*ret_lines)->line_number = 7;
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL deallocate(jvmtiEnv *env, unsigned char *p)
{
	(void)env;
	free(p);
	return JVMTI_ERROR_NONE;
}

static const struct jvmtiInterface_1_ calls = {
	.GetMethodDeclaringClass = declaring_class,
	.GetClassSignature = class_signature,
	.GetSourceFileName = source_file,
	.GetMethodName = method_name,
	.GetLineNumberTable = line_table,
	.Deallocate = deallocate,
};
static jvmtiEnv vm = &calls;

static void JNICALL delete_reference(JNIEnv *env, jobject object)
{
	(void)env;
	CHECK(object == (jobject)&class_count);
	class_count--;
}

static const struct JNINativeInterface_ jni_calls = { .DeleteLocalRef = delete_reference };
static JNIEnv jni = &jni_calls;

/* Stacks of one frame each; the number of questions. */
static unsigned see(size_t from, size_t to)
{
	unsigned before = asked_count;

	for (size_t i = from; i < to; i++) {
		jvmtiFrameInfo frame = { .method = (jmethodID)(uintptr_t)i };
		struct geiger_frame seen;
		char name[40];

		snprintf(name, sizeof(name), "p.Class.m%zu", i);
		gg_jvm_methods_lock(&vm, &jni, &frame, 1);
		gg_jvm_method_frame(&frame, &seen);
		CHECK_MSG(strcmp(seen.function, name) == 0 && seen.line == 7, "%s, not %s",
		          seen.function, name);
		gg_jvm_methods_unlock();
		CHECK_EQ_U64(class_count, 0); /* of which a callback may have few */
	}
	return asked_count - before;
}

TEST(unloaded_classes_do_not_empty_the_cache_of_hotspot)
{
	CHECK_EQ_U64(see(1, 1001), 1000);
	CHECK_EQ_U64(see(1, 1001), 0);
	for (int i = 0; i < 100; i++) {
		gg_jvm_methods_unloaded(true);
		CHECK_EQ_U64(see(1, 1001), 0);
	}
}

TEST(a_full_cache_is_emptied_once_after_classes_were_unloaded)
{
	gg_jvm_methods_unloaded(true);
	see(1, GG_JVM_METHODS_KEPT + 2);
	CHECK_EQ_U64(see(1, 1001), 1000);
	see(1, GG_JVM_METHODS_KEPT + 2);
	CHECK_EQ_U64(see(1, 1001), 0); /* no class was unloaded since */
	gg_jvm_methods_unloaded(true);
	CHECK_EQ_U64(see(1, 1001), 1000);
	CHECK_EQ_U64(see(1, 1001), 0);
}

TEST(other_vms_may_reuse_a_number_after_each_unloading)
{
	see(1, 101);
	gg_jvm_methods_unloaded(false);
	CHECK_EQ_U64(see(1, 101), 100);
	CHECK_EQ_U64(see(1, 101), 0);
}
