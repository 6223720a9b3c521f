/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading what a layout describes out of an image: fields, conditions, counts.
 * Knows nothing of types; whether a value makes sense for an object is for the
 * later stages.
 *
 * All arithmetic on target values is modulo 2^64: a hostile count must not be
 * able to overflow anything of ours.
 */
#include "profile/layout.h"
#include "target/image.h"

/* Bits of the value that `field` describes. */
static unsigned bits_of(const struct ri_field *field)
{
	return field->bit_size ? field->bit_size : 8u * field->size_bytes;
}

static uint64_t low_bits(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static int64_t extend_sign(uint64_t value, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return bits >= 64 ? (int64_t)value : (int64_t)((value ^ sign) - sign);
}

/* The field's bits, zero-extended. */
static bool read_bits(const struct ri_image *image, uint64_t base, const struct ri_field *field,
		      uint64_t *ret)
{
	uint64_t value = 0;

	if (!field->is_present || !field->size_bytes ||
	    !ri_image_read_uint(image, base + (uint64_t)field->offset_bytes, field->size_bytes,
				&value))
		return false;
	*ret = (value >> field->bit_shift) & low_bits(bits_of(field));
	return true;
}

bool ri_field_read(const struct ri_image *image, uint64_t base, const struct ri_field *field,
		   int64_t *ret)
{
	uint64_t value = 0;

	if (!read_bits(image, base, field, &value))
		return false;
	*ret = field->is_signed ? extend_sign(value, bits_of(field)) : (int64_t)value;
	return true;
}

bool ri_condition_holds(const struct ri_image *image, uint64_t base,
			const struct ri_condition *condition)
{
	uint64_t mask = condition->mask & low_bits(bits_of(&condition->field));
	uint64_t value = 0;
	bool holds;

	if (!condition->is_present || !read_bits(image, base, &condition->field, &value))
		return false;
	if (condition->has_equals) /* compared in the field's width: -1 is all of its bits */
		holds = (value & mask) == (condition->equals & mask);
	else
		holds = (value & mask) != 0;
	return holds != condition->is_negated;
}

/* Bits that are left of a count after mask and shift. */
static unsigned count_bits(const struct ri_count_rule *rule)
{
	uint64_t mask = (rule->mask & low_bits(bits_of(&rule->field))) >> rule->shift;

	return mask ? 64u - (unsigned)__builtin_clzll(mask) : 64u;
}

static bool is_in_band(const struct ri_band *band, int64_t value)
{
	return band->low <= value && value <= band->high;
}

enum ri_count_state ri_count_classify(const struct ri_count_rule *rule, int64_t count)
{
	for (size_t i = 0; i < rule->dead_count; i++)
		if (rule->dead[i] == count)
			return RI_COUNT_DEAD;
	if (is_in_band(&rule->immortal, count))
		return RI_COUNT_IMMORTAL;
	if (is_in_band(&rule->saturated, count))
		return RI_COUNT_SATURATED;
	return is_in_band(&rule->live, count) ? RI_COUNT_LIVE : RI_COUNT_IMPOSSIBLE;
}

enum ri_count_state ri_count_read(const struct ri_image *image, uint64_t base,
				  const struct ri_count_rule *rule, int64_t *ret_count)
{
	enum ri_count_state state;
	uint64_t value = 0;

	if (!read_bits(image, base, &rule->field, &value))
		return RI_COUNT_UNREADABLE;
	value = (value & rule->mask) >> rule->shift;
	if (rule->field.is_signed)
		value = (uint64_t)extend_sign(value, count_bits(rule));
	if (rule->is_negative)
		value = -value;
	value += (uint64_t)rule->bias;
	state = ri_count_classify(rule, (int64_t)value);
	if (ri_condition_holds(image, base, &rule->plus))
		value -= (uint64_t)rule->plus_value;
	*ret_count = (int64_t)value;
	return state;
}
