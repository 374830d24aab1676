package definition

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

const (
	// Section is the section of the keys of what was approved, and WaitingSection that of
	// what waits.
	Section        = "definitions"
	WaitingSection = "waitingdefinitions"

	// maxDefinitions limits the approved definitions of one server, and maxNames the bytes
	// of their names. Further ones wait and cannot be approved.
	maxDefinitions = 10_000
	maxNames       = 512 << 10
	// maxValue limits a value of a Store, and maxRecord one before it is compressed. The
	// longest texts are left out of a record that would be larger; their changes have a
	// digest and no diff.
	maxValue  = 1 << 20
	maxRecord = 24 << 20
	// maxAttempts limits the attempts to write a record that other processes change at the
	// same time.
	maxAttempts = 20
)

// Store keeps approved and waiting definitions in an mcp.Store, which several processes and
// hosts can share. All methods are safe for concurrent use.
type Store struct {
	values  mcp.Store
	options Options
}

// Options of a Store. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Secrets returns texts that no definition may contain. Default: none.
	Secrets func() []string
}

// New returns a Store that keeps its records in an mcp.Store.
func New(values mcp.Store, o *Options) *Store {
	s := &Store{values: values}
	if o != nil {
		s.options = *o
	}
	return s
}

// record is what was approved of one server.
type record struct {
	// Version is that of the server when a change was approved last.
	Version string `json:"version,omitzero"`
	// Since is when the first definitions were approved.
	Since time.Time `json:"since,omitzero"`
	// First means that the user has approved the first list without seeing it.
	First bool `json:"first,omitzero"`
	// Parts are the lists that were read, see part.
	Parts []string `json:"parts,omitempty"`
	// Listed means that the tools were listed, be it none.
	Listed bool `json:"listed,omitzero"`
	// Approved are the definitions by id.
	Approved map[string]approved `json:"approved,omitempty"`
}

// approved is a definition that clients may see.
type approved struct {
	// Forms has one element, or several of a definition that is not the same for all clients.
	Forms []form `json:"forms"`
	Body  string `json:"body,omitzero"`
	// Text is the definition for a diff. It is empty if it was left out.
	Text jsontext.Value `json:"text,omitzero"`
	// Shared means that all callers see it, so its absence from their list is shown.
	Shared bool `json:"shared,omitzero"`
	// Gone means that it was not listed any more when a change was approved.
	Gone bool `json:"gone,omitzero"`
}

// form is a definition as an audience sees it, see audienceOf.
type form struct {
	Digest   string `json:"digest"`
	Audience string `json:"audience,omitzero"`
}

// has reports whether a definition was approved, for whichever audience.
func (a *approved) has(digest string) bool {
	return slices.ContainsFunc(a.Forms, func(f form) bool { return f.Digest == digest })
}

// replacedBy returns the forms with others for the audiences of those. What these audiences saw
// before is not approved any more, unless another audience sees it.
func (a *approved) replacedBy(now []form) []form {
	kept := slices.DeleteFunc(slices.Clone(a.Forms), func(old form) bool {
		return slices.ContainsFunc(now, func(f form) bool { return f.Audience == old.Audience })
	})
	return append(kept, now...)
}

