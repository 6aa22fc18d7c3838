/* A licence. */

#include <stdio.h>

/* How many. */
#define LIMIT 1
#define MAX(a, b) \
	((a) > (b) ? (a) : (b))
struct point { int x, *y; struct inner { int q; } in; void (*callback)(int); unsigned bits : 3; };
typedef struct { int x; } anonymous_t;
typedef struct tag { int y; } tagged_t;
typedef int (*function_t)(int);
typedef int array_t[3];
enum color { RED, GREEN = 3 };
union raw { int a; };
int prototype(int);
static int first = 1, *second;
int table[3] = {1};
static inline int plain(int a) { struct local { int z; }; int l = 1; return a; }
int *pointer(void) { return 0; }
int (*returns_function(void))(int) { return 0; }
int kr(a, b) int a; char *b; { return a; }

/* Grows the heap. */
SYSCALL_DEFINE3(brk, unsigned long, brk, int, y, int, z)
{
	for_each_cpu(cpu) { y++; }
	return 0;
}
EXPORT_SYMBOL(plain);
static int __init
started(void)
{ return 0; }
module_init(started)
static __always_inline __attribute__((noinline)) void attributes(void) {}
#ifdef X
int conditional(int a,
#else
int conditional(int a, int b,
#endif
	int c) { return 1; }
asmlinkage __visible void __sched notrace schedule(void) { char *s = "größe"; }
static const char *names[] = {
#define NAME(x) #x,
	NAME(a)
};
