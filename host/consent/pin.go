package consent

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// pin is what is known of one tool.
type pin struct {
	At time.Time `json:"at"`
	// Definition is the one that was approved, in its canonical form.
	Definition jsontext.Value `json:"definition"`
	// Changed is another one that the server has come with since, if any.
	Changed jsontext.Value `json:"changed,omitzero"`
}

// Screen returns the tools of an upstream that may be offered: those whose
// definition is the one that was approved, and those that were never seen before,
// which it pins. It returns the others as withheld, with what has changed.
func (b *Book) Screen(u *host.Upstream, tools []mcp.Tool) (kept []mcp.Tool, withheld []host.Withheld, err error) {
	definitions := make([]jsontext.Value, len(tools))
	for i, t := range tools {
		if definitions[i], err = definitionOf(t); err != nil {
			return nil, nil, fmt.Errorf("tool %q: %w", t.Name, err)
		}
	}
	err = b.change(u, func(r *record) error {
		before := maps.Clone(r.Tools)
		if r.Tools == nil {
			r.Tools = make(map[string]pin)
		}
		for i, t := range tools {
			p := seen(r.Tools[t.Name], definitions[i])
			r.Tools[t.Name] = p
			if p.Changed == nil {
				kept = append(kept, t)
				continue
			}
			withheld = append(withheld, withheldOf(t.Name, p))
		}
		if maps.EqualFunc(before, r.Tools, pin.equal) {
			return errUnchanged
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return kept, withheld, nil
}

// seen returns the pin of a tool that has come with a definition.
func seen(p pin, definition jsontext.Value) pin {
	switch {
	case p.Definition == nil:
		return pin{At: time.Now().UTC(), Definition: definition}
	case string(p.Definition) == string(definition):
		p.Changed = nil // it has come back to what was approved
	default:
		p.Changed = definition
	}
	return p
}

func (p pin) equal(other pin) bool {
	return p.At.Equal(other.At) && string(p.Definition) == string(other.Definition) && string(p.Changed) == string(other.Changed)
}

// Withheld returns the tools of an upstream that have changed, as they were seen
// last, by name.
func (b *Book) Withheld(u *host.Upstream) ([]host.Withheld, error) {
	r, err := b.read(u)
	if err != nil {
		return nil, err
	}
	var all []host.Withheld
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		if p := r.Tools[name]; p.Changed != nil {
			all = append(all, withheldOf(name, p))
		}
	}
	return all, nil
}

// ApproveTool lets a tool of an upstream be offered again as it is now. It fails
// when the tool has changed again since the user has seen it.
func (b *Book) ApproveTool(u *host.Upstream, w host.Withheld) error {
	return b.change(u, func(r *record) error {
		p, ok := r.Tools[w.Tool]
		switch {
		case !ok || p.Changed == nil:
			return fmt.Errorf("tool %q: nothing of it waits for approval", w.Tool)
		case digestOf(p.Changed) != w.Digest:
			return fmt.Errorf("tool %q: it has changed again; look at it once more", w.Tool)
		}
		r.Tools[w.Tool] = pin{At: time.Now().UTC(), Definition: p.Changed}
		return nil
	})
}

func withheldOf(name string, p pin) host.Withheld {
	return host.Withheld{Tool: name, Digest: digestOf(p.Changed), Diff: diff(linesOf(p.Definition), linesOf(p.Changed))}
}

// definitionOf returns what a model, a user or a checker of arguments sees of a
// tool, in its canonical form.
func definitionOf(t mcp.Tool) (jsontext.Value, error) {
	t.Execution = nil
	text, err := json.Marshal(t, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(text)
	err = canonicalize(&v)
	return v, err
}

// canonicalize brings a value, if there is one, into the form in which equal
// values are equal texts.
//
// Spec: RFC 8785, but for integers, which stay exact.
func canonicalize(v *jsontext.Value) error {
	if *v == nil {
		return nil
	}
	return v.Canonicalize(jsontext.CanonicalizeRawInts(false))
}
