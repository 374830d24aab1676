package catalog

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// capabilityList holds the features that were listed over a connection which declares certain
// capabilities and serves no call.
type capabilityList struct {
	last       *ListRead // or nil
	reading    bool
	features   *callerFeatures // read last, or nil
	generation uint64          // of the shared catalog at that time
	begun      time.Time       // of the last read
	failed     bool            // the last read
}

// ListRead is one read of the features for certain capabilities.
type ListRead struct {
	done     chan struct{} // closed when it has ended
	deadline time.Time     // until which requests wait for it
}

// Wait waits until the read has ended, its deadline, or the end of ctx.
func (r *ListRead) Wait(ctx context.Context) {
	timer := time.NewTimer(time.Until(r.deadline))
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// capabilityRetry is the pause before a failed read of features for certain capabilities is
// repeated.
const capabilityRetry = time.Minute

// capabilityLists are the features of one upstream for callers with certain capabilities.
type capabilityLists struct {
	source *Source

	mu             sync.Mutex
	byCapabilities map[link.Capabilities]*capabilityList // guarded by mu
}

// ReadCapabilityList reads the features for callers with certain capabilities unless they are
// known, also while the upstream starts. The read counts to the owner. It returns a read for which to
// wait, or nil.
func (s *Source) ReadCapabilityList(c link.Capabilities, owner mcpserver.Owner) *ListRead {
	if c = c.ForLists(); s.Settings.Share || c == (link.Capabilities{}) || s.isWithdrawn() {
		return nil
	}
	switch state, _ := s.Pool.SharedConn().State(); state {
	case host.Starting, host.Ready, host.Idle:
		return s.capabilityLists.begin(c, owner, s.Catalog())
	}
	return nil
}

// begin begins a read unless the features are known, or one runs. shared is the catalog of everybody.
func (l *capabilityLists) begin(c link.Capabilities, owner mcpserver.Owner, shared *Catalog) *ListRead {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.byCapabilities[c]
	if list == nil {
		list = new(capabilityList)
		if l.byCapabilities == nil {
			l.byCapabilities = make(map[link.Capabilities]*capabilityList)
		}
		l.byCapabilities[c] = list
	}
	age := time.Since(list.begun)
	switch {
	case list.reading:
		return list.last
	case list.failed && age < capabilityRetry:
		return nil
	case !list.failed && list.last != nil && list.generation == shared.generation && !(shared.ages && age >= max(shared.maxAge, link.MinRefreshInterval)):
		return nil
	}
	if !l.source.Pool.Go(func(ctx context.Context) { l.fill(ctx, list, c, owner) }) {
		return nil
	}
	list.reading, list.begun = true, time.Now()
	list.last = &ListRead{make(chan struct{}), list.begun.Add(l.source.Wait)}
	return list.last
}

func (l *capabilityLists) fill(ctx context.Context, list *capabilityList, c link.Capabilities, owner mcpserver.Owner) {
	l.mu.Lock()
	before := list.features
	l.mu.Unlock()
	now, generation, err := l.source.readCapabilityFeatures(ctx, c, owner, before)
	if err != nil {
		l.source.Log.Warn("cannot list the features for clients with more capabilities", "error", link.RecordedText(err))
	}
	l.mu.Lock()
	if err == nil {
		list.features, list.generation = now, generation
	}
	list.reading, list.failed = false, err != nil
	close(list.last.done)
	l.mu.Unlock()
	if err == nil {
		before.changedTo(now).notifyClients(l.source.set.server, c)
	}
}

// of returns the features for callers with certain capabilities, or nil.
func (l *capabilityLists) of(c link.Capabilities) *callerFeatures {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.byCapabilities[c.ForLists()]; list != nil {
		return list.features
	}
	return nil
}

// all returns the features for callers with each set of capabilities.
func (l *capabilityLists) all() map[link.Capabilities]*callerFeatures {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[link.Capabilities]*callerFeatures, len(l.byCapabilities))
	for c, list := range l.byCapabilities {
		all[c] = list.features
	}
	return all
}

// refilter filters the features again, after an approval.
func (l *capabilityLists) refilter() {
	for c, before := range l.all() {
		if now := l.source.refiltered(before, nil); now != nil && l.replace(c, before, now) {
			before.changedTo(now).notifyClients(l.source.set.server, c)
		}
	}
}

// replace replaces features unless a read has done so, and filtered its own features.
func (l *capabilityLists) replace(c link.Capabilities, before, now *callerFeatures) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.byCapabilities[c]
	if list.features != before {
		return false
	}
	list.features = now
	return true
}

// lists reports whether two catalogs list the same features. Resources do not count: in many
// servers they change all the time, and each read for capabilities may start a process.
func (c *Catalog) lists(other *Catalog) bool {
	return c == other || equalDefs(c.tools, other.tools) && equalDefs(c.prompts, other.prompts) && equalDefs(c.templates, other.templates)
}

// readCapabilityFeatures connects to the upstream as a client with the capabilities, reads its
// features, and closes the connection. It also returns the generation of the shared catalog. It waits
// for its turn before it connects: a client of the stateless era can declare all combinations of
// capabilities at once, and each connection to a program starts it.
func (s *Source) readCapabilityFeatures(ctx context.Context, c link.Capabilities, owner mcpserver.Owner, before *callerFeatures) (now *callerFeatures, generation uint64, err error) {
	err = s.reads.run(ctx, owner, nil, func(ctx context.Context) error {
		conn := link.New(ctx, link.Params{Kind: link.Own, Log: s.Log}) // asks nobody
		defer conn.Close()
		limited, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		client, err := s.Connect(limited, c, conn)
		if err != nil {
			return err
		}
		defer conn.CloseClient(client)
		known, listed, err := s.listForCapabilities(ctx, client)
		if err == nil {
			generation = known.generation
			now, err = s.newCallerFeatures(ctx, listed, known, before, host.Listing{Capabilities: c.Names()}, nil)
		}
		return err
	})
	return now, generation, err
}

// listForCapabilities lists the features of the upstream. It returns them with the shared catalog, for
// which it waits. A list that could be read over the shared connection alone is an error.
func (s *Source) listForCapabilities(ctx context.Context, client *mcpclient.Client) (known, listed *Catalog, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if listed, err = readCatalog(ctx, client, new(Catalog)); err != nil {
		return nil, nil, err
	}
	s.WaitForStart(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.read {
		return nil, nil, errors.New("the features of the upstream are not known yet")
	}
	if len(listed.omitted) > len(s.catalog.omitted) {
		return nil, nil, errors.New(strings.Join(listed.omitted, "; "))
	}
	return s.catalog, listed, nil
}
