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

// plan is the sequence of steps that a client runs with a server. Our client and the
// foreign clients run the same steps; see visit and client.mjs.
type plan []step

// step is one use of a feature.
type step struct {
	// Do is the feature: the name of a method of stepRunner and of a function of
	// client.mjs. These document the parameters and the result of the step.
	Do string `json:"do"`
	// Name and Arguments are the name and the arguments of a tool or a prompt.
	Name      string         `json:"name,omitzero"`
	Arguments map[string]any `json:"arguments,omitzero"`
	URI       string         `json:"uri,omitzero"`
	// Kind is the kind of a list: tools, resources or prompts.
	Kind string `json:"kind,omitzero"`
	// Names are the names, URIs and URI templates that lists must contain.
	Names    []string              `json:"names,omitzero"`
	Ref      *mcp.Reference        `json:"ref,omitzero"`
	Argument *mcp.CompleteArgument `json:"argument,omitzero"`
	// Lacking says that the feature is not supported. The client then waits for a
	// notification with a short timeout.
	Lacking bool `json:"lacking,omitzero"`

	// want is the expected result, compared as JSON, or a regular expression that the
	// printed result must match.
	want any
}

// answer is the result of a tool call.
type answer struct {
	Text    string `json:"text"`
	IsError bool   `json:"isError"`
}

// advance is the result of a tool call with progress: Seen are the progress values.
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

// lacks maps the features that a pairing of client and server does not support to the
// reason.
type lacks map[string]string

// with returns the union of l and more.
func (l lacks) with(more lacks) lacks {
	all := maps.Clone(more)
	if all == nil {
		all = make(lacks)
	}
	maps.Copy(all, l)
	return all
}

// behind returns the plan for the same server behind the gateway, where names are qualified
// by the key.
func (p plan) behind(key string) plan {
	return p.renamed(func(s string) string {
		if s == "" || strings.Contains(s, "://") {
			return s
		}
		return mcp.QualifiedName(key, s)
	})
}

// of returns the plan for a server whose notes have another scheme.
func (p plan) of(scheme string) plan {
	return p.renamed(func(s string) string { return strings.Replace(s, "note://", scheme+"://", 1) })
}

// renamed returns the plan with other names and URIs.
func (p plan) renamed(rename func(nameOrURI string) string) plan {
	p = slices.Clone(p)
	for i := range p {
		s := &p[i]
		s.Name, s.URI, s.Names = rename(s.Name), rename(s.URI), slices.Clone(s.Names)
		for i := range s.Names {
			s.Names[i] = rename(s.Names[i])
		}
		if s.Ref != nil {
			ref := *s.Ref
			ref.Name, ref.URI = rename(ref.Name), rename(ref.URI)
			s.Ref = &ref
		}
	}
	return p
}

// without marks the steps whose features are lacking.
func (p plan) without(l lacks) plan {
	p = slices.Clone(p)
	for i := range p {
		_, p[i].Lacking = l[p[i].Do]
	}
	return p
}

// check compares the result of each step with the expected one. A step whose feature is
// lacking must fail; when it succeeds, a peer now supports the feature and l is outdated.
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

// matches reports whether got is the wanted result, compared as JSON.
func matches(t *testing.T, got, want any) bool {
	t.Helper()
	if pattern, ok := want.(*regexp.Regexp); ok {
		return pattern.MatchString(fmt.Sprint(got))
	}
	return reflect.DeepEqual(got, plain(t, want))
}

// plain returns v encoded as JSON and decoded again.
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
