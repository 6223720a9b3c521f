/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A GObject program that leaks: 77 documents that nothing points at, 30 pairs that hold
 * each other as peers, and one (number 5) with 13 references too many.  Around them what
 * is sound: 1000 documents in a pointer array, a quarter of them in a hash table too, a
 * model, views with references in their private data, floating, toggled and weakly seen
 * objects.  With the argument `sound` that is all.  Waits after READY.
 */
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTE_TYPE (note_get_type())
G_DECLARE_FINAL_TYPE(Note, note, NOTE, NOTE, GObject)
struct _Note {
	GObject parent_instance;
	int number;
	char *title;
	GObject *peer; /* owns */
};
G_DEFINE_TYPE(Note, note, G_TYPE_OBJECT)

static void note_finalize(GObject *object)
{
	Note *note = NOTE_NOTE(object);

	g_free(note->title);
	g_clear_object(&note->peer);
	G_OBJECT_CLASS(note_parent_class)->finalize(object);
}

static void note_class_init(NoteClass *class)
{
	G_OBJECT_CLASS(class)->finalize = note_finalize;
}

static void note_init(Note *note)
{
	note->number = -1;
}

typedef struct {
	Note *note; /* owns */
} PanePrivate;
#define PANE_TYPE (pane_get_type())
G_DECLARE_FINAL_TYPE(Pane, pane, PANE, PANE, GObject)
struct _Pane {
	GObject parent_instance;
};
G_DEFINE_TYPE_WITH_PRIVATE(Pane, pane, G_TYPE_OBJECT)
static void pane_class_init(PaneClass *class)
{
	(void)class;
}
static void pane_init(Pane *pane)
{
	(void)pane;
}

GPtrArray *all_notes;
GHashTable *by_number;
GList *panes;
GListStore *model;
Note *current; /* notes[0], with no reference */
GObject *floating, *toggled;
static GWeakRef seen;
gpointer watched;

static Note *make_note(int number)
{
	Note *note = g_object_new(NOTE_TYPE, NULL);

	note->number = number;
	note->title = g_strdup_printf("note number %d", number);
	return note;
}

static void on_toggle(gpointer data, GObject *object, gboolean is_last)
{
	(void)data;
	(void)object;
	(void)is_last;
}

static __attribute__((noinline)) void build_sound(void)
{
	all_notes = g_ptr_array_new_with_free_func(g_object_unref);
	by_number = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_object_unref);
	model = g_list_store_new(NOTE_TYPE);
	for (int i = 0; i < 1000; i++) {
		Note *note = make_note(i);

		g_ptr_array_add(all_notes, note);
		if (i % 4 == 0)
			g_hash_table_insert(by_number, GINT_TO_POINTER(i), g_object_ref(note));
		if (i >= 20 && i < 26)
			g_list_store_append(model, note);
	}
	current = all_notes->pdata[0];
	for (int i = 0; i < 200; i++) {
		Pane *pane = g_object_new(PANE_TYPE, NULL);

		((PanePrivate *)pane_get_instance_private(pane))->note = g_object_ref(current);
		panes = g_list_prepend(panes, pane);
	}
	floating = g_object_new(G_TYPE_INITIALLY_UNOWNED, NULL);
	toggled = g_object_new(G_TYPE_OBJECT, NULL);
	g_object_add_toggle_ref(toggled, on_toggle, NULL);
	watched = all_notes->pdata[4];
	g_object_add_weak_pointer(watched, &watched);
	g_weak_ref_init(&seen, all_notes->pdata[4]);
}

static __attribute__((noinline)) void build_faults(void)
{
	for (int i = 0; i < 77; i++)
		make_note(10000 + i);
	for (int i = 0; i < 30; i++) {
		Note *a = make_note(20000 + i), *b = make_note(30000 + i);

		a->peer = g_object_ref(G_OBJECT(b));
		b->peer = g_object_ref(G_OBJECT(a));
		g_object_unref(a);
		g_object_unref(b);
	}
	for (int i = 0; i < 13; i++)
		g_object_ref(all_notes->pdata[5]);
}

static __attribute__((noinline)) void wipe_stack(void)
{
	volatile char area[65536];

	for (size_t i = 0; i < sizeof(area); i++)
		area[i] = 0;
}

int main(int argc, char **argv)
{
	build_sound();
	if (argc < 2 || strcmp(argv[1], "sound") != 0)
		build_faults();
	wipe_stack();
	printf("OVERCOUNTED %p\n", all_notes->pdata[5]);
	puts("READY");
	fflush(stdout);
	for (;;)
		pause();
}
