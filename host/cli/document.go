package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"
)

// format is the version of the JSON output. New members do not change it.
const format = 1

// document is the JSON output without its version.
type document map[string]any

// writeDocument prints a document, indented.
func (m *Main) writeDocument(d document) error {
	d["format"] = format
	return m.encode(d, jsontext.WithIndent("  "))
}

// writeJSONLine prints one JSON value on one line.
func (m *Main) writeJSONLine(v any) error { return m.encode(v) }

func (m *Main) encode(v any, opts ...json.Options) error {
	text, err := json.Marshal(v, append(opts, json.Deterministic(true))...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(m.Stdout, "%s\n", cleanJSON(text))
	return err
}

// writeText prints a text of a server: unchanged into a pipe or a file, sanitized to a
// terminal.
func (m *Main) writeText(s string) error {
	if m.Terminal {
		s = clean(s)
	}
	if !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	_, err := fmt.Fprint(m.Stdout, s)
	return err
}

// writeLine prints one line of data, sanitized.
func (m *Main) writeLine(format string, args ...any) error {
	_, err := fmt.Fprintln(m.Stdout, cleanLine(fmt.Sprintf(format, args...)))
	return err
}
