package definition

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// Change is all that waits of one server: one question to the user.
type Change struct {
	// Digest identifies the definitions that wait. An approval names it.
	Digest string `json:"digest"`
	// Version is that of the server, and OldVersion that when a change was approved last.
	Version    string `json:"version,omitzero"`
	OldVersion string `json:"oldVersion,omitzero"`
	// First means that nothing of the server was approved before.
	First bool `json:"first,omitzero"`
	// Definitions are those that wait, and those that are removed, by kind and name.
	Definitions []Difference `json:"definitions"`
}

// Difference is one definition of a Change.
type Difference struct {
	host.WaitingDefinition
	// Description is the first line of its description or, for instructions, of their text.
	// Unprintable characters are escaped.
	Description string `json:"description,omitzero"`
	// Annotations are what the server says that a tool does: "read-only", "destructive" or
	// "not destructive". There are none if it says nothing.
	Annotations []string `json:"annotations,omitempty"`
	// Audience says which clients see it: empty for all of them.
	Audience string `json:"audience,omitzero"`
	// Diff has the changed lines, with "-" before those of the approved definition and "+"
	// before those of the new one. Unprintable characters are escaped.
	Diff string `json:"diff,omitzero"`
	// old and text are the definitions that are compared, nil if they are not known.
	old, text jsontext.Value
}

// Waiting returns what waits of an upstream, or nil.
func (s *Store) Waiting(ctx context.Context, u *host.Upstream) (*Change, error) {
	r, err := s.read(ctx, u)
	if err != nil {
		return nil, err
	}
	return r.change(), nil
}

// change returns what waits, or nil.
func (r *stored) change() *Change {
	w := &r.waiting
	if len(w.Items) == 0 {
		return nil
	}
	c := &Change{Digest: w.digest(), Version: w.Version, OldVersion: r.approved.Version, First: len(r.approved.Approved) == 0}
	c.Definitions = r.differences(w.Items)
	renamed := make(map[string]bool)
	compare := new(differ)
	for i := range c.Definitions {
		d := &c.Definitions[i]
		d.Diff = compare.diffOf(d.old, d.text)
		d.Description, d.Annotations = summaryOf(d.Kind, d.text)
		if d.Change == host.DefinitionRenamed {
			renamed[idOf(d.Kind, d.OldName)] = true
		}
	}
	for _, id := range w.Removed {
		if kind, name := cutID(id); !renamed[id] {
			c.Definitions = append(c.Definitions, Difference{WaitingDefinition: host.WaitingDefinition{
				Kind: kind, Name: name, Change: host.DefinitionRemoved,
			}})
		}
	}
	slices.SortStableFunc(c.Definitions, func(a, b Difference) int { return compareIDs(a.Kind, a.Name, b.Kind, b.Name) })
	return c
}

// digest returns the digest of all items together.
func (w *waiting) digest() string {
	var lines strings.Builder
	for i := range w.Items {
		fmt.Fprintf(&lines, "%q %q %s\n", w.Items[i].Kind, w.Items[i].Name, w.Items[i].Digest)
	}
	return digestOf([]byte(lines.String()))
}

// differences says how waiting items differ from what is approved. A new definition whose
// description and schemas are those of a removed one is that one under another name.
func (r *stored) differences(items []waitingItem) []Difference {
	byBody := make(map[string]string) // ids of removed definitions
	for _, id := range r.waiting.Removed {
		if a := r.approved.Approved[id]; a.Body != "" {
			kind, _ := cutID(id)
			byBody[string(kind)+a.Body] = id
		}
	}
	all := make([]Difference, len(items))
	for i := range items {
		w := &items[i]
		d := Difference{WaitingDefinition: host.WaitingDefinition{Kind: w.Kind, Name: w.Name, Change: host.DefinitionAdded, Findings: w.Findings}, Audience: w.Audience, text: w.Text}
		known, isKnown := r.approved.Approved[w.id()]
		oldID, isRenamed := byBody[string(w.Kind)+w.Body]
		switch {
		case isKnown && !known.Gone:
			d.Change, d.old = host.DefinitionChanged, known.Text
		case isRenamed && w.Body != "":
			_, d.OldName = cutID(oldID)
			d.Change, d.old = host.DefinitionRenamed, r.approved.Approved[oldID].Text
			delete(byBody, string(w.Kind)+w.Body)
		}
		all[i] = d
	}
	return all
}

// Approve approves all that waits of an upstream, as the user has seen it in a Change with
// this digest. It fails if that has changed since.
func (s *Store) Approve(ctx context.Context, u *host.Upstream, digest string) error {
	for range maxAttempts {
		r, err := s.read(ctx, u)
		switch {
		case err != nil:
			return err
		case len(r.waiting.Items) == 0:
			return fmt.Errorf("server %q: no definition waits for approval", u.Key)
		case r.waiting.digest() != digest:
			return fmt.Errorf("server %q: the definitions have changed again; review the new ones", u.Key)
		}
		r.approveWaiting(time.Now().UTC())
		if len(r.approved.Approved) > maxDefinitions {
			return fmt.Errorf("server %q: %w: %d, at most %d", u.Key, errTooLarge, len(r.approved.Approved), maxDefinitions)
		}
		written, err := s.writeApproved(ctx, r)
		if err != nil {
			return fmt.Errorf("server %q: %w", u.Key, err)
		}
		if written {
			return s.values.Delete(ctx, WaitingSection+"/"+r.id)
		}
	}
	return fmt.Errorf("server %q: %w", u.Key, errContended)
}

// ApproveFirst approves what an upstream will list first, as a user does who approves it
// without being asked. It changes nothing for an upstream that has listed something.
func (s *Store) ApproveFirst(ctx context.Context, u *host.Upstream) error {
	for range maxAttempts {
		r, err := s.read(ctx, u)
		switch {
		case err != nil:
			return err
		case r.approved.First, !r.approved.Since.IsZero(), len(r.waiting.Items) > 0:
			return nil
		}
		r.approved.First = true
		if written, err := s.writeApproved(ctx, r); err != nil || written {
			return err
		}
	}
	return fmt.Errorf("server %q: %w", u.Key, errContended)
}

// approveWaiting approves the waiting items, and marks the removed definitions. Those that
// were removed before are forgotten if the record would have too many otherwise.
func (r *stored) approveWaiting(now time.Time) {
	a := &r.approved
	if a.Approved == nil {
		a.Approved = make(map[string]approved)
	}
	if a.Since.IsZero() {
		a.Since = now
	}
	a.Version = r.waiting.Version
	for _, kind := range kinds { // what is listed first from now on was not seen by the user
		if !slices.Contains(a.Parts, string(kind)) {
			a.Parts = append(a.Parts, string(kind))
		}
	}
	fresh := make(map[string]approved)
	for i := range r.waiting.Items {
		w := &r.waiting.Items[i]
		f := fresh[w.id()]
		f.Forms = append(f.Forms, form{w.Digest, w.Audience})
		f.Body, f.Text, f.Shared = w.Body, w.Text, f.Shared || w.Audience == ""
		fresh[w.id()] = f
	}
	for id, f := range fresh {
		known := a.Approved[id]
		f.Forms, f.Shared = known.replacedBy(f.Forms), f.Shared || known.Shared && !known.Gone
		a.Approved[id] = f
	}
	for _, id := range r.waiting.Removed {
		if gone, ok := a.Approved[id]; ok {
			gone.Gone = true
			a.Approved[id] = gone
		}
	}
	if len(a.Approved) > maxDefinitions {
		for id, known := range a.Approved {
			if known.Gone {
				delete(a.Approved, id)
			}
		}
	}
}
