package interop_test

import (
	"encoding/json/v2"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// plan is what a client is to do with a server, one step after the other. Our
// client takes the same steps as the foreign ones, see visit and client.mjs.
type plan []step

// step is one use of a feature.
type step struct {
	// Do is the feature: the name of a method of visitor, and of a function of
	// client.mjs, which say what it takes and what comes of it.
	Do string `json:"do"`
	// Name and Arguments are those of a tool or a prompt.
	Name      string         `json:"name,omitzero"`
	Arguments map[string]any `json:"arguments,omitzero"`
	URI       string         `json:"uri,omitzero"`
	// Kind is that of a list: tools, resources or prompts.
	Kind string `json:"kind,omitzero"`
	// Names are what has to be in lists: names, URIs and URI templates.
	Names    []string              `json:"names,omitzero"`
	Ref      *mcp.Reference        `json:"ref,omitzero"`
	Argument *mcp.CompleteArgument `json:"argument,omitzero"`
	// Lacking tells that the feature is not there, so there is no point in
	// waiting for it for long.
	Lacking bool `json:"lacking,omitzero"`

	// want is what has to come of it, as it encodes in JSON, or a regular
	// expression for what is printed of it.
	want any
}

// answer is what comes of calling a tool.
type answer struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
}

// advance is what comes of calling a tool with progress.
type advance struct {
	Text string    `json:"text"`
	Seen []float64 `json:"seen"`
}

func list(names ...string) step { return step{Do: "list", Names: names, want: []string{}} }

func call(tool string, arguments map[string]any, want any) step {
	return step{Do: "call", Name: tool, Arguments: arguments, want: want}
}

// structured calls a tool that has structured content.
func structured(tool string, arguments map[string]any, want map[string]any) step {
	return step{Do: "structured", Name: tool, Arguments: arguments, want: want}
}

func read(uri string, want any) step { return step{Do: "read", URI: uri, want: want} }

func get(prompt string, arguments map[string]any, want any) step {
	return step{Do: "get", Name: prompt, Arguments: arguments, want: want}
}

func complete(ref mcp.Reference, argument, typed string, want ...string) step {
	return step{Do: "complete", Ref: &ref, Argument: &mcp.CompleteArgument{Name: argument, Value: typed}, want: want}
}

func progress(tool string, arguments map[string]any, want advance) step {
	return step{Do: "progress", Name: tool, Arguments: arguments, want: want}
}

func cancel(tool string, arguments map[string]any) step {
	return step{Do: "cancel", Name: tool, Arguments: arguments, want: "cancelled"}
}

// changed calls a tool that adds something to a list.
func changed(tool string, arguments map[string]any, kind, added string) step {
	return step{Do: "changed", Name: tool, Arguments: arguments, Kind: kind, Names: []string{added}, want: "changed"}
}

// updated calls a tool that updates a resource.
func updated(tool string, arguments map[string]any, uri string) step {
	return step{Do: "updated", Name: tool, Arguments: arguments, URI: uri, want: "updated"}
}

// logged calls a tool that logs to the client.
func logged(tool string, arguments map[string]any, want any) step {
	return step{Do: "logged", Name: tool, Arguments: arguments, want: want}
}

// asked calls a tool that asks the user for a name.
func asked(tool string, want any) step { return step{Do: "asked", Name: tool, want: want} }

// lacks says which features one cannot expect of a pairing, and why.
type lacks map[string]string

// with returns what either lacks.
func (l lacks) with(more lacks) lacks {
	all := maps.Clone(more)
	if all == nil {
		all = make(lacks)
	}
	maps.Copy(all, l)
	return all
}

// behind returns the plan for the same server behind a gateway, under a key.
func (p plan) behind(key string) plan {
	name := func(s string) string {
		if s == "" || strings.Contains(s, "://") {
			return s
		}
		return key + "__" + s
	}
	p = slices.Clone(p)
	for i := range p {
		s := &p[i]
		s.Name, s.Names = name(s.Name), slices.Clone(s.Names)
		for i := range s.Names {
			s.Names[i] = name(s.Names[i])
		}
		if s.Ref != nil && s.Ref.Type == mcp.RefPrompt {
			ref := mcp.PromptRef(name(s.Ref.Name))
			s.Ref = &ref
		}
	}
	return p
}

// without marks what is lacking.
func (p plan) without(l lacks) plan {
	p = slices.Clone(p)
	for i := range p {
		_, p[i].Lacking = l[p[i].Do]
	}
	return p
}

// check compares what came of each step with what has to come of it. What is
// lacking has to fail: what a peer has learned meanwhile is to be used.
func (p plan) check(t *testing.T, l lacks, results []any) {
	t.Helper()
	if len(results) != len(p) {
		t.Fatalf("took %d steps, want %d", len(results), len(p))
	}
	for i, s := range p {
		got := results[i]
		if why, lacking := l[s.Do]; lacking {
			t.Run(s.Do+" is lacking", func(t *testing.T) {
				t.Logf("%s; got %v", why, got)
				if matches(t, got, s.want) {
					t.Errorf("got %v, although %s", got, why)
				}
			})
			continue
		}
		t.Run(s.Do, func(t *testing.T) {
			if !matches(t, got, s.want) {
				t.Errorf("%s: got %v, want %v", s.Name+s.URI, got, s.want)
			}
		})
	}
}

// matches compares a result with what is wanted, as they are in JSON.
func matches(t *testing.T, got, want any) bool {
	t.Helper()
	if pattern, ok := want.(*regexp.Regexp); ok {
		return pattern.MatchString(fmt.Sprint(got))
	}
	return reflect.DeepEqual(got, plain(t, want))
}

// plain returns a value as it is after a journey as JSON.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
