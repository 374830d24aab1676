package cli

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// output is the choice between a form for people and one for programs.
type output struct{ json bool }

func (o *output) declare(f *flag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "write JSON, as the protocol has it")
}

// writeJSON writes one JSON value, indented.
func (m *Main) writeJSON(v any) error { return m.encode(v, jsontext.WithIndent("  ")) }

// writeJSONLine writes one JSON value on one line.
func (m *Main) writeJSONLine(v any) error { return m.encode(v) }

func (m *Main) encode(v any, opts ...json.Options) error {
	text, err := json.Marshal(v, append(opts, json.Deterministic(true))...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(m.Stdout, "%s\n", cleanJSON(text))
	return err
}

// writeText writes a text of a peer: as it is into a pipe or a file, cleaned to
// a terminal.
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

// writeTable writes rows, cleaned: aligned for a terminal, otherwise separated
// by tabs.
func (m *Main) writeTable(rows [][]string) error {
	w := tabwriter.NewWriter(m.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = cleanLine(cell)
		}
		line := strings.Join(row, "\t") + "\n"
		if !m.Terminal {
			if _, err := fmt.Fprint(m.Stdout, line); err != nil {
				return err
			}
			continue
		}
		fmt.Fprint(w, line)
	}
	return w.Flush()
}

// maxBrief bounds a description in a table.
const maxBrief = 80

// brief returns the first line of a description, cut.
func brief(description string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(description), "\n")
	if utf8.RuneCountInString(line) <= maxBrief {
		return line
	}
	return string([]rune(line)[:maxBrief-1]) + "…"
}
