package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// checkTag returns an error for a tag that this package does not read, but that was most
// likely meant to be part of the schema: one of another library for JSON Schemas, or a
// misspelt one of this package. Tags of other packages, such as db, are allowed.
func checkTag(f field) error {
	pairs, malformed := tagPairs(f.tag)
	for _, p := range pairs {
		if err := p.check(f); err != nil {
			return fmt.Errorf("tag %s: %w", p.key, err)
		}
	}
	key, _, _ := strings.Cut(malformed, ":")
	if own := ownKey(strings.TrimSpace(key)); own != "" {
		return fmt.Errorf("tag `%s`: malformed; want %s:\"…\", and a space between two tags", malformed, own)
	}
	return nil
}

// tagPair is one key:"value" of a struct tag.
type tagPair struct{ key, value string }

// tagPairs splits a struct tag as package reflect does. malformed is the rest that reflect
// does not read.
func tagPairs(tag reflect.StructTag) (pairs []tagPair, malformed string) {
	rest := strings.TrimLeft(string(tag), " ")
	for rest != "" {
		key, after, ok := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil || quoted[0] != '"' || strings.ContainsAny(key, " \"") {
			return pairs, rest
		}
		value, _ := strconv.Unquote(quoted)
		pairs = append(pairs, tagPair{key, value})
		rest = strings.TrimLeft(after[len(quoted):], " ")
	}
	return pairs, ""
}

// check returns an error that says what to write in place of the tag.
func (p tagPair) check(f field) error {
	switch {
	case isKeyword(p.key):
		return nil
	case p.key == "required" && p.value == "false":
		return fmt.Errorf("want json:\"%s,omitzero\", or a pointer: every other field is required", f.name)
	case p.key == "required":
		return errors.New("leave it out: a field is required unless its json tag has omitzero or omitempty, it is a pointer, or it has a default")
	case p.key == "jsonschema", p.key == "jsonschema_extras":
		return wantTags(translate(p.value))
	case meant(p.key):
		return wantTags([]tagPair{{ownKey(p.key), p.value}})
	}
	return nil
}

func wantTags(pairs []tagPair) error {
	if len(pairs) == 0 {
		return errors.New("leave it out; the tags of this package are listed in its documentation")
	}
	var tags []string
	for _, p := range pairs {
		tags = append(tags, fmt.Sprintf("%s:%q", p.key, p.value))
	}
	return fmt.Errorf("want %s", strings.Join(tags, " "))
}

// translate returns the tags that mean what the value of a jsonschema tag means: a
// description, or pairs key=value that are separated by commas.
func translate(value string) (pairs []tagPair) {
	const escaped = "\x00"
	parts := strings.Split(strings.ReplaceAll(value, `\,`, escaped), ",")
	if !slices.ContainsFunc(parts, isSetting) {
		return []tagPair{{"doc", value}}
	}
	for _, part := range parts {
		key, value, _ := strings.Cut(strings.ReplaceAll(part, escaped, ","), "=")
		if key = strings.TrimSpace(key); !isKeyword(key) && !meant(key) {
			continue
		}
		key = ownKey(key)
		if i := slices.IndexFunc(pairs, func(p tagPair) bool { return p.key == key }); i >= 0 && key == "enum" {
			pairs[i].value += "|" + value
			continue
		}
		pairs = append(pairs, tagPair{key, value})
	}
	return pairs
}

// isSetting reports whether a part of a jsonschema tag is one of its keys with a value.
func isSetting(part string) bool {
	key, _, hasValue := strings.Cut(strings.TrimSpace(part), "=")
	return key == "required" || hasValue && (isKeyword(key) || meant(key) || key == "type")
}

// foreignKeys are the keys for which another one is to be written, without case and
// separators: keywords of JSON Schema and tags of other libraries.
var foreignKeys = map[string]string{
	"description": "doc", "jsonschemadescription": "doc", "jsonschematitle": "title",
	"minimum": "min", "maximum": "max", "exclusiveminimum": "xmin", "exclusivemaximum": "xmax", "multipleof": "multiple",
	"minlength": "minlen", "maxlength": "maxlen", "minitems": "minitems", "maxitems": "maxitems", "uniqueitems": "unique",
	"enums": "enum", "examples": "example", "xmcpheader": "header",
}

// meant reports whether a key is not one of ours, but was meant to be.
func meant(key string) bool { return !isKeyword(key) && ownKey(key) != "" }

// ownKey returns the key of ours that a key stands for, or "".
func ownKey(key string) string {
	plain := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
	if own, ok := foreignKeys[plain]; ok {
		return own
	}
	for _, k := range keywordTable {
		if plain == k.key || len(k.key) >= minMisspelt && oneEdit(plain, k.key) {
			return k.key
		}
	}
	return ""
}

// minMisspelt is the length from which a key is compared with misspelt ones. Short keys are
// too similar to those of other packages.
const minMisspelt = 5

// oneEdit reports whether one inserted, missing or other letter, or two exchanged ones, make
// a into b.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) || a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
