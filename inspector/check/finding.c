/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The list of findings: see finding.h.  Knows how findings are kept, filled
 * and ordered; what they mean is the checks' business.
 *
 * The order is the checks' order in the table, then the address, then whatever
 * else differs: the same image gives the same list.
 */
#include "check/finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

struct ri_finding *ri_findings_add(struct ri_findings *findings, const struct ri_check *check,
				   uint64_t addr)
{
	struct ri_finding *finding = ri_push(findings);

	finding->check = check;
	finding->addr = addr;
	finding->object = RI_NONE;
	finding->group = RI_NONE;
	return finding;
}

enum ri_severity ri_finding_severity(const struct ri_finding *finding)
{
	return finding->status == RI_FINDING_IN_FLUX ? RI_SEVERITY_NOTE
						     : finding->check->severity;
}

void ri_finding_explain(struct ri_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*ri_push(&finding->evidence) = ri_vformat(format, args);
	va_end(args);
}

void ri_finding_summarize(struct ri_finding *finding, const char *format, ...)
{
	va_list args;

	free(finding->summary);
	va_start(args, format);
	finding->summary = ri_vformat(format, args);
	va_end(args);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare(const void *a, const void *b)
{
	const struct ri_finding *x = a, *y = b;
	int order = compare_u64(ri_check_order(x->check), ri_check_order(y->check));

	if (!order)
		order = compare_u64(x->addr, y->addr);
	if (!order)
		order = compare_u64(x->group, y->group);
	if (!order)
		order = compare_u64(x->object, y->object);
	if (!order)
		order = compare_text(x->fingerprint, y->fingerprint);
	return order ? order : compare_text(x->summary, y->summary);
}

void ri_findings_sort(struct ri_findings *findings)
{
	if (findings->count)
		qsort(findings->items, findings->count, sizeof(*findings->items), compare);
}

void ri_findings_destroy(struct ri_findings *findings)
{
	if (!findings)
		return;
	for (size_t i = 0; i < findings->count; i++) {
		struct ri_finding *finding = &findings->items[i];

		for (size_t j = 0; j < finding->evidence.count; j++)
			free(finding->evidence.items[j]);
		ri_vec_deinit(&finding->evidence);
		ri_vec_deinit(&finding->also);
		ri_vec_deinit(&finding->release);
		ri_vec_deinit(&finding->addrs);
		free(finding->fingerprint);
		free(finding->summary);
	}
	ri_vec_deinit(findings);
	free(findings);
}
