package proof

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A message is one of a client, as the members of its object in order, so that operators
// can make it invalid in ways that no encoder produces.
type message []member

type member struct {
	name  string // as in the text, with quotation marks
	value string
}

// parseMessage parses an object. Anything else is a bug of this test.
func parseMessage(text []byte) (m message) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	_, _ = d.ReadToken()
	for d.PeekKind() == '"' {
		name, _ := d.ReadValue()
		m = append(m, member{name: string(name)})
		value, err := d.ReadValue()
		if err != nil {
			panic(fmt.Sprintf("%s: %v", text, err))
		}
		m[len(m)-1].value = string(value)
	}
	return m
}

func (m message) String() string {
	parts := make([]string, len(m))
	for i, x := range m {
		parts[i] = x.name + ":" + x.value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (m message) index(name string) int {
	return slices.IndexFunc(m, func(x member) bool { return x.name == `"`+name+`"` })
}

func (m message) get(name string) string {
	if i := m.index(name); i >= 0 {
		return m[i].value
	}
	return ""
}

// with returns the message with a member set, in place or at the end.
func (m message) with(name, value string) message {
	m = slices.Clone(m)
	if i := m.index(name); i >= 0 {
		m[i].value = value
		return m
	}
	return append(m, member{`"` + name + `"`, value})
}

func (m message) without(name string) message {
	return slices.DeleteFunc(slices.Clone(m), func(x member) bool { return x.name == `"`+name+`"` })
}

// named returns the message with a member renamed.
func (m message) named(old, name string) message {
	m = slices.Clone(m)
	if i := m.index(old); i >= 0 {
		m[i].name = name
	}
	return m
}

// params returns the members of the params.
func (m message) params() message {
	if p := m.get("params"); strings.HasPrefix(p, "{") {
		return parseMessage([]byte(p))
	}
	return nil
}

// A seed is one valid message of a client in one revision.
type seed struct {
	revision mcp.Revision
	title    string // the method, or the kind of response
	message
}

// random is seeded by operator and seed, so that runs are equal.
func (s seed) random(operator string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, operator, s.revision, s.title)
	return rand.New(rand.NewPCG(h.Sum64(), 7))
}

// seeds returns one message of each method in each revision from the transcripts, in a
// fixed order. Messages whose responses come late are left out.
func seeds(tb testing.TB) []seed {
	tb.Helper()
	found := make(map[string]seed)
	for _, v := range mcp.Revisions() {
		files, err := filepath.Glob("../mcp/internal/integration/testdata/*/" + v.String() + ".txtar")
		if err != nil || len(files) == 0 {
			tb.Fatalf("no transcripts of %s: %v", v, err)
		}
		for _, file := range files {
			transcript, err := mcptest.ReadTranscript(file)
			if err != nil {
				tb.Fatal(err)
			}
			for _, line := range transcript.Lines {
				if s := newSeed(v, line); s.title != "" && found[s.key()].title == "" {
					found[s.key()] = s
				}
			}
		}
	}
	var list []seed
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b seed) int { return cmp.Compare(a.key(), b.key()) })
	return list
}

func (s seed) key() string { return s.revision.String() + " " + s.title }

// newSeed returns the seed of a line of a transcript, without a title if it has none.
func newSeed(v mcp.Revision, line mcptest.Line) seed {
	if line.From != mcptest.Client {
		return seed{}
	}
	m := parseMessage(line.Message)
	s := seed{revision: v, title: strings.Trim(m.get("method"), `"`), message: m}
	switch {
	case s.title == "tools/call" && m.params().get("name") != `"echo"`:
		return seed{}
	case s.title == "" && m.index("error") >= 0:
		s.title = "(error)"
	case s.title == "":
		s.title = "(result)"
	}
	return s
}

// isNotification reports whether the message gets no response.
func (s seed) isNotification() bool { return s.index("id") < 0 || s.title[0] == '(' }
