package terminal

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
)

// Format is the version of the JSON output. New members do not change it.
const Format = 1

// Document is the JSON output without its version.
type Document map[string]any

// WriteDocument prints a document, indented.
func (t *IO) WriteDocument(d Document) error {
	d["format"] = Format
	return t.encode(d, jsontext.WithIndent("  "))
}

// WriteJSONLine prints one JSON value on one line.
func (t *IO) WriteJSONLine(v any) error { return t.encode(v) }

func (t *IO) encode(v any, opts ...json.Options) error {
	text, err := json.Marshal(v, append(opts, json.Deterministic(true))...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.Stdout, "%s\n", CleanJSON(text))
	return err
}

// WriteText prints a text of a server: unchanged into a pipe or a file, sanitized to a
// terminal.
func (t *IO) WriteText(s string) error {
	if t.Terminal {
		s = Clean(s)
	}
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err := fmt.Fprint(t.Stdout, s)
	return err
}

// WriteLine prints one line of data, sanitized.
func (t *IO) WriteLine(format string, args ...any) error {
	_, err := fmt.Fprintln(t.Stdout, CleanLine(fmt.Sprintf(format, args...)))
	return err
}
