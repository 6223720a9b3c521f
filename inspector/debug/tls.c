/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thread-local storage: see tls.h.
 *
 * Two sources, both exact:
 *
 *   The psABI (x86-64, TLS variant II): the thread pointer is fs_base, which points
 *   at a word that holds its own address, and the executable's segment ends there,
 *   its size rounded up to its alignment.  So it is in any libc, and in programs
 *   that are linked statically.
 *
 *   glibc's own records for everything else.  libc.so exports descriptors for
 *   debuggers, symbols `_thread_db_*`, each three 32-bit numbers: size of a member
 *   in bits, number of elements, offset in bytes.  They say how to get from the
 *   thread pointer to the thread's vector (dtv), and from ld.so's list of slots to
 *   the link map behind each module number.  A link map begins with l_addr, l_name,
 *   l_ld (<link.h>).  A module in static TLS has the distance from the thread
 *   pointer in its link map; any other one has its block where the vector says, if
 *   the thread ever used it, which the generation of the vector and of the slot
 *   tell.
 *
 * Where both speak of the executable and differ, neither is believed.
 *
 * Cost: the slots once, then a few reads per thread and module; their product is
 * bounded.  Blind spots: shared objects under other libcs, or where libc's file is
 * not at hand and the core has not its read-only data; those variables stay what
 * other memory of a thread is, possible holders.
 */
#include "debug/tls.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "debug/modules_private.h"

#define SLOTS_MAX 65536
#define LISTS_MAX 4096
#define BLOCKS_MAX (1u << 22)
#define SEGMENT_MAX_BYTES (1ull << 30)
#define LINK_MAP_DYNAMIC 16 /* offset of l_ld */

/* A member as a descriptor tells it. */
struct field {
	uint32_t size_bits, count, offset_bytes;
};

struct layout {
	struct field dtvp, dtv, pointer;   /* pthread.dtvp, dtv_t[], dtv_t.pointer.val */
	struct field counter;              /* dtv_t.counter: length at -1, generation at 0 */
	struct field list_head;            /* in _rtld_global */
	struct field list_len, list_next, list_slots, slot_gen, slot_map;
	struct field tls_offset;           /* link_map.l_tls_offset */
	uint32_t slot_bytes;
	bool has_tls_offset;
	uint64_t head;                     /* address of the pointer to the list */
};

/* A module with a PT_TLS segment. */
struct segment {
	uint32_t module;
	uint64_t size_bytes;
	uint64_t abi_offset;               /* below the thread pointer; 0: not told by the ABI */
	uint64_t static_offset;            /* the same by its link map; 0: not in static TLS */
	uint64_t slot, generation;         /* slot 0: the linker's list does not have it */
};

struct ri_tls {
	struct ri_tls_block *blocks;
	size_t block_count;
	uint32_t *segment_of_module;       /* per module: index, or UINT32_MAX */
	uint64_t *starts;                  /* [thread * segment_count + segment], 0: none */
	uint64_t *sizes;                   /* per segment */
	size_t segment_count;
};

struct search {
	const struct ri_modules *modules;
	const struct ri_image *image;
	RI_VEC(struct segment) segments;
	struct layout layout;
	bool has_layout;
};

/*
 * The descriptors
 */

static bool find_descriptor(const struct search *s, const struct ri_module *libc, const char *name,
			    size_t size_bytes, void *ret)
{
	char *symbol = ri_format("_thread_db_%s", name);
	uint64_t addr;
	bool is_found = ri_modules_find_symbol_addr(s->modules, libc, symbol, &addr) &&
			ri_image_read(s->image, addr, ret, size_bytes);

	free(symbol);
	return is_found;
}

static bool find_field(const struct search *s, const struct ri_module *libc, const char *name,
		       struct field *ret)
{
	return find_descriptor(s, libc, name, sizeof(*ret), ret);
}

/* One that is a 64-bit word. */
static bool find_word(const struct search *s, const struct ri_module *libc, const char *name,
		      struct field *ret)
{
	return find_field(s, libc, name, ret) && ret->size_bits == 64;
}

/* Where the list of slots begins: in ld.so's global structure, or, in a program that is
 * linked statically, in a variable of its own. */
