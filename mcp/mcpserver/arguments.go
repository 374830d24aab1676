package mcpserver

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/schema"
)

// arguments are the schema and the validator of the Go type of a tool's arguments.
type arguments struct {
	schema    jsontext.Value
	validator *jsonschema.Validator
	missing   *missingArguments
}

// argumentTypes caches the arguments of each type without Options.Schemas.
var argumentTypes sync.Map

func argumentsOf(t reflect.Type, opts []schema.Option) (*arguments, error) {
	if len(opts) > 0 {
		return newArguments(t, opts)
	}
	once, _ := argumentTypes.LoadOrStore(t, sync.OnceValues(func() (*arguments, error) { return newArguments(t, nil) }))
	return once.(func() (*arguments, error))()
}

func newArguments(t reflect.Type, opts []schema.Option) (*arguments, error) {
	text, err := schema.ForType(t, schema.Input, opts...)
	if err != nil {
		return nil, err
	}
	if !isObjectSchema(text) {
		return nil, fmt.Errorf("input %v: want a struct, whose fields are the arguments", t)
	}
	missing, err := missingArgumentsOf(text)
	if err != nil {
		return nil, err
	}
	return &arguments{text, jsonschema.Lazy(text, nil), missing}, nil
}

// missingArguments has the defaults of missing arguments, and which arguments are optional.
// A null counts as a missing optional argument, because a nil pointer in a struct is encoded
// as null.
type missingArguments struct {
	optional map[string]bool
	defaults []argumentDefault // in the order of the schema
}

type argumentDefault struct {
	name  string
	value jsontext.Value
}

// missingArgumentsOf reads an inferred schema.
func missingArgumentsOf(text jsontext.Value) (*missingArguments, error) {
	var object struct {
		Properties jsontext.Value `json:"properties"`
		Required   []string       `json:"required"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	c := &missingArguments{optional: make(map[string]bool)}
	for key, schema := range rawjson.Members(object.Properties) {
		name := string(key)
		c.optional[name] = !slices.Contains(object.Required, name)
		if value := rawjson.Member(schema, "default"); value != nil {
			c.defaults = append(c.defaults, argumentDefault{name, value})
		}
	}
	return c, nil
}

// add returns the arguments without such nulls and with the defaults. It returns raw if
// nothing has to be changed.
func (c *missingArguments) add(raw jsontext.Value) jsontext.Value {
	if len(c.defaults) == 0 && !c.anyNull(raw) {
		return raw
	}
	out, there := []byte{'{'}, make(map[string]bool)
	add := func(name string, value jsontext.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, name)
		out = append(append(out, ':'), value...)
	}
	for key, value := range rawjson.Members(raw) {
		name := string(key)
		if c.isMissing(name, value) {
			continue
		}
		there[name] = true
		add(name, value)
	}
	for _, d := range c.defaults {
		if !there[d.name] {
			add(d.name, d.value)
		}
	}
	return append(out, '}')
}

// anyNull reports whether an optional argument is null.
func (c *missingArguments) anyNull(raw jsontext.Value) bool {
	for key, value := range rawjson.Members(raw) {
		if c.isMissing(string(key), value) {
			return true
		}
	}
	return false
}

func (c *missingArguments) isMissing(name string, value jsontext.Value) bool {
	return value.Kind() == 'n' && c.optional[name]
}

// badArguments is the error of arguments that are not valid. It has only data of the caller,
// so it is not masked (Options.MaskErrors).
type badArguments struct {
	tool string
	err  error
}

func (e *badArguments) Error() string {
	return fmt.Sprintf("invalid arguments for tool %q: %v", e.tool, e.err)
}

func (e *badArguments) Unwrap() error { return e.err }

// validate validates arguments, or an answer, against their schema. The subject names them in the error.
func validate(v *jsonschema.Validator, subject string, raw jsontext.Value) error {
	if v.Admits(raw) {
		return nil
	}
	err := v.Validate(raw)
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		invalid.Subject = subject
	}
	return err
}

// decodeValid decodes arguments, or an answer, that are valid under their schema. JSON Schema treats
// 1.0 and 1e2 as integers and Go does not, so they are converted if decoding fails.
func decodeValid(subject string, raw jsontext.Value, out any) error {
	err := json.Unmarshal(raw, out)
	if err == nil {
		return nil
	}
	plain, ok := plainIntegers(raw)
	if ok {
		err = json.Unmarshal(plain, out)
	}
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("%s%s: %s", subject, e.JSONPointer, describeMismatch(e))
	}
	return err
}

// describeMismatch returns why a value does not fit its Go type, without names of Go.
func describeMismatch(e *json.SemanticError) string {
	reason := "does not fit"
	if e.Err != nil {
		reason = e.Err.Error()
	}
	if len(e.JSONValue) == 0 {
		return reason
	}
	return fmt.Sprintf("%s, got %s", reason, cleanText(string(e.JSONValue), 64))
}

// plainIntegers rewrites integers that have a point or an exponent with digits alone, if
// they are exact in every JSON implementation. It reports false if there are none.
func plainIntegers(raw jsontext.Value) (jsontext.Value, bool) {
	var plain bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&plain)
	changed := false
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return plain.Bytes(), changed
		}
		if n, ok := plainInteger(token); ok {
			token, changed = jsontext.Int(n), true
		}
		if err != nil || enc.WriteToken(token) != nil {
			return nil, false
		}
	}
}

const maxExactInteger = 1<<53 - 1

func plainInteger(token jsontext.Token) (int64, bool) {
	if token.Kind() != '0' || !strings.ContainsAny(token.String(), ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(token.String(), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxExactInteger {
		return 0, false
	}
	return int64(f), true
}

func isObjectSchema(raw jsontext.Value) bool {
	var root struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &root) == nil && root.Type == "object"
}
