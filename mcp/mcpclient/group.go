package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
)

// Group is a set of clients, each of another server, which lists the features of all servers
// and routes each request to the server that has the feature. The zero Group has no servers.
//
//	var g mcpclient.Group
//	defer g.Close()
//	err := g.Connect(ctx,
//		mcpclient.Member{Name: "files", Target: mcpclient.Command("file-server")},
//		mcpclient.Member{Name: "web", Target: mcpclient.URL("https://mcp.example.com/mcp")},
//	)
//	if err != nil {
//		log.Print(err) // the servers that failed; the others work
//	}
//	tools, err := g.Tools(ctx)
//	…
//	text, err := g.Call[string](ctx, "files__read", args)
//
// The names of tools and prompts are those of mcp.QualifiedName: the name of the server, two
// underscores, and the name at the server, valid for every model API. A name that had to be
// truncated is unique, too; of two names of one server that are truncated alike, the first in
// alphabetic order is listed and the other left out.
//
// URIs of resources are not changed. A URI leads to the server that lists it; of several, to
// the one that was connected first, and the others are left out of Resources. A URI that no
// server lists leads to the server whose result last named it, then to the first server with
// a resource template that matches.
//
// A server that fails does not fail the requests to others: methods that ask all servers
// return what the others have, and a *GroupError. A server that did not connect can be
// connected again by Connect. All methods are safe for concurrent use.
type Group struct {
	// OnToolsChanged, OnPromptsChanged and OnResourcesChanged are called when the list of a
	// server of the group may have changed, so that the list of the group has to be read again.
	// They are called as the handlers of these names in Options are, after that of the server,
	// for several servers at once. Connect and Remove do not call them. Set them before
	// Connect, and do not change them later.
	OnToolsChanged     func(context.Context, *Group)
	OnPromptsChanged   func(context.Context, *Group)
	OnResourcesChanged func(context.Context, *Group)

	mu      sync.Mutex
	closed  bool      // guarded by mu
	members []*member // guarded by mu: in the order in which they were connected
	named   namedURIs
}

// Member is a server of a Group.
type Member struct {
	// Name identifies the server in the group, see mcp.CheckServerName. It is the prefix of
	// the names of its tools and prompts.
	Name string
	// Target says how to reach the server.
	Target Target
	// Options are the options of its client, or nil. Handlers of changes, such as
	// OnToolsChanged, get the client of this server; those of the Group get the group.
	Options *Options
}

// member is a connected server.
type member struct {
	name   string
	client *Client
	index  groupIndex
}

// GroupError reports the servers of a Group that have failed.
type GroupError struct {
	// Servers holds the error of each by the name of the server.
	Servers map[string]error
}

