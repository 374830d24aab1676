package mcp

import (
	"context"
	"slices"
	"time"
)

// Identity is what a way of authentication has found out about the sender of an
// HTTP request. A middleware that authenticates puts one into the context of the
// request; a server takes from it on whose behalf the request comes and what it
// may do. It is not changed once it is in a context.
type Identity struct {
	Principal Principal
	// Scopes are what the sender was granted, with those that they include.
	Scopes []string
	// Expires is when the credentials end, and with them the streams that were
	// opened by them. Zero means never.
	Expires time.Time
	// Challenge returns the WWW-Authenticate header that asks for all of the
	// scopes. Nil means that there is nothing to ask for.
	Challenge func(scopes []string) string
}

// Missing returns which of the scopes the sender was not granted. Nil has none of
// them.
func (i *Identity) Missing(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool {
		return i != nil && slices.Contains(i.Scopes, s)
	})
}

type identityKey struct{}

// WithIdentity returns a context for requests of the sender.
func WithIdentity(ctx context.Context, i *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityFrom returns the sender whom WithIdentity has put into the context, or
// nil.
func IdentityFrom(ctx context.Context) *Identity {
	i, _ := ctx.Value(identityKey{}).(*Identity)
	return i
}
