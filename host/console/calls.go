package console

import (
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
)

// keptDurations is of how many of its last calls the durations of a server are known.
const keptDurations = 256

// CallStats are the calls of one server since the host has started.
type CallStats struct {
	Calls, Failed, Denied int
	// Median and P95 are of the last calls that were sent, at most 256.
	Median, P95 time.Duration
	// Last is when a call ended last; zero without a call.
	Last time.Time
}

// Calls counts calls by server. The zero value is ready to use. All methods are safe for
// concurrent use.
type Calls struct {
	mu       sync.Mutex
	byServer map[string]*serverCalls // guarded by mu
}

type serverCalls struct {
	CallStats
	durations [keptDurations]time.Duration
	measured  int // of all that were sent
}

// Record counts a decision if it is the outcome of a call, a read or a prompt of a client.
func (c *Calls) Record(d *host.Decision) {
	if d.Outcome == host.OutcomeBegun || d.Action != host.ActionCall && d.Action != host.ActionRead && d.Action != host.ActionGet {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byServer[d.Upstream]
	if s == nil {
		if c.byServer == nil {
			c.byServer = make(map[string]*serverCalls)
		}
		s = new(serverCalls)
		c.byServer[d.Upstream] = s
	}
	s.Calls++
	s.Last = d.Time
	switch d.Outcome {
	case host.OutcomeDenied, host.OutcomeRefused, host.OutcomeWithheld:
		s.Denied++
		return // it was not sent
	case host.OutcomeFailed:
		s.Failed++
	}
	s.durations[s.measured%keptDurations] = d.Duration
	s.measured++
}

// Of returns the calls of a server.
func (c *Calls) Of(server string) CallStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.byServer[server]
	if s == nil {
		return CallStats{}
	}
	stats := s.CallStats
	if n := min(s.measured, keptDurations); n > 0 {
		sorted := slices.Sorted(slices.Values(s.durations[:n]))
		stats.Median, stats.P95 = sorted[(n-1)/2], sorted[(n*95+99)/100-1]
	}
	return stats
}

// Keep forgets the servers that are not named.
func (c *Calls) Keep(servers []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.byServer {
		if !slices.Contains(servers, name) {
			delete(c.byServer, name)
		}
	}
}
