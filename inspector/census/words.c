/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The filters: see words.h.  With AVX2 a group of 16 words costs four loads and
 * one branch, 32 byte offsets cost three loads and one branch, which keeps up with
 * memory; elsewhere plain C.
 */
#include "census/words.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static size_t skip_plain(const uint8_t *p, size_t i, size_t n, uint64_t low, uint64_t span)
{
	for (; n - i >= RI_WORDS_GROUP; i += RI_WORDS_GROUP) {
		bool any = false;

		for (size_t k = 0; k < RI_WORDS_GROUP; k++)
			any |= ri_words_load(p, i + k) - low < span;
		if (any)
			break;
	}
	return i;
}

#if defined(__x86_64__)
/* There is no unsigned comparison: flipping the top bit turns it into the signed one. */
__attribute__((target("avx2"))) static size_t skip_avx2(const uint8_t *p, size_t i, size_t n,
							 uint64_t low, uint64_t span)
{
	const __m256i flip = _mm256_set1_epi64x(INT64_MIN);
	const __m256i base = _mm256_set1_epi64x((long long)low);
	const __m256i limit = _mm256_xor_si256(_mm256_set1_epi64x((long long)span), flip);

	for (; n - i >= RI_WORDS_GROUP; i += RI_WORDS_GROUP) {
		__m256i any = _mm256_setzero_si256();

		for (size_t k = 0; k < RI_WORDS_GROUP; k += 4) {
			__m256i words = _mm256_loadu_si256((const void *)(p + (i + k) * 8));
			__m256i offset = _mm256_xor_si256(_mm256_sub_epi64(words, base), flip);

			any = _mm256_or_si256(any, _mm256_cmpgt_epi64(limit, offset));
		}
		if (!_mm256_testz_si256(any, any))
			break;
	}
	return i;
}
#endif

static size_t differ_plain(const uint8_t *p, size_t i, size_t n, uint64_t value, uint64_t mask)
{
	for (; n - i >= RI_WORDS_GROUP; i += RI_WORDS_GROUP) {
		bool any = false;

		for (size_t k = 0; k < RI_WORDS_GROUP; k++)
			any |= ((ri_words_load(p, i + k) ^ value) & mask) == 0;
		if (any)
			break;
	}
	return i;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static size_t differ_avx2(const uint8_t *p, size_t i, size_t n,
							  uint64_t value, uint64_t mask)
{
	const __m256i bits = _mm256_set1_epi64x((long long)mask);
	const __m256i wanted = _mm256_set1_epi64x((long long)(value & mask));

	for (; n - i >= RI_WORDS_GROUP; i += RI_WORDS_GROUP) {
		__m256i any = _mm256_setzero_si256();

		for (size_t k = 0; k < RI_WORDS_GROUP; k += 4) {
			__m256i words = _mm256_loadu_si256((const void *)(p + (i + k) * 8));

			any = _mm256_or_si256(
				any, _mm256_cmpeq_epi64(_mm256_and_si256(words, bits), wanted));
		}
		if (!_mm256_testz_si256(any, any))
			break;
	}
	return i;
}
#endif

static size_t find_top_plain(const uint8_t *p, size_t i, size_t n, uint32_t top,
			     const uint64_t *filter)
{
	for (; i < n; i++) {
		uint64_t word = ri_words_load(p + i, 0);

		if (word >> 40 == top && ri_words_passes(filter, word))
			break;
	}
	return i;
}

#if defined(__x86_64__)
/* 32 offsets at a time: their bytes 5, 6 and 7 against those of `top`. */
__attribute__((target("avx2"))) static size_t find_top_avx2(const uint8_t *p, size_t i, size_t n,
							     uint32_t top,
							     const uint64_t *filter)
{
	const __m256i low = _mm256_set1_epi8((char)top);
	const __m256i middle = _mm256_set1_epi8((char)(top >> 8));
	const __m256i high = _mm256_set1_epi8((char)(top >> 16));

	for (; n - i >= 32; i += 32) {
		__m256i a = _mm256_loadu_si256((const void *)(p + i + 5));
		__m256i b = _mm256_loadu_si256((const void *)(p + i + 6));
		__m256i c = _mm256_loadu_si256((const void *)(p + i + 7));
		__m256i equal = _mm256_and_si256(_mm256_cmpeq_epi8(a, low),
						 _mm256_cmpeq_epi8(b, middle));
		unsigned mask = (unsigned)_mm256_movemask_epi8(
			_mm256_and_si256(equal, _mm256_cmpeq_epi8(c, high)));

		for (; mask; mask &= mask - 1) {
			size_t at = i + (unsigned)__builtin_ctz(mask);

			if (ri_words_passes(filter, ri_words_load(p + at, 0)))
				return at;
		}
	}
	return find_top_plain(p, i, n, top, filter);
}
#endif

ri_words_top_function *ri_words_top_finder(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return find_top_avx2;
#endif
	return find_top_plain;
}

ri_words_differ_function *ri_words_differ_skipper(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return differ_avx2;
#endif
	return differ_plain;
}

ri_words_skip_function *ri_words_skipper(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return skip_avx2;
#endif
	return skip_plain;
}
