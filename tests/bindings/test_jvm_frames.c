/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_jvm_frames - the table of frames, over a VM, a cache of methods and a region that are
 * functions here; and the tags of objects.
 */
#include <stdlib.h>
#include <string.h>

#include "embed/counts.h"
#include "embed/name_ids.h"
#include "embed/sampling_settings.h"
#include "jvm/frames.h"
#include "jvm/methods.h"
#include "jvm/object_tag.h"
#include "test.h"

static unsigned interned_count, asked_count;
static unsigned text_count; /* of the VM, not given back yet */
static uint32_t methods_epoch;
static bool is_full;    /* the region */
static bool is_unknown; /* the method, to the cache */
static bool is_refused; /* a weak reference */
static unsigned cleared_count;

/* --- the cache of methods, the region, and libgeiger --- */

void gg_jvm_methods_lock(jvmtiEnv *jvmti, JNIEnv *jni, const jvmtiFrameInfo *frames, size_t count)
{
	(void)jvmti, (void)jni, (void)frames;
	CHECK_EQ_U64(count, 1);
}

bool gg_jvm_method_frame(const jvmtiFrameInfo *from, struct geiger_frame *ret_frame)
{
	static char name[32];

	if (is_unknown) {
		*ret_frame = (struct geiger_frame){ .function = "m999999" };
		return false;
	}
	snprintf(name, sizeof(name), "m%zu", (size_t)(uintptr_t)from->method);
	*ret_frame = (struct geiger_frame){ .function = name,
		                            .line = (uint32_t)(from->location + 1) };
	return true;
}

void gg_jvm_methods_unlock(void)
{
}

uint32_t gg_jvm_methods_epoch(void)
{
	return methods_epoch;
}

static uint64_t intern(const struct gg_frame_info *info)
{
	interned_count++;
	CHECK(info->function_bytes == strlen(info->function) && info->file_bytes == 0);
	return is_full ? 0
	               : strtoull(info->function + 1, NULL, 10) * 1000 + info->line +
	                         gg_embed_settings.generation * 1000000;
}

static const struct gg_agent_functions functions = { .frame = intern };
struct gg_embed_settings gg_embed_settings = { .agent = &functions };

void gg_embed_count(enum gg_embed_counter counter)
{
	CHECK(is_full && counter == GG_EMBED_NAMES_DROPPED);
}

uint16_t gg_embed_type_number(const char *type)
{
	return (uint16_t)(strtoul(type + strlen("p.C"), NULL, 10) +
	                  1000 * gg_embed_settings.generation);
}

/* --- the VM: a class, and a weak reference to it, is its number --- */

static jvmtiError JNICALL class_signature(jvmtiEnv *env, jclass klass, char **ret_text,
                                          char **ret_generic)
{
	char name[32];

	(void)env, (void)ret_generic;
	asked_count++;
	text_count++;
	snprintf(name, sizeof(name), "Lp/C%zu;", (size_t)(uintptr_t)klass);
	*ret_text = strdup(name);
	return JVMTI_ERROR_NONE;
}

static jvmtiError JNICALL deallocate(jvmtiEnv *env, unsigned char *p)
{
	(void)env;
	text_count--;
	free(p);
	return JVMTI_ERROR_NONE;
}

static jweak JNICALL weak_reference(JNIEnv *env, jobject object)
{
	(void)env;
	return is_refused ? NULL : object;
}

static void JNICALL clear_exception(JNIEnv *env)
{
	(void)env;
	cleared_count++;
}

static jboolean JNICALL is_same(JNIEnv *env, jobject a, jobject b)
{
	(void)env;
	return a == b;
}

static const struct jvmtiInterface_1_ jvmti_calls = { .GetClassSignature = class_signature,
	                                              .Deallocate = deallocate };
static const struct JNINativeInterface_ jni_calls = { .NewWeakGlobalRef = weak_reference,
	                                              .ExceptionClear = clear_exception,
	                                              .IsSameObject = is_same };
static jvmtiEnv jvmti = &jvmti_calls;
static JNIEnv jni = &jni_calls;

static jvmtiFrameInfo frame(size_t method, jlong location)
{
	return (jvmtiFrameInfo){ .method = (jmethodID)(uintptr_t)method, .location = location };
}

/* Allocates an object of that class in the frame; counts the questions to the VM for its type. */
static uint16_t type_at(size_t method, size_t klass, unsigned *ret_asked)
{
	jvmtiFrameInfo at = frame(method, 0);
	struct gg_jvm_stack stack;
	unsigned before = asked_count;
	uint16_t type;

	gg_jvm_frames_find(&jvmti, &jni, &at, 1, &stack);
	type = gg_jvm_frames_type(&jvmti, &jni, (jclass)(uintptr_t)klass, &stack);
	*ret_asked = asked_count - before;
	CHECK_EQ_U64(text_count, 0);
	return type;
}

TEST(an_unknown_method_is_asked_for_again)
{
	jvmtiFrameInfo one = frame(77, 1);
	struct gg_jvm_stack stack;

	is_unknown = true;
	gg_jvm_frames_find(&jvmti, &jni, &one, 1, &stack);
	CHECK(stack.pc_count == 1 && stack.pcs[0] == 999999000);
	is_unknown = false;
	gg_jvm_frames_find(&jvmti, &jni, &one, 1, &stack);
	CHECK(stack.pc_count == 1 && stack.pcs[0] == 77002);
}

