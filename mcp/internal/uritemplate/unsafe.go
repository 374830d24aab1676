package uritemplate

import (
	"fmt"
	"slices"
	"strings"
)

// UnsafeError reports a value that would lead out of its place if it became part of a file
// path. Only the URI and the template have determined it.
type UnsafeError struct {
	// Variable is the name of the variable. It is empty if the values are safe each by
	// itself, and form a segment ".." together.
	Variable string
	// Found says what the value has, and Want what it may be.
	Found, Want string
}

func (e *UnsafeError) Error() string {
	if e.Variable == "" {
		return fmt.Sprintf("the variables give %s together; want %s", e.Found, e.Want)
	}
	return fmt.Sprintf("variable %q: the value %s; want %s", e.Variable, e.Found, e.Want)
}

// Check returns an *UnsafeError for the first value that is not safe in a path. uri is the URI
// from which Match has read the values. Values of the variables for which unchecked returns
// true may have any text.
//
//   - {x}, {.x}, {/x} and {;x} are one segment of a path: no "/" and "\", no "..", and no
//     drive letter.
//   - {+x} and {/x*} are a relative path: no segment "..", and neither "/", "\" nor a drive
//     letter at the beginning.
//   - {?x}, {&x} and {#x} are text: no segment "..".
//
// None of them has a NUL. Values are decoded once: what is encoded twice is checked, and
// used, in the form of one decoding. Only "/" and "\" separate segments; other characters
// that look like them are data.
func (t *Template) Check(uri string, values Values, unchecked func(name string) bool) error {
	allChecked := true
	for _, p := range t.parts {
		if p.expression == nil {
			continue
		}
		for _, v := range p.expression.variables {
			value, ok := values[v.name]
			if !ok {
				continue
			}
			if unchecked(v.name) {
				allChecked = false
				continue
			}
			if found, want := p.expression.unsafe(v, value.items); found != "" {
				return &UnsafeError{v.name, found, want}
			}
		}
	}
	if allChecked && !hasDotDot(decode(t.literals())) && hasDotDot(pathOf(uri)) {
		return &UnsafeError{"", `a segment ".."`, `a path without`}
	}
	return nil
}

// What values may be.
const (
	wantSegment = `one segment of a path: no "/", "\", NUL, "..", and no drive letter`
	wantPath    = `a relative path: no "/", "\" or drive letter at its beginning, no segment "..", and no NUL`
	wantText    = `a text without NUL and without a segment ".."`
)

// unsafe returns what is found in the items of a value of v that must not be there, and what
// would be right. found is empty for a safe value.
func (e *expression) unsafe(v *variable, items []string) (found, want string) {
	place := e.operator.place
	if v.explode && e.operator.separator == "/" {
		place, items = inPath, append(slices.Clip(items), strings.Join(items, "/"))
	}
	switch place {
	case inText:
		return firstFault(items, textFault), wantText
	case inPath:
		return firstFault(items, pathFault), wantPath
	}
	return firstFault(items, segmentFault), wantSegment
}

func firstFault(items []string, fault func(string) string) string {
	for _, item := range items {
		if found := fault(item); found != "" {
			return found
		}
	}
	return ""
}

func textFault(value string) string {
	switch {
	case strings.Contains(value, "\x00"):
		return "has a NUL"
	case hasDotDot(value):
		return `has a segment ".."`
	}
	return ""
}

func pathFault(value string) string {
	switch {
	case value != "" && isSeparator(value[0]):
		return "is an absolute path"
	case hasDrive(value):
		return "begins with a drive letter"
	}
	return textFault(value)
}

func segmentFault(value string) string {
	if hasDrive(value) {
		return "begins with a drive letter"
	}
	if i := strings.IndexAny(value, `/\`); i >= 0 {
		return fmt.Sprintf("has the separator %q", value[i:i+1])
	}
	return textFault(value)
}

// hasDrive reports whether a value is a drive letter, or begins with one and a separator. A
// value such as "a:b" is none.
func hasDrive(value string) bool {
	if len(value) < 2 || value[1] != ':' {
		return false
	}
	letter := value[0] | 0x20
	return 'a' <= letter && letter <= 'z' && (len(value) == 2 || isSeparator(value[2]))
}

// hasDotDot reports whether a value has a segment "..". Windows ignores spaces at the end of
// a segment.
func hasDotDot(value string) bool {
	if !strings.Contains(value, "..") {
		return false
	}
	for segment := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == '/' || r == '\\' }) {
		if strings.TrimRight(segment, " ") == ".." {
			return true
		}
	}
	return false
}

func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// literals returns the literals of the template, each as segments of its own.
func (t *Template) literals() string {
	var all []string
	for _, p := range t.parts {
		all = append(all, p.literal)
	}
	return strings.Join(all, "/")
}

// pathOf returns the decoded part of a URI before its query and fragment.
func pathOf(uri string) string {
	if i := strings.IndexAny(uri, "?#"); i >= 0 {
		uri = uri[:i]
	}
	return decode(uri)
}
