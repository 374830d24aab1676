package jsonschema

// The schema library supports one type for exact numbers: Number of the first version of
// encoding/json. This file uses only that type of the package, never to read or write input of a
// peer, and no other file imports it.
import "encoding/json"

import (
	"errors"
	"strconv"
	"strings"
)

// maxDigits bounds a number written out in full. The range of a float64 needs
// fewer than 350. A short literal with a large exponent would otherwise cost the
// library milliseconds and megabytes each time that it is compared.
const maxDigits = 400

var errNumber = errors.New("number too long")

// number returns the literal of a JSON number in the type that the library requires.
func number(literal string) any { return json.Number(literal) }

// numberText returns the literal of a number made by number.
func numberText(v any) (string, bool) {
	n, ok := v.(json.Number)
	return string(n), ok
}

// CheckNumber returns an error for a literal of more than 400 digits when written
// out.
func CheckNumber(literal string) error {
	mantissa, exp := literal, 0
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		n, err := strconv.Atoi(literal[i+1:])
		if err != nil || n > maxDigits || n < -maxDigits {
			return errNumber
		}
		mantissa, exp = literal[:i], max(n, -n)
	}
	if len(mantissa)+exp > maxDigits {
		return errNumber
	}
	return nil
}