TEST(a_refused_reference_leaves_no_exception)
{
	unsigned asked;

	is_refused = true;
	type_at(78, 5, &asked);
	is_refused = false;
	CHECK_EQ_U64(cleared_count, 1);
}

TEST(each_frame_is_interned_once)
{
	jvmtiFrameInfo frames[] = { frame(7, 3), frame(7, 3), frame(7, 4), frame(8, -1),
		                    frame(7, 3) };
	struct gg_jvm_stack stack;
	unsigned before = interned_count;

	for (int i = 0; i < 3; i++) {
		gg_jvm_frames_find(&jvmti, &jni, frames, GG_COUNT(frames), &stack);
		CHECK_EQ_U64(stack.pc_count, 5);
		CHECK(stack.pcs[0] == 7004 && stack.pcs[1] == 7004 && stack.pcs[2] == 7005 &&
		      stack.pcs[3] == 8000 && stack.pcs[4] == 7004);
	}
	CHECK_EQ_U64(interned_count - before, 3);
	/* The table grows. */
	for (int round = 0; round < 2; round++)
		for (size_t i = 1; i < 5000; i++) {
			jvmtiFrameInfo one = frame(i, 10);

			gg_jvm_frames_find(&jvmti, &jni, &one, 1, &stack);
			CHECK(stack.pc_count == 1 && stack.pcs[0] == i * 1000 + 11);
		}
	CHECK_EQ_U64(interned_count - before, 3 + 4999);
}

TEST(another_generation_and_an_emptied_cache_of_methods_empty_the_table)
{
	jvmtiFrameInfo one = frame(9, 1);
	struct gg_jvm_stack stack;
	unsigned before = interned_count, asked;

	CHECK_EQ_U64(type_at(9, 5, &asked), 5);
	gg_embed_settings.generation++;
	gg_jvm_frames_find(&jvmti, &jni, &one, 1, &stack);
	CHECK(stack.pcs[0] == 1009002 && stack.generation == 1);
	CHECK_EQ_U64(type_at(9, 5, &asked), 1005);
	gg_embed_settings.generation--;
	before = interned_count;
	methods_epoch++;
	gg_jvm_frames_find(&jvmti, &jni, &one, 1, &stack);
	CHECK(stack.pcs[0] == 9002 && interned_count == before + 1);
}

TEST(a_full_region_leaves_frames_out)
{
	jvmtiFrameInfo frames[] = { frame(11, 0), frame(12, 0) };
	struct gg_jvm_stack stack;

	gg_jvm_frames_find(&jvmti, &jni, &frames[1], 1, &stack);
	is_full = true;
	gg_jvm_frames_find(&jvmti, &jni, frames, 2, &stack);
	CHECK(stack.pc_count == 1 && stack.pcs[0] == 12001);
	is_full = false;
	gg_jvm_frames_find(&jvmti, &jni, frames, 2, &stack);
	CHECK(stack.pc_count == 2 && stack.pcs[0] == 11001);
}

TEST(the_type_is_that_of_the_class_whatever_the_frame_allocated_before)
{
	unsigned asked, sum = 0;

	CHECK(type_at(20, 1, &asked) == 1 && asked == 1);
	CHECK(type_at(20, 1, &asked) == 1 && asked == 0);
	CHECK(type_at(20, 2, &asked) == 2 && asked == 1);
	CHECK(type_at(20, 2, &asked) == 2 && asked == 0);
	/* A frame of many classes asks each time. */
	for (size_t i = 0; i < 100; i++) {
		CHECK_EQ_U64(type_at(21, 100 + i % 7, &asked), 100 + i % 7);
		sum += asked;
	}
	CHECK(sum > 90);
}

TEST(classes_beyond_the_limit_are_right_as_well)
{
	unsigned asked;

	for (size_t i = 0; i < GG_JVM_CLASSES_KEPT + 100; i++)
		CHECK_EQ_U64(type_at(100000 + i, i % 1000, &asked), i % 1000);
	for (size_t i = 0; i < GG_JVM_CLASSES_KEPT + 100; i++)
		CHECK_EQ_U64(type_at(100000 + i, (i + 1) % 1000, &asked), (i + 1) % 1000);
}

TEST(a_tag_has_the_number_and_at_most_the_time_of_the_birth)
{
	uint64_t before = 0;

	for (uint64_t ms = 0; ms < UINT64_C(1) << 42; ms += 1 + ms / 1000) {
		int64_t tag = gg_jvm_tag(0xfedcba987654, ms);
		uint64_t born = gg_jvm_tag_born_ms(tag);

		CHECK_MSG(born <= ms && ms - born <= ms / 2048 && born >= before, "%ju for %ju",
		          (uintmax_t)born, (uintmax_t)ms);
		CHECK_EQ_U64(gg_jvm_tag_number(tag), 0xfedcba987654);
		before = born;
	}
	CHECK_EQ_U64(gg_jvm_tag_born_ms(gg_jvm_tag(1, UINT64_MAX)), (UINT64_C(4095) << 30));
}
