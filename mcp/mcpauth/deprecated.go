package mcpauth

import "net/netip"

// About is the part of the metadata that is for users.
//
// Deprecated: use [ResourceInfo].
//
//go:fix inline
type About = ResourceInfo

// Held describes the tokens that a Client has for a server.
//
// Deprecated: use [TokenStatus].
//
//go:fix inline
type Held = TokenStatus

// Hosts adds host names that requests to a loopback address may have.
//
// Deprecated: use [AllowedHosts].
//
//go:fix inline
func Hosts(names ...string) Option { return AllowedHosts(names...) }

// OfferScopes adds scopes to those that the metadata names.
//
// Deprecated: use [SupportedScopes].
//
//go:fix inline
func OfferScopes(scopes ...string) Option { return SupportedScopes(scopes...) }

// Reach adds networks to which requests to authorization servers may be sent.
//
// Deprecated: use [AllowedNetworks].
//
//go:fix inline
func Reach(networks ...netip.Prefix) Option { return AllowedNetworks(networks...) }