static bool find_head(const struct search *s, const struct ri_module *libc, struct layout *layout)
{
	const struct ri_target *target = s->modules->target;
	const struct ri_module *linker =
		target->auxv_base ? ri_modules_find(s->modules, target->auxv_base) : NULL;

	if (linker &&
	    ri_modules_find_symbol_addr(s->modules, linker, "_rtld_global", &layout->head) &&
	    find_word(s, libc, "rtld_global__dl_tls_dtv_slotinfo_list", &layout->list_head)) {
		layout->head += layout->list_head.offset_bytes;
		return true;
	}
	return ri_modules_find_symbol_addr(s->modules, libc, "_dl_tls_dtv_slotinfo_list",
					   &layout->head);
}

static bool read_layout(const struct search *s, const struct ri_module *libc, struct layout *ret)
{
	if (!find_word(s, libc, "pthread_dtvp", &ret->dtvp) ||
	    !find_field(s, libc, "dtv_dtv", &ret->dtv) ||
	    !find_word(s, libc, "dtv_t_pointer_val", &ret->pointer) ||
	    !find_word(s, libc, "dtv_t_counter", &ret->counter) ||
	    !find_word(s, libc, "dtv_slotinfo_list_len", &ret->list_len) ||
	    !find_word(s, libc, "dtv_slotinfo_list_next", &ret->list_next) ||
	    !find_field(s, libc, "dtv_slotinfo_list_slotinfo", &ret->list_slots) ||
	    !find_word(s, libc, "dtv_slotinfo_gen", &ret->slot_gen) ||
	    !find_word(s, libc, "dtv_slotinfo_map", &ret->slot_map) ||
	    !find_descriptor(s, libc, "sizeof_dtv_slotinfo", sizeof(ret->slot_bytes),
			     &ret->slot_bytes))
		return false;
	ret->has_tls_offset = find_word(s, libc, "link_map_l_tls_offset", &ret->tls_offset);
	return ret->dtv.size_bits >= 64 && ret->dtv.size_bits % 64 == 0 && ret->slot_bytes >= 16 &&
	       find_head(s, libc, ret);
}

static bool may_be_libc(const struct ri_module *module)
{
	const char *slash = strrchr(module->path, '/');
	const char *name = slash ? slash + 1 : module->path;

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "libpthread", 10);
}

/* The module by whose descriptors threads are read: libc by its name, which spares the
 * reading of every module's symbols, else the executable. */
static void find_layout(struct search *s)
{
	for (size_t i = 0; i < s->modules->count && !s->has_layout; i++)
		if (may_be_libc(&s->modules->list[i]))
			s->has_layout = read_layout(s, &s->modules->list[i], &s->layout);
	if (!s->has_layout && ri_modules_main(s->modules))
		s->has_layout = read_layout(s, ri_modules_main(s->modules), &s->layout);
}

/*
 * Segments and slots
 */

static void list_segments(struct search *s)
{
	for (size_t i = 0; i < s->modules->count; i++) {
		const struct ri_module_state *state = &s->modules->states[i];

		for (size_t k = 0; k < state->phdr_count; k++) {
			const Elf64_Phdr *phdr = &state->phdrs[k];
			uint64_t align = phdr->p_align ? phdr->p_align : 1;
			struct segment *segment;

			if (phdr->p_type != PT_TLS || !phdr->p_memsz ||
			    phdr->p_memsz > SEGMENT_MAX_BYTES || align > SEGMENT_MAX_BYTES ||
			    align & (align - 1))
				continue;
			segment = ri_push(&s->segments);
			segment->module = (uint32_t)i;
			segment->size_bytes = phdr->p_memsz;
			if (s->modules->list[i].is_main && !(phdr->p_vaddr & (align - 1)))
				segment->abi_offset = (phdr->p_memsz + align - 1) & ~(align - 1);
			break;
		}
	}
}

static struct segment *find_segment(struct search *s, uint32_t module)
{
	for (size_t i = 0; i < s->segments.count; i++)
		if (s->segments.items[i].module == module)
			return &s->segments.items[i];
	return NULL;
}

/* The segment of the module that the link map at `map` is of. */
static struct segment *segment_of_map(struct search *s, uint64_t map)
{
	const struct ri_module *module;
	uint64_t bias, dynamic;

	if (!ri_image_read_u64(s->image, map, &bias) ||
	    !ri_image_read_u64(s->image, map + LINK_MAP_DYNAMIC, &dynamic))
		return NULL;
	module = ri_modules_find(s->modules, dynamic);
	if (!module || module->bias != bias)
		return NULL;
	return find_segment(s, (uint32_t)ri_modules_index(s->modules, module));
}

