package mcp

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"time"
)

// Identity describes the authenticated sender of an HTTP request. Middleware
// that authenticates requests, such as Authenticate of mcpauth, puts one into the
// context of the request; a
// server reads from it the principal and the scopes of the request. It must not
// be changed once it is in a context.
type Identity struct {
	Principal Principal
	// Scopes are the scopes that the sender was granted, including implied
	// ones.
	Scopes []string
	// Expires is when the credentials expire. Streams that were opened with
	// them end then. Zero means never.
	Expires time.Time
	// Claims is a JSON object with all that the credentials say about the sender, or nil. A
	// server makes no use of it; functions of its author can, such as Visible of mcpserver.
	Claims jsontext.Value
	// Challenge returns the WWW-Authenticate header for a request that needs
	// all of the given scopes. Nil means that responses have no such header.
	Challenge func(scopes []string) string
}

// Missing returns those of the scopes that the sender was not granted. A nil
// Identity was granted none.
func (i *Identity) Missing(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool {
		return i != nil && slices.Contains(i.Scopes, s)
	})
}

type identityKey struct{}

// WithIdentity returns a context that carries the identity.
func WithIdentity(ctx context.Context, i *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

// IdentityFrom returns the identity that WithIdentity has put into the context,
// or nil.
func IdentityFrom(ctx context.Context) *Identity {
	i, _ := ctx.Value(identityKey{}).(*Identity)
	return i
}
