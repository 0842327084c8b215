/* SPDX-License-Identifier: Apache-2.0 */
/* test_fleet_ids - ids are a format: their values, and what makes two of them differ. */
#include "fleet/fleet_ids.h"

#include "test.h"

static void print_hash(const unsigned char hash[16], char text[33])
{
	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
}

/* The published vectors of SipHash-2-4: key 00 01 .. 0f, message 00 01 .. 0e. */
TEST(the_hash_is_siphash)
{
	unsigned char bytes[16], hash[16];
	char text[33];

	for (int i = 0; i < 16; i++)
		bytes[i] = (unsigned char)i;
	CHECK_EQ_U64(gg_fleet_siphash64(bytes, 15, bytes), UINT64_C(0xa129ca6149be45e5));
	CHECK_EQ_U64(gg_fleet_siphash64(bytes, 0, bytes), UINT64_C(0x726fdb47dd0e0e31));
	gg_fleet_siphash128(bytes, 15, bytes, hash);
	print_hash(hash, text);
	CHECK_EQ_STR(text, "5493e99933b0a8117e08ec0f97cfc3d9");
}

/* Stores keep ids for years: another value would be another service. */
TEST(ids_never_change)
{
	const struct gg_fleet_label labels[] = { { "zone", "eu" }, { "pod", "p1" } };
	uint64_t frames[] = { gg_fleet_native_frame_id("5f2c", "/lib/a.so", 0x1234),
		              gg_fleet_named_frame_id("main", "a.py", 7) };
	struct gg_fleet_series series = { .service = "checkout",
		                          .version = "1.2",
		                          .kind = "native",
		                          .labels = labels,
		                          .label_count = 2 };
	char text[33];

	CHECK_EQ_U64(gg_fleet_service_id("checkout"), UINT64_C(0x6c9e8bbfd5aa307e));
	CHECK_EQ_U64(gg_fleet_host_id("web-17"), UINT64_C(0x285bcd5850887603));
	CHECK_EQ_U64(frames[0], UINT64_C(0xe293cdb7cb3c0f5a));
	CHECK_EQ_U64(frames[1], UINT64_C(0x68771fc2cbf03b30));
	print_hash(gg_fleet_stack_id(frames, 2).bytes, text);
	CHECK_EQ_STR(text, "9c366f61a52acfd413cb92fc2e3ac988");
	CHECK_EQ_U64(gg_fleet_series_id(&series), UINT64_C(0xcbfc2aaaad1ac30b));
}

/* A sender may send any text. */
TEST(what_is_no_build_id_is_none)
{
	static const char *const wrong[] = {
		"", "5", "5f2", "xyzw", "5f 2c", "0x5f", "5f-c", "a/bc"
	};
	uint8_t bytes[4] = { 0 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_EQ_U64(gg_fleet_read_build_id(wrong[i], strlen(wrong[i]), bytes, 4), 0);
	/* A part of a longer one would be the build-id of another file. */
	CHECK_EQ_U64(gg_fleet_read_build_id("0011223344", 10, bytes, 4), 0);
	CHECK_EQ_U64(gg_fleet_read_build_id("5F2cA0", 6, bytes, 4), 3);
	CHECK(bytes[0] == 0x5f && bytes[1] == 0x2c && bytes[2] == 0xa0);
}

TEST(the_order_of_labels_does_not_matter)
{
	const struct gg_fleet_label one[] = { { "zone", "eu" }, { "pod", "p1" } };
	const struct gg_fleet_label two[] = { { "pod", "p1" }, { "zone", "eu" } };
	const struct gg_fleet_label swapped[] = { { "pod", "eu" }, { "zone", "p1" } };
	struct gg_fleet_series a = { .service = "s", .labels = one, .label_count = 2 };
	struct gg_fleet_series b = { .service = "s", .labels = two, .label_count = 2 };
	struct gg_fleet_series c = { .service = "s", .labels = swapped, .label_count = 2 };
	struct gg_fleet_series fewer = { .service = "s", .labels = one, .label_count = 1 };

	CHECK_EQ_U64(gg_fleet_series_id(&a), gg_fleet_series_id(&b));
	CHECK(gg_fleet_series_id(&a) != gg_fleet_series_id(&c));
	CHECK(gg_fleet_series_id(&a) != gg_fleet_series_id(&fewer));
}

TEST(texts_do_not_run_into_each_other)
{
	struct gg_fleet_series a = { .service = "ab", .version = "c" };
	struct gg_fleet_series b = { .service = "a", .version = "bc" };
	struct gg_fleet_series missing = { .service = "ab" };
	struct gg_fleet_series empty = { .service = "ab", .version = "" };

	CHECK(gg_fleet_series_id(&a) != gg_fleet_series_id(&b));
	CHECK_EQ_U64(gg_fleet_series_id(&missing), gg_fleet_series_id(&empty));
	CHECK(gg_fleet_service_id("x") != gg_fleet_host_id("x"));
	CHECK(gg_fleet_named_frame_id("ab", "c", 1) != gg_fleet_named_frame_id("a", "bc", 1));
}

TEST(a_build_id_makes_the_path_of_a_module_irrelevant)
{
	CHECK_EQ_U64(gg_fleet_native_frame_id("5f", "/a/x", 1),
	             gg_fleet_native_frame_id("5f", "/b/x", 1));
	CHECK(gg_fleet_native_frame_id("", "/a/x", 1) != gg_fleet_native_frame_id("", "/b/x", 1));
	CHECK(gg_fleet_native_frame_id("5f", NULL, 1) != gg_fleet_native_frame_id("5f", NULL, 2));
}

TEST(a_stack_depends_on_the_order_and_the_number_of_its_frames)
{
	const uint64_t frames[] = { 1, 2, 0 };
	const uint64_t turned[] = { 2, 1, 0 };
	struct gg_fleet_stack_id a = gg_fleet_stack_id(frames, 2);
	struct gg_fleet_stack_id b = gg_fleet_stack_id(turned, 2);
	struct gg_fleet_stack_id longer = gg_fleet_stack_id(frames, 3);

	CHECK(memcmp(&a, &b, sizeof(a)) != 0);
	CHECK(memcmp(&a, &longer, sizeof(a)) != 0);
}
