// SPDX-License-Identifier: GPL-3.0-or-later
// A program with std::shared_ptr that leaks: 40 handles that nobody destroys any more, 25
// pairs that hold each other.  Around them what is sound: 500 orders in a vector (one held
// by 300 tickets more), observers through weak_ptr, aliases, custom deleters, an expired
// weak_ptr.  Waits after READY.
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <unistd.h>
#include <vector>

struct Order : std::enable_shared_from_this<Order> {
	int number = 0;
	std::string text;
};

struct Ticket {
	std::shared_ptr<Order> order;
	std::weak_ptr<Order> watched;
};

struct Knot {
	std::shared_ptr<Knot> other;
	std::weak_ptr<Knot> seen;
	long weight = 1;
};

struct Buffer {
	char bytes[100];
};

std::vector<std::shared_ptr<Order>> orders;
std::vector<Ticket> tickets;
std::shared_ptr<std::string> alias;
std::shared_ptr<Buffer> custom;
std::weak_ptr<Buffer> expired;

static __attribute__((noinline)) void build_faults()
{
	for (int i = 0; i < 40; i++) { // a handle on memory that is used again without its destructor
		alignas(std::shared_ptr<Order>) unsigned char place[sizeof(std::shared_ptr<Order>)];

		new (place) std::shared_ptr<Order>(std::make_shared<Order>());
	}
	for (int i = 0; i < 25; i++) {
		std::shared_ptr<Knot> a(new Knot()), b(new Knot());

		a->other = b;
		b->other = a;
		b->seen = a;
	}
}

static __attribute__((noinline)) void build_sound()
{
	for (int i = 0; i < 500; i++) {
		auto order = std::make_shared<Order>();

		order->number = i;
		order->text = "an order with a text of its own, number " + std::to_string(i);
		orders.push_back(std::move(order));
	}
	for (int i = 0; i < 300; i++)
		tickets.push_back({ orders[7], orders[i] });
	alias = std::shared_ptr<std::string>(orders[9], &orders[9]->text);
	custom = std::shared_ptr<Buffer>(new Buffer(), [](Buffer *b) { delete b; });
	expired = std::shared_ptr<Buffer>(new Buffer());
}

static __attribute__((noinline)) void wipe_stack()
{
	volatile char area[65536];

	for (size_t i = 0; i < sizeof(area); i++)
		area[i] = 0;
}

int main()
{
	build_faults(); // first, so that what follows leaves no word of it on the stack
	build_sound();
	wipe_stack();
	puts("READY");
	fflush(stdout);
	for (;;)
		pause();
}
