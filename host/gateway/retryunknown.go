package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/relay"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// retryUnknown is middleware that reads the lists of an upstream again when a request names a
// tool or prompt that is unknown: the upstream may have added it without an announcement. If the
// upstream waits for approval, or has not started so far, the outcome says so. The lists are also read again
// when the upstream does not know a feature that it has listed. An unknown resource may be of any upstream, so
// only the lists for the caller's capabilities are read for it.
func (g *Gateway) retryUnknown(next mcpserver.Handler) mcpserver.Handler {
	return func(ctx context.Context, r *mcpserver.Request) (any, error) {
		result, err := next(ctx, r)
		if err == nil || !isUnknown(err) {
			return result, err
		}
		f, ok := decodeNamed(r)
		switch kind := kindOf(r); {
		case !ok:
		case kind.names == namesByName:
			if u := g.byKey(host.KeyOf(f.Name)); u != nil {
				if u.source.ReadAgainFor(ctx, r, f.Name) {
					if result, err = next(ctx, r); err == nil || !isUnknown(err) {
						return result, err
					}
				}
				return u.explainUnknown(r, result, err)
			}
		case kind.names == namesByReference && f.Ref.Type != mcp.RefResource:
			if u := g.byKey(host.KeyOf(f.Ref.Name)); u != nil {
				return u.explainUnknown(r, result, err)
			}
		case kind.names == namesByReference:
			return result, g.explainNotFound(r, []string{f.Ref.URI}, err)
		case kind.names == namesByURI:
			if kind.uses && !g.catalog.HasResource(ctx, r, f.URI) && g.waitForCapabilityLists(ctx, r) && g.catalog.HasResource(ctx, r, f.URI) {
				return next(ctx, r)
			}
			if !g.catalog.HasResource(ctx, r, f.URI) {
				return result, g.explainNotFound(r, []string{f.URI}, err)
			}
		}
		return result, err
	}
}

// isUnknown reports whether an error may say that a feature is unknown.
func isUnknown(err error) bool {
	switch mcp.CodeOf(err) {
	case mcp.CodeInvalidParams, mcp.CodeMethodNotFound, mcp.CodeResourceNotFound:
		return true
	}
	return false
}

// explainUnknown returns the outcome of a request that has ended with err and names a tool or prompt of the
// upstream. If the caller does not see it, it says that the upstream waits for approval, or has not started so
// far: the same whether the upstream has such a feature or not.
func (u *upstream) explainUnknown(r *mcpserver.Request, result any, err error) (any, error) {
	switch {
	case u.knowsFeature(r):
		return result, err
	case u.awaitsApproval():
		return result, &mcp.Error{Code: mcp.CodeOf(err), Message: u.approvalHint()}
	case u.isNotAsked():
		return relay.StillStarting(r.Method(), u.Key)
	}
	return result, err
}

// maxNotAsked limits the upstreams that an error names.
const maxNotAsked = 5

// explainNotFound returns the error of a request for a resource or template that is not known: it names the
// upstreams that may have it and have not started so far.
func (g *Gateway) explainNotFound(r *mcpserver.Request, uris []string, err error) error {
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || g.listsAll(r, uris) {
		return err
	}
	var names []string
	for _, u := range upstreamsFor(r, g.list()) {
		if u.isNotAsked() {
			names = append(names, fmt.Sprintf("%q", u.Key))
		}
	}
	if len(names) == 0 {
		return err
	}
	more := ""
	if n := len(names) - maxNotAsked; n > 0 {
		names, more = names[:maxNotAsked], fmt.Sprintf(" and %d more", n)
	}
	explained := *e
	explained.Message = fmt.Sprintf("%s; upstream %s%s: still starting, call again", e.Message, strings.Join(names, ", "), more)
	return &explained
}