static void take_slot(struct search *s, uint64_t slot, uint64_t addr)
{
	const struct layout *layout = &s->layout;
	struct segment *segment;
	uint64_t map, generation, offset;

	if (!ri_image_read_u64(s->image, addr + layout->slot_map.offset_bytes, &map) || !map ||
	    !ri_image_read_u64(s->image, addr + layout->slot_gen.offset_bytes, &generation))
		return;
	segment = segment_of_map(s, map);
	if (!segment || segment->slot)
		return;
	segment->slot = slot;
	segment->generation = generation;
	/* 0: not laid out; all ones: never to be in static TLS */
	if (layout->has_tls_offset &&
	    ri_image_read_u64(s->image, map + layout->tls_offset.offset_bytes, &offset) &&
	    offset < SEGMENT_MAX_BYTES)
		segment->static_offset = offset;
}

/* Slot i is that of module number i, over all parts of the list. */
static void read_slots(struct search *s)
{
	const struct layout *layout = &s->layout;
	uint64_t list, first = 0;

	if (!ri_image_read_u64(s->image, layout->head, &list))
		return;
	for (unsigned n = 0; list && n < LISTS_MAX && first < SLOTS_MAX; n++) {
		uint64_t count, next;

		if (!ri_image_read_u64(s->image, list + layout->list_len.offset_bytes, &count) ||
		    !ri_image_read_u64(s->image, list + layout->list_next.offset_bytes, &next))
			return;
		for (uint64_t i = 0; i < count && first + i < SLOTS_MAX; i++)
			if (first + i)
				take_slot(s, first + i,
					  list + layout->list_slots.offset_bytes +
						  i * layout->slot_bytes);
		first += count < SLOTS_MAX ? count : SLOTS_MAX;
		list = next;
	}
}

/*
 * Threads
 */

/* What the vector of the thread at `tp` says of a module's block; 0: nothing. */
static uint64_t find_in_vector(const struct search *s, const struct segment *segment, uint64_t tp)
{
	const struct layout *layout = &s->layout;
	uint64_t stride = layout->dtv.size_bits / 8, dtv, length, generation, start;

	if (!s->has_layout || !segment->slot ||
	    !ri_image_read_u64(s->image, tp + layout->dtvp.offset_bytes, &dtv) ||
	    !ri_image_read_u64(s->image, dtv - stride + layout->counter.offset_bytes, &length) ||
	    !ri_image_read_u64(s->image, dtv + layout->counter.offset_bytes, &generation) ||
	    segment->slot > length || segment->generation > generation ||
	    !ri_image_read_u64(s->image,
			       dtv + segment->slot * stride + layout->pointer.offset_bytes, &start))
		return 0;
	return start == UINT64_MAX ? 0 : start;
}

static bool is_writable(const struct ri_image *image, uint64_t addr)
{
	const struct ri_range *range = ri_image_find(image, addr);

	return range && range->bytes && range->flags & RI_RANGE_WRITE &&
	       !(range->flags & RI_RANGE_SHARED);
}

/* Start of the thread's copy of a segment; 0: it has none that is known. */
static uint64_t find_start(const struct search *s, const struct segment *segment, uint64_t tp)
{
	uint64_t offset = segment->abi_offset ? segment->abi_offset : segment->static_offset;
	uint64_t start = find_in_vector(s, segment, tp);

	if (offset && offset < tp) {
		if (start && start != tp - offset && segment->abi_offset)
			return 0;
		start = tp - offset;
	}
	if (!start || start > UINT64_MAX - segment->size_bytes || !is_writable(s->image, start) ||
	    !is_writable(s->image, start + segment->size_bytes - 1))
		return 0;
	return start;
}

