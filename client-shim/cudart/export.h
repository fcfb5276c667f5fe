// What marks a function as one that programs may call: everything else in the library is hidden.
#pragma once

#define ROUSE_EXPORT __attribute__((visibility("default")))
