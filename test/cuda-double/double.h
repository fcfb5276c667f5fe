// What the double exports beside the driver's functions, for tests that loaded it (dlsym).
#pragma once

extern "C" {

// How many rules of the driver API this process has broken. Never falls but by rouse_double_forgive. Any thread.
unsigned rouse_double_violations(void);
// "rule: call: what exactly"; null beyond the last. Valid until rouse_double_forgive.
const char* rouse_double_violation(unsigned index);
// Forgets them, for tests that break rules on purpose.
void rouse_double_forgive(void);
// How often a function was called, by exported name, since the process began.
unsigned long long rouse_double_calls(const char* function);
}
