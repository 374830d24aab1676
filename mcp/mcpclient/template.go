package mcpclient

import (
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

// TemplateVariables returns the names of the variables of a resource template, in their order. A template that RFC 6570
// does not allow, or that has more than 8 KiB or 64 variables, is an error.
func TemplateVariables(uriTemplate string) ([]string, error) {
	t, err := uritemplate.Parse(uriTemplate)
	if err != nil {
		return nil, fmt.Errorf("resource template %.100q: %w", uriTemplate, err)
	}
	return t.Vars(), nil
}

// ExpandTemplate returns the URI of a resource template for values of its variables, such as to read it. A variable
// without a value is left out of the URI; commas separate the items of one with the modifier "*". Values that are no
// variables are not used.
//
// Spec: RFC 6570
func ExpandTemplate(uriTemplate string, values map[string]string) (uri string, err error) {
	t, err := uritemplate.Parse(uriTemplate)
	if err != nil {
		return "", fmt.Errorf("resource template %.100q: %w", uriTemplate, err)
	}
	texts := make(uritemplate.Values, len(values))
	for name, value := range values {
		texts[name] = uritemplate.String(value)
		if t.Explodes(name) {
			texts[name] = uritemplate.List(strings.Split(value, ",")...)
		}
	}
	if uri, err = t.Expand(texts); err != nil {
		return "", fmt.Errorf("resource template %.100q: %w", uriTemplate, err)
	}
	return uri, nil
}
