/* SPDX-License-Identifier: BSD-2-Clause */
/* Leaves memory of new allocated, in an inlined function, and in one of its own operator new. */
#include <cstdio>
#include <cstdlib>
#include <new>

struct node {
	long value[99];
	static void *operator new(std::size_t bytes);
	static void operator delete(void *p);
};

__attribute__((noinline)) void *node::operator new(std::size_t bytes)
{
	void *p = std::malloc(bytes);
	__asm__ volatile(""); /* no tail call: it is a frame */
	return p;
}

void node::operator delete(void *p)
{
	std::free(p);
}

static int *volatile sink;

static inline __attribute__((always_inline)) int *make_ints(int n)
{
	return new int[n];
}

namespace blocks
{
__attribute__((noinline)) void leave(int n)
{
	for (int i = 0; i < n; i++)
		sink = make_ints(198 + i % 2);
}

__attribute__((noinline)) node *own()
{
	return new node();
}
} // namespace blocks

int main()
{
	blocks::leave(10);
	delete blocks::own();
	blocks::own()->value[0] = 1;
	std::puts("done");
}
