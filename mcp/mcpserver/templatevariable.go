package mcpserver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

// UncheckedVariables is the option that turns the check of values off, for the variables of
// a resource template with these names, or for all of them if there is no name. Registration
// fails if the template has no such variable.
//
// The check prevents that a URI leads out of a directory, or out of what else the author has
// meant, when the handler makes a path of the values:
//
//   - {x}, {.x}, {/x} and {;x} are one segment of a path: no "/" and "\", no "..", and no
//     drive letter, alone or before a separator.
//   - {+x} and {/x*} are a relative path: no segment "..", and no "/", "\" or drive letter at
//     the beginning.
//   - {?x}, {&x} and {#x} are text: no segment "..".
//
// None of them has a NUL. Percent-encoding changes nothing, because values are decoded, once,
// before they are checked. Reading a URI with other values is an error that names the variable,
// unless another template serves it. With the option the handler must check the values itself,
// for example with [os.Root].
func UncheckedVariables(names ...string) ResourceOption {
	return &uncheckedVariables{names}
}

type uncheckedVariables struct{ names []string }

func (u *uncheckedVariables) resource(r *resource) { r.unchecked = u }

// of reports whether the template has the variables.
func (u *uncheckedVariables) of(vars []string) bool {
	return u == nil || !slices.ContainsFunc(u.names, func(name string) bool { return !slices.Contains(vars, name) })
}

// contains reports whether the values of a variable are not checked.
func (u *uncheckedVariables) contains(name string) bool {
	return u != nil && (len(u.names) == 0 || slices.Contains(u.names, name))
}

// serves reports whether a URI matches a template. The error is not nil if it does, but has a
// value that the template refuses.
func (r *resource) serves(uri string) (bool, error) {
	if r.template == nil { // see Proxied
		return false, nil
	}
	values, ok := r.template.Match(uri)
	if !ok {
		return false, nil
	}
	err := r.template.Check(uri, values, r.unchecked.contains)
	if unsafe, ok := errors.AsType[*uritemplate.UnsafeError](err); ok && unsafe.Variable != "" {
		return true, fmt.Errorf("%w (a server accepts other values with the option UncheckedVariables(%q))", err, unsafe.Variable)
	}
	if err != nil {
		return true, fmt.Errorf("%w (a server accepts it with the option UncheckedVariables)", err)
	}
	return true, nil
}