// digests returns the digests of all forms, sorted.
func (a *approved) digests() (all []string) {
	for _, f := range a.Forms {
		all = append(all, f.Digest)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// waiting is what waits of one server.
type waiting struct {
	Version string        `json:"version,omitzero"`
	Items   []waitingItem `json:"items,omitempty"`
	// Removed are the ids of approved definitions that are not listed any more.
	Removed []string `json:"removed,omitempty"`
}

type waitingItem struct {
	Kind   host.DefinitionKind `json:"kind"`
	Name   string              `json:"name,omitzero"`
	Digest string              `json:"digest"`
	Body   string              `json:"body,omitzero"`
	Text   jsontext.Value      `json:"text,omitzero"`
	// Audience is who would see it, see audienceOf.
	Audience string   `json:"audience,omitzero"`
	Findings []string `json:"findings,omitempty"`
	// Since is when it was first listed in a session of one caller.
	Since time.Time `json:"since,omitzero"`
}

func (w *waitingItem) id() string { return idOf(w.Kind, w.Name) }

// stored is the pair of records of one server, and their values as they were read.
type stored struct {
	id                       string
	approved                 record
	waiting                  waiting
	approvedText, waitedText []byte
}

// read returns the records of an upstream, empty ones if there are none.
func (s *Store) read(ctx context.Context, u *host.Upstream) (*stored, error) {
	r := &stored{id: identityOf(u)}
	var err error
	if r.approvedText, err = s.get(ctx, Section+"/"+r.id, &r.approved); err == nil {
		r.waitedText, err = s.get(ctx, WaitingSection+"/"+r.id, &r.waiting)
	}
	if err != nil {
		return nil, fmt.Errorf("approved definitions of server %q: %w", u.Key, err)
	}
	return r, nil
}

func (s *Store) get(ctx context.Context, key string, v any) (text []byte, err error) {
	text, found, err := s.values.Get(ctx, key)
	if err != nil || !found {
		return nil, err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(unzipped, maxRecord+1))
	switch {
	case err != nil:
		return nil, err
	case len(content) > maxRecord:
		return nil, fmt.Errorf("the record has more than %d bytes", maxRecord)
	}
	return text, json.Unmarshal(content, v)
}

// writeApproved writes the record of what is approved. It reports false if another process
// has changed it since it was read.
func (s *Store) writeApproved(ctx context.Context, r *stored) (bool, error) {
	value, err := encode(func(maxText int) any {
		cut := r.approved
		cut.Approved = make(map[string]approved, len(r.approved.Approved))
		for id, a := range r.approved.Approved {
			if len(a.Text) > maxText {
				a.Text = nil
			}
			cut.Approved[id] = a
		}
		return &cut
	})
	if err != nil {
		return false, err
	}
	return s.swap(ctx, Section+"/"+r.id, &r.approvedText, value)
}

// writeWaiting writes the record of what waits, as writeApproved does.
func (s *Store) writeWaiting(ctx context.Context, r *stored) (bool, error) {
	value, err := encode(func(maxText int) any {
		cut := r.waiting
		cut.Items = make([]waitingItem, len(r.waiting.Items))
		for i, w := range r.waiting.Items {
			if len(w.Text) > maxText {
				w.Text = nil
			}
			cut.Items[i] = w
		}
		return &cut
	})
	if err != nil {
		return false, err
	}
	return s.swap(ctx, WaitingSection+"/"+r.id, &r.waitedText, value)
}

// swap replaces a value that was read, which is nil if there was none.
func (s *Store) swap(ctx context.Context, key string, old *[]byte, value []byte) (swapped bool, err error) {
	if *old == nil {
		swapped, err = s.values.Create(ctx, key, value, 0)
	} else {
		swapped, err = s.values.Swap(ctx, key, *old, value, 0)
	}
	if swapped {
		*old = value
	}
	return swapped, err
}

// textLimits are the limits of a text in a record, which are tried one after the other until
// the record is small enough.
var textLimits = []int{maxRecord, 64 << 10, 16 << 10, 4 << 10, 1 << 10, 0}

var errTooLarge = errors.New("the definitions of the server are too many to be remembered")

// encode returns the compressed JSON of a record, without texts as far as that is necessary.
func encode(cut func(maxText int) any) ([]byte, error) {
	for _, limit := range textLimits {
		text, err := json.Marshal(cut(limit), json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		if len(text) > maxRecord {
			continue
		}
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err = w.Write(text); err == nil {
			err = w.Close()
		}
		switch {
		case err != nil:
			return nil, err
		case b.Len() <= maxValue:
			return b.Bytes(), nil
		}
	}
	return nil, errTooLarge
}

func (o *Options) secrets() []string {
	if o.Secrets == nil {
		return nil
	}
	return o.Secrets()
}

// Forget deletes what was approved of an upstream, and what waits, after record has recorded it.
// It reports whether there was anything. What the upstream lists afterwards is its first list.
func (s *Store) Forget(ctx context.Context, u *host.Upstream, record func() error) (bool, error) {
	r, err := s.read(ctx, u)
	if err == nil && r.approvedText == nil && r.waitedText == nil {
		return false, nil
	}
	if err := record(); err != nil {
		return false, err
	}
	id := identityOf(u) // also if what is stored cannot be read
	err = errors.Join(s.values.Delete(ctx, Section+"/"+id), s.values.Delete(ctx, WaitingSection+"/"+id))
	if err != nil {
		return false, fmt.Errorf("approved definitions of server %q: %w", u.Key, err)
	}
	return true, nil
}
