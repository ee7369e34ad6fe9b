/* What the machine code that numba makes of kernels asks of its runtime, for a library without numba and Python: memory
 * with a count of its holders, reshaping, numbers as numba takes them apart. See odl.jobs.compile. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    size_t holders;
    void (*end)(void *, size_t, void *);
    void *told, *data;
    size_t size;
    void *allocator;
} Memory;

void *NRT_Allocate(size_t size) { return malloc(size); }

void NRT_Free(void *held) { free(held); }

void *NRT_MemInfo_alloc_aligned(size_t size, unsigned aligned) {
    Memory *made = size < SIZE_MAX / 2 ? malloc(sizeof(Memory) + size + aligned) : NULL;
    if (made) {
        uintptr_t behind = (uintptr_t)(made + 1);
        *made = (Memory){.holders = 1, .data = (void *)((behind + aligned - 1) / aligned * aligned), .size = size};
    }
    return made;
}

void *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned aligned) { return NRT_MemInfo_alloc_aligned(size, aligned); }

void *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, 16); }

/* Of lists, as to sort makes one: `end` lets go of the entries, and the data are freed after it. */
void *NRT_MemInfo_new_varsize_dtor(size_t size, void (*end)(void *, size_t, void *)) {
    Memory *made = malloc(sizeof(Memory));
    void *data = made ? malloc(size) : NULL;
    if (!data) {
        free(made);
        return NULL;
    }
    *made = (Memory){.holders = 1, .end = end, .data = data, .size = size};
    return made;
}

void *NRT_MemInfo_varsize_realloc(Memory *held, size_t size) {
    void *data = realloc(held->data, size);
    if (data) {
        held->data = data;
        held->size = size;
    }
    return data;
}

void NRT_MemInfo_call_dtor(Memory *held) {
    if (held->end) {
        held->end(held->data, held->size, held->told);
        free(held->data);
    }
    free(held);
}

__attribute__((visibility("default"))) void odl_release(Memory *held) {
    if (__atomic_sub_fetch(&held->holders, 1, __ATOMIC_ACQ_REL) == 0) NRT_MemInfo_call_dtor(held);
}

/* Set the strides of the same entries under another shape, in C order, and return 1; 0 where that takes a copy. */
int numba_attempt_nocopy_reshape(intptr_t n, const intptr_t *sizes, const intptr_t *strides, intptr_t n_new,
                                 const intptr_t *new_sizes, intptr_t *new_strides, intptr_t bytes, int fortran) {
    intptr_t all = 1, all_new = 1, run = 1, stride = bytes, axis = n - 1;
    for (intptr_t i = 0; i < n; i++) all *= sizes[i];
    for (intptr_t i = 0; i < n_new; i++) all_new *= new_sizes[i];
    if (fortran || all != all_new) return 0;
    for (intptr_t i = n_new - 1; i >= 0; i--) {
        if (all && new_sizes[i] != 1) {
            while (run % new_sizes[i]) {  /* merges axes that lie behind each other */
                while (sizes[axis] == 1) axis--;
                if (run == 1) stride = strides[axis];
                else if (strides[axis] != stride * run) return 0;
                run *= sizes[axis--];
            }
        }
        new_strides[i] = stride;
        if (all && new_sizes[i] != 1) {
            stride *= new_sizes[i];
            run /= new_sizes[i];
        }
    }
    return 1;
}

double numba_frexp(double x, int *power) {
    *power = 0;
    return isfinite(x) ? frexp(x, power) : x;
}

double numba_ldexp(double x, int power) { return ldexp(x, power); }

/* To raise is what no kernel does; where there is no memory its status says so. */
#define NEVER(name) void name(void) { abort(); }
NEVER(numba_do_raise)
NEVER(numba_gil_ensure)
NEVER(numba_gil_release)
NEVER(numba_runtime_build_excinfo_struct)
NEVER(numba_unpickle)
NEVER(PyErr_Clear)
NEVER(PyErr_SetNone)
NEVER(PyErr_SetString)
NEVER(PyErr_WriteUnraisable)
NEVER(PyUnicode_FromString)
NEVER(Py_DecRef)
void *PyExc_StopIteration, *PyExc_SystemError;

/* Functions under the versions that they had in older C libraries of Linux, so that a library loads there too. */
#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLD(name) __asm__(".symver " #name "," #name "@GLIBC_2.17");
#else
#define OLD(name)
#endif

OLD(hypot)

double odl_hypot(double x, double y) { return hypot(x, y); }
