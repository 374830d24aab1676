package definition

import (
	"context"
	"encoding/json/jsontext"
	"slices"

	"github.com/fondaco/fondaco/host"
)

// ToolClaims are the tools that an upstream has listed, approved or waiting, as it describes them itself.
type ToolClaims struct {
	// Count is the number of all, and Others are the names of those that it does not call read-only, sorted.
	Count  int
	Others []string
}

// ToolClaims returns the tools that an upstream has listed, or nil if it has never listed its tools.
func (s *Store) ToolClaims(ctx context.Context, u *host.Upstream) (*ToolClaims, error) {
	r, err := s.read(ctx, u)
	if err != nil {
		return nil, err
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
	if len(readOnly) == 0 && !r.approved.Listed {
		return nil, nil
	}
	claims := &ToolClaims{Count: len(readOnly)}
	for name, is := range readOnly {
		if !is {
			claims.Others = append(claims.Others, name)
		}
	}
	slices.Sort(claims.Others)
	return claims, nil
}
