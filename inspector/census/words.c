/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The range filter: see words.h.  With AVX2 a group of 16 words costs four
 * loads and one branch, which keeps up with memory; elsewhere plain C.
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

ri_words_skip_function *ri_words_skipper(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		return skip_avx2;
#endif
	return skip_plain;
}
