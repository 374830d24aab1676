package uritemplate

import (
	"fmt"
	"strings"
)

// Expand writes the URI for the given values. A list in a variable with a
// prefix is an error, because RFC 6570 does not define it.
func (t *Template) Expand(values Values) (string, error) {
	var uri strings.Builder
	for _, p := range t.parts {
		if p.expression == nil {
			uri.WriteString(p.literal)
			continue
		}
		if err := p.expression.expand(&uri, values); err != nil {
			return "", fmt.Errorf("expand template %.80q: %w", t.text, err)
		}
	}
	return uri.String(), nil
}

// Spec: RFC 6570 3.2.1
func (e *expression) expand(uri *strings.Builder, values Values) error {
	delimiter := e.operator.first
	for _, v := range e.variables {
		value := values[v.name]
		if value.kind == kindUndefined {
			continue
		}
		if v.prefix > 0 && value.kind != kindString {
			return fmt.Errorf("variable %s: only a string has a prefix", v.name)
		}
		uri.WriteString(delimiter)
		delimiter = e.operator.separator
		if v.explode {
			e.operator.explode(uri, v.name, value)
		} else {
			e.operator.write(uri, v, value)
		}
	}
	return nil
}

// write writes a value without exploding it.
func (o *operator) write(uri *strings.Builder, v *variable, value Value) {
	encoded := make([]string, len(value.items))
	for i, item := range value.items {
		encoded[i] = encode(prefix(item, v.prefix), o.reserved)
	}
	o.writeNamed(uri, v.name, strings.Join(encoded, ","))
}

// explode writes each item of a value separately.
func (o *operator) explode(uri *strings.Builder, name string, value Value) {
	items := value.items
	for delimiter := ""; len(items) > 0; delimiter = o.separator {
		uri.WriteString(delimiter)
		if value.kind != kindPairs {
			o.writeNamed(uri, name, encode(items[0], o.reserved))
			items = items[1:]
			continue
		}
		key, item := encode(items[0], o.reserved), encode(items[1], o.reserved)
		if o.named {
			o.writeNamed(uri, key, item)
		} else {
			uri.WriteString(key + "=" + item)
		}
		items = items[2:]
	}
}

// writeNamed writes an encoded value, after its name if the operator has names.
func (o *operator) writeNamed(uri *strings.Builder, name, encoded string) {
	if !o.named {
		uri.WriteString(encoded)
		return
	}
	uri.WriteString(name)
	if encoded == "" {
		uri.WriteString(o.ifEmpty)
		return
	}
	uri.WriteString("=" + encoded)
}

// prefix returns the first n characters of s, or all for n = 0.
func prefix(s string, n int) string {
	if n == 0 {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
