package uritemplate

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// parse reads a template. Errors begin with their byte position.
func parse(text string) ([]part, error) {
	if len(text) > maxTemplateSize {
		return nil, fmt.Errorf("%d bytes exceed the limit of %d", len(text), maxTemplateSize)
	}
	var parts []part
	for at := 0; at < len(text); {
		p, size, err := parsePart(text[at:], at)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		at += size
	}
	count := 0
	for range variables(parts) {
		count++
	}
	if count > maxVariables {
		return nil, fmt.Errorf("%d variables exceed the limit of %d", count, maxVariables)
	}
	return parts, nil
}

// parsePart reads the part at the beginning of rest, which is at the given byte of the
// template, and returns its size.
func parsePart(rest string, at int) (p part, size int, err error) {
	if rest[0] != '{' {
		size = strings.IndexByte(rest, '{')
		if size < 0 {
			size = len(rest)
		}
		p.literal, err = parseLiteral(rest[:size], at)
		return p, size, err
	}
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return p, 0, fmt.Errorf("byte %d: { has no }", at)
	}
	p.expression, err = parseExpression(rest[1:end], at+1)
	return p, end + 1, err
}

// parseLiteral checks a literal and returns its expansion.
//
// Spec: RFC 6570 2.1 and 3.1
func parseLiteral(text string, at int) (string, error) {
	var encoded strings.Builder
	for i := 0; i < len(text); {
		size := unitSize(text[i:])
		switch {
		case text[i] == '}':
			return "", fmt.Errorf("byte %d: } has no {", at+i)
		case size == 0 && text[i] == '%':
			return "", fmt.Errorf("byte %d: %% does not begin the encoding of a character", at+i)
		case size == 0:
			return "", fmt.Errorf("byte %d: %q is not allowed in a URI", at+i, firstRune(text[i:]))
		case text[i] == '%':
			encoded.WriteString(text[i : i+size])
		default:
			encoded.WriteString(encode(text[i:i+size], true))
		}
		i += size
	}
	return encoded.String(), nil
}

// parseExpression reads the text between braces.
//
// Spec: RFC 6570 2.2
func parseExpression(body string, at int) (*expression, error) {
	if body == "" {
		return nil, fmt.Errorf("byte %d: the expression is empty", at)
	}
	if strings.IndexByte(reservedOperators, body[0]) >= 0 {
		return nil, fmt.Errorf("byte %d: operator %q is reserved for extensions", at, body[0])
	}
	e := &expression{operator: operators[body[0]]}
	if e.operator == nil {
		e.operator = operators[0]
	} else {
		body, at = body[1:], at+1
	}
	for spec := range strings.SplitSeq(body, ",") {
		v, err := parseVariable(spec)
		if err != nil {
			return nil, fmt.Errorf("byte %d: variable %.80q: %w", at, spec, err)
		}
		e.variables = append(e.variables, v)
		at += len(spec) + 1
	}
	return e, nil
}

// parseVariable reads a name and its modifier.
//
// Spec: RFC 6570 2.3 and 2.4
func parseVariable(spec string) (*variable, error) {
	v := &variable{}
	name, prefix, hasPrefix := strings.Cut(spec, ":")
	if hasPrefix {
		var err error
		if v.prefix, err = parsePrefix(prefix); err != nil {
			return nil, err
		}
	}
	v.name, v.explode = strings.CutSuffix(name, "*")
	if v.explode && hasPrefix {
		return nil, errors.New("an exploded variable has no prefix")
	}
	return v, checkName(v.name)
}

func parsePrefix(digits string) (int, error) {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || n > maxPrefix || digits[0] == '0' {
		return 0, fmt.Errorf("prefix %.80q is not a number from 1 to %d", digits, maxPrefix)
	}
	return int(n), nil
}

// checkName checks a name: words of letters, digits, underscores and encoded
// characters, joined by dots.
func checkName(name string) error {
	for word := range strings.SplitSeq(name, ".") {
		if word == "" {
			return errors.New("a name and each of its dotted parts must not be empty")
		}
		for i := 0; i < len(word); {
			size := unitSize(word[i:])
			if word[i] != '%' && word[i] != '_' && !isAlphanumeric(word[i]) {
				return fmt.Errorf("%q is not allowed in a name", firstRune(word[i:]))
			}
			if size == 0 {
				return errors.New("% does not begin the encoding of a character")
			}
			i += size
		}
	}
	return nil
}

// variables yields the variables of all parts in order.
func variables(parts []part) iter.Seq[*variable] {
	return func(yield func(*variable) bool) {
		for _, p := range parts {
			if p.expression == nil {
				continue
			}
			for _, v := range p.expression.variables {
				if !yield(v) {
					return
				}
			}
		}
	}
}
