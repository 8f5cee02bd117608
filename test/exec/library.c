static int calls = 0;
int library_calls(void) { return ++calls; }
int library_variable = 11;
