package mcpauth

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// maxUnknownIssuers is how many unknown issuers of tokens a Resource logs. Anyone can send such
// tokens.
const maxUnknownIssuers = 16

// unknownIssuers are those that were logged.
type unknownIssuers struct {
	mu     sync.Mutex
	logged []string
}

// first reports whether an issuer has not been logged yet and may be.
func (u *unknownIssuers) first(issuer string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.logged) == maxUnknownIssuers || slices.Contains(u.logged, issuer) {
		return false
	}
	u.logged = append(u.logged, issuer)
	return true
}

// logUnknownIssuer logs an issuer that a token names and that is none of this Resource, beside
// those that are, because the difference is often one of spelling. It logs each issuer once.
func (r *Resource) logUnknownIssuer(ctx context.Context, claimed string) {
	if len(r.issuers) == 0 { // VerifyWith and Introspect know the issuers
		return
	}
	found := oauth.ShownIssuer(claimed)
	if !r.unknown.first(found) {
		return
	}
	var known []string
	for _, i := range r.issuers {
		known = append(known, i.issuer)
	}
	slices.Sort(known)
	r.logger.LogAttrs(ctx, slog.LevelWarn, "a token names an unknown issuer",
		slog.String("resource", r.identifier), slog.String("found", found), slog.String("want", strings.Join(known, " ")))
}
