#pragma once
#include <stdarg.h>
#include <stddef.h>
typedef struct _iobuf FILE;
FILE *fopen(const char *, const char *);
int fclose(FILE *);
size_t fread(void *, size_t, size_t, FILE *);
int vsnprintf(char *, size_t, const char *, va_list);
