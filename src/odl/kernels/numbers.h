// Exponents of floating-point numbers.
#pragma once

#include <cmath>

namespace odl {

// Return e with |value| / 2^e in [1/2, 1); 0 if the value is 0 or not finite.
inline int exponent_of(double value) {
    int exponent = 0;
    if (std::isfinite(value)) std::frexp(value, &exponent);
    return exponent;
}

}  // namespace odl
