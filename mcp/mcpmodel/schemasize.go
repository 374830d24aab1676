package mcpmodel

import (
	"encoding/json/jsontext"
	"fmt"
)

// boundError is the error of a schema that exceeds a bound of this package.
type boundError struct {
	what  string
	limit int
}

func (e boundError) Error() string {
	return fmt.Sprintf("has more than %d %s with its references inlined", e.limit, e.what)
}

var (
	errTooMany  = boundError{"subschemas", maxSubschemas}
	errTooDeep  = boundError{"levels", maxSchemaDepth}
	errTooLarge = boundError{"bytes to read", maxExpanded}
)

// schemaSize counts what APIs limit.
type schemaSize struct {
	subschemas int
	depth      int // levels of objects and arrays
	properties int
	optional   int // properties that are not required
	unions     int // properties with several types or anyOf
	enumValues int
	stringLen  int // bytes of names of properties and of values of enums
	longEnum   int // bytes of the values of the largest enum with more than longEnumValues strings
}

// longEnumValues is the number of values above which the length of an enum is limited.
const longEnumValues = 250

// addEnum counts the values of one enum.
func (z *schemaSize) addEnum(values []jsontext.Value) {
	z.enumValues += len(values)
	length, strings := 0, 0
	for _, v := range values {
		length += len(v)
		if v.Kind() == '"' {
			strings++
		}
	}
	z.stringLen += length
	if strings > longEnumValues {
		z.longEnum = max(z.longEnum, length)
	}
}

// measure counts a schema. It stops when there are too many subschemas.
func measure(s *schema) schemaSize {
	var z schemaSize
	z.add(s, 0)
	return z
}

func (z *schemaSize) add(s *schema, depth int) {
	if z.subschemas++; z.subschemas > maxSubschemas {
		return
	}
	if s.props != nil || s.additional != nil || s.items != nil {
		depth++
	}
	z.depth = max(z.depth, depth)
	z.addEnum(s.enum)
	if len(s.types) > 1 || len(s.anyOf) > 1 {
		z.unions++
	}
	for _, p := range s.props {
		z.properties++
		z.stringLen += len(p.name)
		if !p.required {
			z.optional++
		}
		z.add(p.schema, depth)
	}
	if s.additional != nil {
		z.add(s.additional, depth)
	}
	if s.items != nil {
		z.add(s.items, depth)
	}
	for _, sub := range s.prefix {
		z.add(sub, depth)
	}
	for _, sub := range s.anyOf {
		z.add(sub, depth)
	}
}

// within returns an error for the first limit of the API that is exceeded.
func (z schemaSize) within(r *rules) error {
	for _, l := range []struct {
		name       string
		found, max int
	}{
		{"levels", z.depth, r.depth},
		{"properties", z.properties, r.properties},
		{"values of enums", z.enumValues, r.enumValues},
		{"characters in names and enums", z.stringLen, r.stringLen},
		{fmt.Sprintf("characters in an enum with more than %d values", longEnumValues), z.longEnum, r.longEnum},
	} {
		if l.max > 0 && l.found > l.max {
			return fmt.Errorf("has %d %s, want at most %d", l.found, l.name, l.max)
		}
	}
	return nil
}