/* The thread pointer, or 0. */
static uint64_t thread_pointer(const struct search *s, const struct ri_thread *thread)
{
	uint64_t tp = thread->has_registers ? thread->registers[RI_REG_FS_BASE] : 0, self;

	return tp && ri_image_read_u64(s->image, tp, &self) && self == tp ? tp : 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct ri_tls_block *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

/* Sorts the blocks; of two that overlap the second is none. */
static void arrange_blocks(struct ri_tls *tls)
{
	size_t kept = 0;

	if (tls->block_count)
		qsort(tls->blocks, tls->block_count, sizeof(*tls->blocks), compare_blocks);
	for (size_t i = 0; i < tls->block_count; i++) {
		const struct ri_tls_block *block = &tls->blocks[i];
		size_t segment = tls->segment_of_module[block->module];

		if (!kept || tls->blocks[kept - 1].end <= block->start)
			tls->blocks[kept++] = *block;
		else
			tls->starts[block->thread * tls->segment_count + segment] = 0;
	}
	tls->block_count = kept;
}

static void find_blocks(const struct search *s, struct ri_tls *tls)
{
	const struct ri_target *target = s->modules->target;

	tls->starts = ri_calloc(target->thread_count * tls->segment_count, sizeof(*tls->starts));
	tls->blocks = ri_calloc(target->thread_count * tls->segment_count, sizeof(*tls->blocks));
	for (size_t t = 0; t < target->thread_count; t++) {
		uint64_t tp = thread_pointer(s, &target->threads[t]);

		for (size_t i = 0; tp && i < tls->segment_count; i++) {
			const struct segment *segment = &s->segments.items[i];
			uint64_t start = find_start(s, segment, tp);

			if (!start)
				continue;
			tls->starts[t * tls->segment_count + i] = start;
			tls->blocks[tls->block_count++] = (struct ri_tls_block){
				start, start + segment->size_bytes, segment->module, (uint32_t)t
			};
		}
	}
	arrange_blocks(tls);
}

/* Modules whose variables have types but no place. */
static void tell_gaps(const struct search *s, struct ri_gaps *gaps)
{
	for (size_t i = 0; i < s->segments.count; i++) {
		const struct segment *segment = &s->segments.items[i];
		const struct ri_module *module = &s->modules->list[segment->module];

		if (module->has_dwarf && !segment->abi_offset && !segment->slot)
			ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
				    "%s: where threads have its thread-local variables is not "
				    "known; what they hold counts as possible",
				    module->path);
	}
}

void ri_tls_init(struct ri_modules *modules, struct ri_gaps *gaps)
{
	struct search s = { .modules = modules, .image = modules->target->image };
	struct ri_tls *tls = ri_calloc(1, sizeof(*tls));

	modules->tls = tls;
	list_segments(&s);
	if (s.segments.count && modules->target->thread_count > BLOCKS_MAX / s.segments.count) {
		ri_gaps_add(gaps, RI_GAP_TOLD, "debug",
			    "too many threads and modules: thread-local variables were not "
			    "looked for");
		s.segments.count = 0;
	}
	if (s.segments.count > 1 || (s.segments.count && !s.segments.items[0].abi_offset))
		find_layout(&s);
	if (s.has_layout)
		read_slots(&s);
	tls->segment_count = s.segments.count;
	tls->segment_of_module = ri_malloc(modules->count * sizeof(*tls->segment_of_module));
	tls->sizes = ri_calloc(s.segments.count, sizeof(*tls->sizes));
	for (size_t i = 0; i < modules->count; i++)
		tls->segment_of_module[i] = UINT32_MAX;
	for (size_t i = 0; i < s.segments.count; i++) {
		tls->segment_of_module[s.segments.items[i].module] = (uint32_t)i;
		tls->sizes[i] = s.segments.items[i].size_bytes;
	}
	find_blocks(&s, tls);
	tell_gaps(&s, gaps);
	ri_vec_deinit(&s.segments);
}

void ri_tls_deinit(struct ri_modules *modules)
{
	struct ri_tls *tls = modules->tls;

	if (!tls)
		return;
	free(tls->blocks);
	free(tls->starts);
	free(tls->sizes);
	free(tls->segment_of_module);
	free(tls);
	modules->tls = NULL;
}

const struct ri_tls_block *ri_tls_blocks(const struct ri_modules *modules, size_t *ret_count)
{
	*ret_count = modules && modules->tls ? modules->tls->block_count : 0;
	return *ret_count ? modules->tls->blocks : NULL;
}

bool ri_tls_find(const struct ri_modules *modules, uint32_t module, uint32_t thread,
		 uint64_t offset, uint64_t *ret)
{
	const struct ri_tls *tls = modules->tls;
	uint32_t segment;
	uint64_t start;

	if (!tls || module >= modules->count || thread >= modules->target->thread_count)
		return false;
	segment = tls->segment_of_module[module];
	if (segment == UINT32_MAX || offset >= tls->sizes[segment])
		return false;
	start = tls->starts[thread * tls->segment_count + segment];
	*ret = start + offset;
	return start != 0;
}
