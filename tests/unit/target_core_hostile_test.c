/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The core reader on cores that are damaged, cut anywhere, or made to hurt. */
#include "core_builder.h"

static void every_length_opens_or_is_refused(void **state)
{
	struct builder builder;
	char path[64];
	off_t size;
	int fd;

	(void)state;
	build_process(&builder);
	fd = write_core(&builder, path);
	size = lseek(fd, 0, SEEK_END);
	for (off_t left = size; left > 0; left -= left > 4096 ? 509 : 3) {
		struct ri_target *target = NULL;
		struct ri_error *error;
		struct ri_gaps gaps;

		assert_int_equal(ftruncate(fd, left), 0);
		ri_gaps_init(&gaps);
		error = ri_target_open_core(path, &gaps, &target);
		assert_true(error || left == size || ri_gaps_has_serious(&gaps));
		assert_int_equal(!error, target != NULL);
		ri_error_destroy(error);
		close_all(target, &gaps);
	}
	close(fd);
	builder_deinit(&builder);
}

/* All bytes of headers and notes, one after the other, set to values that hurt. */
static void every_damaged_byte_is_survived(void **state)
{
	static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
	struct builder builder;
	char path[64];
	int fd;

	(void)state;
	build_process(&builder);
	fd = write_core(&builder, path);
	for (off_t at = 0; at < (off_t)(64 + 15 * 56 + (long)builder.notes.count); at++) {
		uint8_t before;

		assert_int_equal(pread(fd, &before, 1, at), 1);
		for (size_t i = 0; i < sizeof(values); i++) {
			struct ri_target *target = NULL;
			struct ri_gaps gaps;

			assert_int_equal(pwrite(fd, &values[i], 1, at), 1);
			ri_gaps_init(&gaps);
			ri_error_destroy(ri_target_open_core(path, &gaps, &target));
			close_all(target, &gaps);
		}
		assert_int_equal(pwrite(fd, &before, 1, at), 1);
	}
	close(fd);
	builder_deinit(&builder);
}

static void hostile_note_sizes(void **state)
{
	static const uint32_t sizes[][2] = { { UINT32_MAX, UINT32_MAX }, { 5, UINT32_MAX },
					     { UINT32_MAX, 0 },         { UINT32_MAX - 2, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		Elf64_Nhdr header = { sizes[i][0], sizes[i][1], NT_PRSTATUS };
		struct ri_target *target;
		struct builder builder;
		struct ri_gaps gaps;

		builder_init(&builder);
		add_thread(&builder, 1, 0);
		APPEND(&builder.notes, &header, sizeof(header));
		add_thread(&builder, 2, 0);
		add_load(&builder, 0x2000, PAGE, "", 0, PF_R);
		target = open_built(&builder, &gaps);
		assert_int_equal(target->thread_count, 1);
		assert_true(has_gap(&gaps, RI_GAP_MATTERS, "past the end"));
		close_all(target, &gaps);
	}
}

static void hostile_lists_of_files(void **state)
{
	static const struct row rows[] = {
		{ 0x3000, 0x2000, 0 },              /* ends before it starts */
		{ 0x5000, 0x6000, UINT64_MAX / 2 }, /* offset overflows */
		{ 0x2000, 0x9000, 0 },              /* the three overlap */
		{ 0x3000, 0x4000, 0 },
		{ 0x8000, 0xa000, 0 },
	};
	static const uint64_t counts[] = { 1ull << 60, UINT64_MAX, 6, 5 };
	static const char names[] = "/a\0/b\0/c\0/d\0/e";

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct ri_target *target;
		struct builder builder;
		struct ri_gaps gaps;

		builder_init(&builder);
		add_thread(&builder, 1, 0);
		/* the last name has no NUL, so that four rows are left */
		add_files(&builder, counts[i], PAGE, rows, 5, names, sizeof(names) - 1);
		add_load(&builder, 0x100000, PAGE, "", 0, PF_R);
		target = open_built(&builder, &gaps);
		assert_true(has_gap(&gaps, RI_GAP_MATTERS, "NT_FILE) is damaged"));
		if (counts[i] == 5) {
			assert_int_equal(target->mapping_count, 2);
			assert_string_equal(ri_target_find_mapping(target, 0x8fff)->path, "/c");
			assert_null(ri_target_find_mapping(target, 0x9000));
		}
		close_all(target, &gaps);
	}
}

static void hostile_segments(void **state)
{
	static const char page[PAGE] = "x";
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;
	uint8_t byte;

	(void)state;
	builder_init(&builder);
	add_thread(&builder, 1, 0);
	add_files(&builder, 0, PAGE, NULL, 0, "", 0);
	add_load(&builder, 0x1000, 1ull << 62, page, PAGE, PF_R | PF_W);
	add_load(&builder, 0x1800, PAGE, page, PAGE, PF_R);        /* overlaps it */
	add_load(&builder, UINT64_MAX - PAGE, 2 * PAGE, page, PAGE, PF_R); /* wraps */
	add_load(&builder, 0x8000, 16, page, PAGE, PF_R);          /* p_filesz > p_memsz */
	add_load(&builder, 0x9000, PAGE, page, PAGE, PF_R)->p_offset = UINT64_MAX - 0x100000;
	add_load(&builder, 0xb000, 0, page, PAGE, PF_R);
	target = open_built(&builder, &gaps);
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "past the end of the address space"));
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "more bytes in the file"));
	assert_kind(target, 0x1fff, RI_RANGE_PRESENT, R | W | A);
	assert_kind(target, 0x2000, RI_RANGE_PRESENT, R | A);
	assert_kind(target, 0x2800, RI_RANGE_UNTOUCHED, R | W | A);
	assert_kind(target, 1ull << 62, RI_RANGE_UNTOUCHED, R | W | A);
	assert_true(ri_image_read(target->image, 0x800f, &byte, 1));
	assert_kind(target, 0x8010, RI_RANGE_UNTOUCHED, R | W | A);
	assert_null(ri_image_find(target->image, UINT64_MAX - PAGE));
	close_all(target, &gaps);
}

/* A thousand note segments that all say the same megabyte. */
static void note_segments_are_read_once(void **state)
{
	struct ri_target *target;
	struct builder builder;
	struct ri_gaps gaps;

	(void)state;
	builder_init(&builder);
	for (int i = 1; i <= 3000; i++)
		add_thread(&builder, i, 0);
	for (int i = 0; i < 1000; i++) {
		Elf64_Phdr *phdr = ri_push(&builder.phdrs);

		phdr->p_type = PT_NOTE;
		phdr->p_filesz = builder.notes.count;
	}
	add_load(&builder, 0x2000, PAGE, "", 0, PF_R);
	/* their offsets are made absolute: the data begins behind the notes */
	for (int i = 0; i < 1000; i++)
		builder.phdrs.items[1 + i].p_offset = 0;
	APPEND(&builder.data, builder.notes.items, builder.notes.count);
	target = open_built(&builder, &gaps);
	assert_true(has_gap(&gaps, RI_GAP_MATTERS, "note segments overlap"));
	assert_true(target->thread_count <= 6000);
	close_all(target, &gaps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_opens_or_is_refused),
		cmocka_unit_test(every_damaged_byte_is_survived),
		cmocka_unit_test(hostile_note_sizes),
		cmocka_unit_test(hostile_lists_of_files),
		cmocka_unit_test(hostile_segments),
		cmocka_unit_test(note_segments_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
