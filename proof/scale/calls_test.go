//go:build linux

package scale_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/internal/testengine"
)

// kind is a kind of call whose CPU time is measured.
type kind struct {
	name     string
	stays    bool // a session is used at the replica that has opened it
	sessions int  // 0 for stateless calls; if negative, each call has one, which another replica has opened
}

var kinds = []kind{
	{name: "stateless (2026-07-28), any replica"},
	{name: "session (2025-11-25), its own replica", stays: true, sessions: 64},
	{name: "session, any replica", sessions: 64},
	{name: "session, its first call at another replica", sessions: -1},
}

// cost is what one call costs.
type cost struct {
	cpu    float64 // microseconds
	calls  float64 // of the engine
	engine testengine.Counts
}

// stray is how many calls of the engine for each call may come from elsewhere in every round: replicas
// finish work of sessions and find out who is alive while calls are measured. A call that causes one of its
// own has at least one in each round.
const stray = 0.1

// run makes n calls at some of the replicas, which it picks at random, and returns the cost of one.
func (c *cluster) run(k kind, replicas []*replica, n int) cost {
	c.Helper()
	type session struct {
		at     *replica
		header []string
	}
	count := k.sessions
	if count < 0 {
		n = max(n/4, 1)
		count = n
	}
	sessions := make([]session, count)
	err := concurrently(len(replicas), count, func(i int) (err error) {
		s := session{at: replicas[i%len(replicas)]}
		s.header, err = s.at.open(c.Context())
		sessions[i] = s
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	cpu, calls := c.used(replicas)
	err = concurrently(len(replicas), n, func(i int) error {
		at, message, header := replicas[rand.N(len(replicas))], stateless, statelessHeader
		if count > 0 {
			s := sessions[i%count]
			message, header = echo, s.header
			if k.stays {
				at = s.at
			} else if k.sessions < 0 {
				at = replicas[(i+1)%len(replicas)]
			}
		}
		_, err := at.succeed(c.Context(), message, header...)
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	cpuAfter, callsAfter := c.used(replicas)
	engine := callsAfter.Since(calls)
	return cost{float64(cpuAfter-cpu) / 1000 / float64(n), float64(engine.Calls()) / float64(n), engine}
}

// used returns the nanoseconds and the calls that some replicas have needed up to now.
func (c *cluster) used(replicas []*replica) (cpu int64, calls testengine.Counts) {
	c.Helper()
	calls = make(testengine.Counts)
	for _, r := range replicas {
		u := c.usage(r, "")
		cpu += u.CPU
		calls.Add(u.Calls)
	}
	return cpu, calls
}

// measureCalls compares the CPU time of calls with that at one server without an engine. All are
// measured in turn in each round, so that they have the same load beside them.
func measureCalls(t *testing.T, of size, p *page) {
	engines := append([]string{""}, of.engines...)
	clusters := make(map[string]*cluster)
	for _, name := range engines {
		clusters[name] = startCluster(t, name, 4)
	}
	type cell struct {
		kind, engine string
		replicas     int
	}
	cpu, shares := make(map[cell][]float64), make(map[cell][]float64)
	calls, least := make(map[cell]float64), make(map[cell]cost)
	for round := range of.rounds + 1 { // the first one is to warm up
		for _, k := range kinds {
			var single float64
			for _, name := range engines {
				for _, n := range []int{1, 2, 4} {
					got, at := clusters[name].run(k, clusters[name].replicas[:n], of.calls), cell{k.name, name, n}
					if name == "" && n == 1 {
						single = got.cpu
					}
					if round > 0 {
						cpu[at], shares[at] = append(cpu[at], got.cpu), append(shares[at], got.cpu/single)
					}
					calls[at] = max(calls[at], got.calls)
					if before, measured := least[at]; !measured || got.calls < before.calls {
						least[at] = got
					}
				}
			}
		}
	}
	rows := [][]string{{"call", "engine", "1 replica", "2 replicas", "4 replicas", "calls of the engine for each call, at most"}}
	for _, k := range kinds {
		for _, name := range engines {
			row, most := []string{k.name, cmp.Or(name, "none")}, 0.0
			for _, n := range []int{1, 2, 4} {
				at := cell{k.name, name, n}
				share := fmt.Sprintf("%.2f", median(shares[at]))
				if name == "" && n == 1 {
					share = fmt.Sprintf("1 (%.0f µs)", median(cpu[at]))
				}
				row, most = append(row, share), max(most, calls[at])
				if k.sessions == 0 && least[at].calls > stray {
					t.Errorf("%s, %s, replicas: %d: got %.3f calls of the engine for each call, want none: %v", k.name, name, n, least[at].calls, least[at].engine)
				}
			}
			rows = append(rows, append(row, fmt.Sprintf("%.3f", most)))
			if most > 2 {
				t.Errorf("%s, %s: got %.3f calls of the engine for each call", k.name, name, most)
			}
		}
	}
	p.add("CPU time of a call", rows...)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
