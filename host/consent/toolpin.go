package consent

import (
	"encoding/json/jsontext"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// pin is the approved definition of one tool.
type pin struct {
	At time.Time `json:"at"`
	// Definition is the approved one, in canonical form.
	Definition jsontext.Value `json:"definition"`
	// Changed is a different definition that the server listed since, if any.
	Changed jsontext.Value `json:"changed,omitzero"`
}

const (
	// maxPins limits the tools of one server that are remembered, and maxPinBytes their
	// definitions: a server could otherwise fill the disk with new names. Further tools and
	// changes are withheld. No pin is forgotten for another one, because the tool could
	// return with another definition.
	maxPins     = 20_000
	maxPinBytes = 16 << 20
)

var tooManyPins = fmt.Sprintf("not compared: the definitions of the server's tools exceed the limit of %d tools and %d bytes\n", maxPins, maxPinBytes)

// FilterTools returns the tools of an upstream that clients may see: those whose
// definition is the approved one, and new ones, which it pins. It returns the others as
// withheld, with their changes.
func (s *Store) FilterTools(u *host.Upstream, tools []mcp.Tool) (kept []mcp.Tool, withheld []host.Withheld, err error) {
	definitions := make([]jsontext.Value, len(tools))
	for i, t := range tools {
		if definitions[i], err = t.Definition(); err != nil {
			return nil, nil, fmt.Errorf("tool %q: %w", t.Name, err)
		}
	}
	err = s.update(u, func(r *record) error {
		before := maps.Clone(r.Tools)
		if r.Tools == nil {
			r.Tools = make(map[string]pin)
		}
		size := 0
		for _, p := range r.Tools {
			size += p.size()
		}
		for i, t := range tools {
			known := r.Tools[t.Name]
			p := updatedPin(known, definitions[i])
			grown := size + p.size() - known.size()
			if known.Definition == nil && len(r.Tools) >= maxPins || grown > max(size, maxPinBytes) {
				withheld = append(withheld, host.Withheld{Tool: t.Name, Diff: tooManyPins})
				continue
			}
			size, r.Tools[t.Name] = grown, p
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

// updatedPin returns the pin of a tool after the server has listed a definition.
func updatedPin(p pin, definition jsontext.Value) pin {
	switch {
	case p.Definition == nil:
		return pin{At: time.Now().UTC(), Definition: definition}
	case string(p.Definition) == string(definition):
		p.Changed = nil // it equals the approved one again
	default:
		p.Changed = definition
	}
	return p
}

// size returns the bytes that a pin takes, about.
func (p pin) size() int { return len(p.Definition) + len(p.Changed) }

func (p pin) equal(other pin) bool {
	return p.At.Equal(other.At) && string(p.Definition) == string(other.Definition) && string(p.Changed) == string(other.Changed)
}

// Withheld returns the tools of an upstream that have changed, as they were last listed,
// by name.
func (s *Store) Withheld(u *host.Upstream) ([]host.Withheld, error) {
	r, err := s.read(u)
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

// ApproveTool approves the new definition of a tool. It fails if the definition has
// changed again since the user saw it.
func (s *Store) ApproveTool(u *host.Upstream, w host.Withheld) error {
	return s.update(u, func(r *record) error {
		p, ok := r.Tools[w.Tool]
		switch {
		case !ok || p.Changed == nil:
			return fmt.Errorf("tool %q: no change waits for approval", w.Tool)
		case digestOf(p.Changed) != w.Digest:
			return fmt.Errorf("tool %q: the definition has changed again; review the new one", w.Tool)
		}
		r.Tools[w.Tool] = pin{At: time.Now().UTC(), Definition: p.Changed}
		return nil
	})
}

func withheldOf(name string, p pin) host.Withheld {
	return host.Withheld{Tool: name, Digest: digestOf(p.Changed), Diff: diff(indentedLines(p.Definition), indentedLines(p.Changed))}
}

// canonicalize brings a stored definition into the form of mcp.Tool.Definition. Nil stays nil.
//
// Spec: RFC 8785, except that integers keep all digits.
func canonicalize(v *jsontext.Value) error {
	if *v == nil {
		return nil
	}
	return v.Canonicalize(jsontext.CanonicalizeRawInts(false))
}