// Error lists the errors, ordered by server, one per line.
func (e *GroupError) Error() string {
	lines := make([]string, 0, len(e.Servers))
	for _, name := range slices.Sorted(maps.Keys(e.Servers)) {
		lines = append(lines, fmt.Sprintf("server %q: %v", name, e.Servers[name]))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors, ordered by server.
func (e *GroupError) Unwrap() []error {
	errs := make([]error, 0, len(e.Servers))
	for _, name := range slices.Sorted(maps.Keys(e.Servers)) {
		errs = append(errs, e.Servers[name])
	}
	return errs
}

// groupErrorOf returns a *GroupError with the errors that are not nil, or nil.
func groupErrorOf(names []string, errs []error) error {
	failed := make(map[string]error)
	for i, err := range errs {
		if err != nil {
			failed[names[i]] = err
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &GroupError{failed}
}

// Connect connects to servers, to all at the same time, and adds those that it reaches to the
// group. The error is a *GroupError with the others: their names are invalid, in the group
// already or given twice, or Connect of this package failed.
func (g *Group) Connect(ctx context.Context, members ...Member) error {
	names, errs := make([]string, len(members)), make([]error, len(members))
	connected := make([]*member, len(members))
	seen := make(map[string]bool)
	var connecting sync.WaitGroup
	for i, m := range members {
		names[i] = m.Name
		switch {
		case seen[m.Name]:
			errs[i] = errors.New("connect: found the name twice, want each server once")
			continue
		case g.Client(m.Name) != nil:
			errs[i] = errors.New("connect: the group has a server of this name")
			continue
		}
		seen[m.Name] = true
		if errs[i] = mcp.CheckServerName(m.Name); errs[i] != nil {
			continue
		}
		connecting.Go(func() {
			c, err := Connect(ctx, m.Target, g.optionsOf(m.Options))
			if errs[i] = err; err == nil {
				connected[i] = &member{name: m.Name, client: c}
			}
		})
	}
	connecting.Wait()
	for i, m := range connected {
		if m == nil {
			continue
		}
		if errs[i] = g.add(m); errs[i] != nil {
			_ = m.client.Close()
		}
	}
	return groupErrorOf(names, errs)
}

// optionsOf returns the options of a server, with handlers that also call those of the group.
func (g *Group) optionsOf(own *Options) *Options {
	var o Options
	if own != nil {
		o = *own
	}
	o.OnToolsChanged = g.afterOwn(o.OnToolsChanged, g.OnToolsChanged)
	o.OnPromptsChanged = g.afterOwn(o.OnPromptsChanged, g.OnPromptsChanged)
	o.OnResourcesChanged = g.afterOwn(o.OnResourcesChanged, g.OnResourcesChanged)
	return &o
}

// afterOwn returns a handler that calls the server's own handler and then that of the group, or
// nil if both are nil.
func (g *Group) afterOwn(own func(context.Context, *Client), group func(context.Context, *Group)) func(context.Context, *Client) {
	if group == nil {
		return own
	}
	return func(ctx context.Context, c *Client) {
		if own != nil {
			own(ctx, c)
		}
		group(ctx, g)
	}
}

// add adds a connected server.
func (g *Group) add(m *member) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case slices.ContainsFunc(g.members, func(other *member) bool { return other.name == m.name }):
		return errors.New("connect: the group has a server of this name")
	}
	g.members = append(g.members, m)
	return nil
}

// Servers returns the names of the connected servers, in the order in which they were
// connected.
func (g *Group) Servers() []string {
	var names []string
	for _, m := range g.all() {
		names = append(names, m.name)
	}
	return names
}

// Client returns the client of a server, or nil if the group has no server of this name. Do
// not close it; use Remove.
func (g *Group) Client(server string) *Client {
	if m := g.member(server); m != nil {
		return m.client
	}
	return nil
}

func (g *Group) all() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.members)
}

func (g *Group) member(server string) *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.members, func(m *member) bool { return m.name == server }); i >= 0 {
		return g.members[i]
	}
	return nil
}

// Remove closes the client of a server and removes the server from the group. It does nothing
// if the group has no server of this name.
func (g *Group) Remove(server string) error {
	g.mu.Lock()
	i := slices.IndexFunc(g.members, func(m *member) bool { return m.name == server })
	if i < 0 {
		g.mu.Unlock()
		return nil
	}
	m := g.members[i]
	g.members = slices.Delete(slices.Clone(g.members), i, i+1)
	g.mu.Unlock()
	return m.client.Close()
}

// Close closes all clients at the same time and waits for them, see Client.Close. Later
// requests fail. The error is a *GroupError.
func (g *Group) Close() error {
	g.mu.Lock()
	g.closed = true
	members := g.members
	g.members = nil
	g.mu.Unlock()
	return forEach(members, func(m *member) error { return m.client.Close() })
}

// forEach runs f for all servers at the same time.
func forEach(members []*member, f func(*member) error) error {
	names, errs := make([]string, len(members)), make([]error, len(members))
	var running sync.WaitGroup
	for i, m := range members {
		names[i] = m.name
		running.Go(func() { errs[i] = f(m) })
	}
	running.Wait()
	return groupErrorOf(names, errs)
}
