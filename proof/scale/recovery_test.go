//go:build linux

package scale_test

import (
	"net/http"
	"slices"
	"testing"
	"time"
)

// victim is the replica that is killed. The others go on.
const victim = 2

// recoveries are what clients of a killed replica wait for.
var recoveries = []struct {
	name   string
	before func(s *opened)
	after  func(s *opened) // returns when the client has it
}{
	{"another replica answers a call of the session", nil, func(s *opened) { s.send(0, echo) }},
	{
		"a client that opens a GET stream again is notified of what it may have missed",
		func(s *opened) { s.send(victim, subscribe); s.get(victim) },
		func(s *opened) { s.get(0); s.call.await(s, "resources/updated") },
	},
	{
		"a client that resumes the stream of a running call learns that it may have run",
		func(s *opened) {
			s.call = s.replicas[victim].stream(s, http.MethodPost, callOf("wait"), s.header...)
			s.call.await(s, "notifications/progress")
		},
		func(s *opened) {
			again := s.replicas[0].stream(s, http.MethodGet, "", append(slices.Clip(s.header), "Last-Event-ID", s.call.last)...)
			again.await(s, "may have run")
		},
	},
}

// measureRecovery kills replicas with SIGKILL.
func measureRecovery(t *testing.T, of size, p *page) {
	longest := make([][]time.Duration, len(of.engines)) // of all kills, by engine and recovery
	t.Run("engines", func(t *testing.T) {
		for i, name := range of.engines {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := startCluster(t, name, victim)
				for range recoveries {
					longest[i] = append(longest[i], 0)
				}
				for range of.kills {
					for r := range recoveries {
						longest[i][r] = max(longest[i][r], c.recovery(t, name, r))
					}
				}
			})
		}
	})
	rows := [][]string{append([]string{"from kill -9 until …, the longest of " + plural(of.kills, "kill")}, of.engines...)}
	for r, recovery := range recoveries {
		row := []string{recovery.name}
		for i := range of.engines {
			row = append(row, seconds(longest[i][r]))
		}
		rows = append(rows, row)
	}
	p.add("Recovery", rows...)
}

// recovery returns the time between the end of a replica and what its client waits for.
func (c *cluster) recovery(t *testing.T, engine string, r int) (took time.Duration) {
	t.Run(recoveries[r].name, func(t *testing.T) {
		killed := startReplica(t, engine, c.engine.URL)
		s := &opened{cluster: &cluster{TB: t, engine: c.engine, replicas: append(slices.Clip(c.replicas), killed)}}
		var err error
		if s.header, err = killed.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if before := recoveries[r].before; before != nil {
			before(s)
		}
		start := time.Now()
		killed.Kill()
		recoveries[r].after(s)
		took = time.Since(start)
	})
	return took
}
