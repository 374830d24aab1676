package definition

import (
	"context"
	"encoding/json/jsontext"
	"slices"

	"github.com/fondaco/fondaco/host"
)

// ToolClaims returns how many tools an upstream has listed, approved or waiting, and the names of those that it
// does not call read-only, sorted. Both are zero if it has never listed any. It is the claim of the upstream.
func (s *Store) ToolClaims(ctx context.Context, u *host.Upstream) (count int, others []string, err error) {
	r, err := s.read(ctx, u)
	if err != nil {
		return 0, nil, err
	}
	readOnly := make(map[string]bool)
	add := func(kind host.DefinitionKind, name string, text jsontext.Value) {
		if kind == host.KindTool {
			_, claims := summaryOf(kind, text)
			readOnly[name] = slices.Contains(claims, claimReadOnly)
		}
	}
	for id, known := range r.approved.Approved {
		if kind, name := cutID(id); !known.Gone {
			add(kind, name, known.Text)
		}
	}
	for _, w := range r.waiting.Items { // what it lists now, in place of what was approved
		add(w.Kind, w.Name, w.Text)
	}
	for name, is := range readOnly {
		if !is {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return len(readOnly), others, nil
}
