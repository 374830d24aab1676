package mcpclient

import "github.com/fondaco/fondaco/mcp"

// The names below were replaced. The next minor version removes them.

// ByHand returns ManualInput().
//
// Deprecated: use [ManualInput].
//
//go:fix inline
func ByHand() CallOption { return ManualInput() }

// Fresh returns NoCache().
//
// Deprecated: use [NoCache].
//
//go:fix inline
func Fresh() CallOption { return NoCache() }

// Over returns Conn(conn).
//
// Deprecated: use [Conn].
//
//go:fix inline
func Over(conn mcp.Conn) Target { return Conn(conn) }

// Reached calls r.ReportLimit(l).
//
// Deprecated: use [Request.ReportLimit].
//
//go:fix inline
func (r *Request) Reached(l mcp.Limit) { r.ReportLimit(l) }

// VisitHost returns URLHost(p).
//
// Deprecated: use [URLHost].
//
//go:fix inline
func VisitHost(p *mcp.ElicitParams) string { return URLHost(p) }

// Forget calls c.ClearCache().
//
// Deprecated: use [Client.ClearCache].
//
//go:fix inline
func (c *Client) Forget() { c.ClearCache() }
