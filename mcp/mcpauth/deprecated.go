package mcpauth

import "net/netip"

// The names below were replaced. The next minor version removes them.

// About is ResourceInfo.
//
// Deprecated: use [ResourceInfo].
//
//go:fix inline
type About = ResourceInfo

// Held is TokenStatus.
//
// Deprecated: use [TokenStatus].
//
//go:fix inline
type Held = TokenStatus

// Hosts returns AllowedHosts(names...).
//
// Deprecated: use [AllowedHosts].
//
//go:fix inline
func Hosts(names ...string) Option { return AllowedHosts(names...) }

// OfferScopes returns SupportedScopes(scopes...).
//
// Deprecated: use [SupportedScopes].
//
//go:fix inline
func OfferScopes(scopes ...string) Option { return SupportedScopes(scopes...) }

// Reach returns AllowedNetworks(networks...).
//
// Deprecated: use [AllowedNetworks].
//
//go:fix inline
func Reach(networks ...netip.Prefix) Option { return AllowedNetworks(networks...) }
