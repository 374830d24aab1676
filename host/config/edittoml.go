package config

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// setTable sets the TOML table of a dotted key. It replaces an existing one, or is added
// at the end.
func (e *edit) setTable(list, name, body string) error {
	found, err := e.tables(list, name)
	if err != nil {
		return err
	}
	newline := "\n"
	if bytes.Contains(e.content, []byte("\r\n")) {
		newline = "\r\n"
	}
	text := strings.ReplaceAll(fmt.Sprintf("[%s.%s]\n%s", list, name, body), "\n", newline)
	if found != (span{}) {
		e.splice(found.start, found.end, text)
		return nil
	}
	lead := newline
	switch {
	case len(bytes.TrimSpace(e.content)) == 0:
		lead = ""
	case !bytes.HasSuffix(e.content, []byte("\n")):
		lead = newline + newline
	}
	e.splice(len(e.content), len(e.content), lead+text+newline)
	return nil
}

// tables returns the position of the table [list.name] with the tables below it. It is an
// error if the name is defined in any other way, which the user has to change.
func (e *edit) tables(list, name string) (found span, err error) {
	byHand := fmt.Errorf("%s.%s is not a table of its own; change it by hand", list, name)
	var p unstable.Parser
	p.Reset(e.content[e.bomLength():])
	var table []string
	inside, ended := false, false
	for p.NextExpression() {
		x := p.Expression()
		var keys []string
		start := 0
		for it := x.Key(); it.Next(); {
			if len(keys) == 0 {
				start = e.bomLength() + int(it.Node().Raw.Offset)
			}
			keys = append(keys, string(it.Node().Data))
		}
		if x.Kind == unstable.KeyValue {
			whole := append(table[:len(table):len(table)], keys...)
			if ours := len(whole) > 1 && whole[0] == list && whole[1] == name || len(whole) == 1 && whole[0] == list; ours && !inside {
				return span{}, byHand
			}
			if inside {
				found.end = e.bomLength() + int(x.Raw.Offset+x.Raw.Length)
			}
			continue
		}
		table = keys
		was := inside
		inside = len(keys) > 1 && keys[0] == list && keys[1] == name
		switch {
		case inside && (ended || x.Kind != unstable.Table):
			return span{}, byHand
		case inside && found == (span{}):
			found.start = e.lineStart(start)
		case was && !inside:
			ended = true
		}
		if inside {
			found.end = e.lineEndTOML(start)
		}
	}
	return found, p.Error()
}

func (e *edit) lineStart(at int) int { return bytes.LastIndexByte(e.content[:at], '\n') + 1 }

func (e *edit) lineEndTOML(at int) int {
	if n := bytes.IndexByte(e.content[at:], '\n'); n >= 0 {
		return at + len(bytes.TrimRight(e.content[at:at+n], "\r"))
	}
	return len(e.content)
}

// tableBody writes the members of an object as lines of TOML. They are strings, arrays of
// strings, and booleans.
func tableBody(v jsontext.Value) (string, error) {
	var lines []string
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return "", err
	}
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil {
			return "", err
		}
		key := name.String()
		var member any
		if err := json.UnmarshalDecode(dec, &member); err != nil {
			return "", err
		}
		lines = append(lines, key+" = "+tomlValue(member))
	}
	return strings.Join(lines, "\n"), nil
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return tomlString(v)
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, tomlValue(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var items []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, tomlString(key)+" = "+tomlValue(v[key]))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	}
	return fmt.Sprint(v)
}
