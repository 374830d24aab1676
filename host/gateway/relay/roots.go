package relay

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// ownRoots are the directories of the configuration that the upstream gets as roots.
type ownRoots struct {
	admit   func(context.Context, []string) []string
	paths   atomic.Pointer[[]string]
	version atomic.Int64 // of paths
}

// list returns those that exist and may be given now. It returns none if none are configured.
func (o *ownRoots) list(ctx context.Context) ([]mcp.Root, error) {
	paths := o.configured()
	if len(paths) == 0 {
		return nil, nil
	}
	return mcpclient.Directories(o.admit(ctx, paths)...)(ctx)
}

func (o *ownRoots) configured() []string {
	if paths := o.paths.Load(); paths != nil {
		return *paths
	}
	return nil
}

// HasRoots reports whether the configuration names roots for the upstream. It then declares the capability
// on each connection, whatever the caller can do.
func (rl *Relay) HasRoots() bool { return len(rl.roots.configured()) > 0 }

// SetRoots replaces the roots of the configuration, and notifies the upstream on all connections. It reports false
// if they are the same.
func (rl *Relay) SetRoots(paths []string) bool {
	if slices.Equal(rl.roots.configured(), paths) {
		return false
	}
	rl.roots.paths.Store(&paths)
	rl.roots.version.Add(1)
	connections := []*link.Conn{rl.Pool.SharedConn()}
	for _, conns := range rl.Pool.All() {
		connections = append(connections, conns...)
	}
	for _, conn := range connections {
		rl.Pool.Go(func(ctx context.Context) { rl.notifyRoots(ctx, conn) })
	}
	return true
}

// RootsVersion is another number after each change of the roots of the configuration.
func (rl *Relay) RootsVersion() int64 { return rl.roots.version.Load() }

// withOwnRoots returns the roots of a client and those of the configuration, each once.
func (rl *Relay) withOwnRoots(ctx context.Context, roots []mcp.Root) ([]mcp.Root, error) {
	own, err := rl.roots.list(ctx)
	if err != nil {
		return nil, err
	}
	place := func(r mcp.Root) string { return strings.TrimRight(r.URI, "/") }
	all := slices.Clip(roots)
	for _, root := range own {
		if !slices.ContainsFunc(all, func(r mcp.Root) bool { return place(r) == place(root) }) {
			all = append(all, root)
		}
	}
	return all, nil
}

// declareRoots makes a client declare roots, if the upstream gets any: those of the caller, those of the
// configuration, or both.
func (rl *Relay) declareRoots(o *mcpclient.Options, caps link.Capabilities, conn func() *link.Conn) {
	own := rl.HasRoots()
	if !caps.Roots && !own {
		return
	}
	o.Capabilities.Roots = &mcp.RootsCapability{ListChanged: caps.RootChanges || own}
	o.Ask.RootsInterval = -1 // the roots may be on another machine
	if !caps.Roots {
		o.Roots = rl.roots.list
		return
	}
	askRoots := askCallerFunc[mcp.EmptyParams, mcp.ListRootsResult](rl, conn, mcp.MethodRootsList)
	known := new(knownRoots)
	o.Roots = func(ctx context.Context) ([]mcp.Root, error) {
		answer, err := askRoots(ctx, new(mcp.EmptyParams))
		roots := answer.Roots
		if conn().Session != nil {
			roots, err = known.update(roots, err)
		}
		if err != nil {
			if !rl.HasRoots() {
				return nil, err
			}
			roots = nil
		}
		return rl.withOwnRoots(ctx, roots)
	}
}

// takesRoots decides about a question for roots of an upstream of the stateless era: the caller is asked if
// its roots are wanted, and the roots of the configuration are added to the answer later.
func (rl *Relay) takesRoots(c *call, method string) (own, asksCaller bool) {
	if method != mcp.MethodRootsList || !rl.HasRoots() {
		return false, true
	}
	return true, rl.questions.relayed(link.CapabilitiesOf(c.Request)).Roots
}

// answers returns the answers for the upstream of a request, with the roots of the configuration in those to its
// questions for roots.
func (rl *Relay) answers(ctx context.Context, q *Request) (map[string]jsontext.Value, error) {
	answers := q.upstreamAnswers()
	for _, key := range q.State.Roots {
		var given mcp.ListRootsResult
		if raw, ok := answers[key]; ok {
			if err := json.Unmarshal(raw, &given); err != nil {
				return nil, fmt.Errorf("the answer of the client about its roots: %w", err)
			}
		}
		roots, err := rl.withOwnRoots(ctx, given.Roots)
		if err != nil {
			return nil, err
		}
		given.Roots = append([]mcp.Root{}, roots...)
		if answers[key], err = json.Marshal(given); err != nil {
			return nil, err
		}
	}
	return answers, nil
}
