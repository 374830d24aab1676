package quota_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestReplicasKeepARateTogether(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	demand := map[string][]float64{"even": {1. / 3, 1. / 3, 1. / 3}, "skewed": {.9, .05, .05}, "at one": {0, 0, 1}}
	for _, rate := range []float64{20, 50, 200, 1000} {
		for name, parts := range demand {
			for _, times := range []float64{.5, 1.5, 4} {
				t.Run(fmt.Sprintf("%v %s x%v", rate, name, times), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						replicas := newReplicas(t, &engine{latency: 50 * time.Millisecond}, 3)
						k := key(mcp.Rate{PerSecond: rate})
						perSecond := demands(rate*times, parts...)
						// A random number of calls differs from its mean by some times its root.
						burst, noise := rate, 4*math.Sqrt(10*rate*times)
						for range 3 {
							got := call(t, 10*time.Second, k, perSecond, replicas)
							want, tolerance := min(10*rate+burst, 10*rate*times), noise*max(0, 2-times)
							// The burst is divided evenly at first, so that uneven demand does not use all of it.
							low, high := want-burst-tolerance, want+tolerance
							if !near(got, want) && (float64(got) < low || float64(got) > high) {
								t.Errorf("admitted %d calls in 10 s, want %v", got, want)
							}
							burst = 0
						}
						checkOperations(t, replicas)
					})
				})
			}
		}
	}
}

// checkOperations checks that no two operations of one owner and replica are within a second.
func checkOperations(t *testing.T, replicas []replica) {
	t.Helper()
	for i, r := range replicas {
		for _, times := range r.store.owners(r.members) {
			for n := range times[1:] {
				if d := times[n+1].Sub(times[n]); d < time.Second {
					t.Fatalf("replica %d: two operations of one owner within %v", i, d)
				}
			}
		}
	}
}

func TestOwnersWithoutCallsCostNoOperation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replicas := newReplicas(t, new(engine), 2)
		r := replicas[0]
		k := key(mcp.Rate{PerSecond: 20})
		for _, calls := range []time.Duration{time.Millisecond, 5 * time.Second, 4100 * time.Millisecond} {
			call(t, calls, k, demands(1000, 1, 0), replicas)
			time.Sleep(2 * time.Second)
			count := func() (n int) {
				for _, times := range r.store.owners(r.members) {
					n += len(times)
				}
				return n
			}
			before := count()
			time.Sleep(time.Hour)
			if after := count(); before == 0 || after != before {
				t.Errorf("calls for %v: %d operations until 2 s after the last call, %d an hour later", calls, before, after)
			}
		}
		if others := replicas[1].store.owners(r.members); len(others) != 0 {
			t.Errorf("the replica without calls has made operations of %d owners", len(others))
		}
	})
}

func TestReplicasCountThemselvesSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, new(engine), 3)[0]
		time.Sleep(time.Hour)
		if n := len(r.store.owners("")[r.members]); n == 0 || n > 1500 {
			t.Errorf("%d operations in an hour, want 2 in 5 s", n)
		}
	})
}

func TestTokenIsThereAfterTheTimeOfTheRefusal(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	for _, rate := range []mcp.Rate{{PerSecond: .1, Burst: 1}, {PerSecond: 1, Burst: 1}, {PerSecond: 20, Burst: 5}, {PerSecond: 500}} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newReplicas(t, new(engine), 3)[0]
				k := key(rate)
				for admitted := 0; admitted < 100; {
					wait, ok := r.Take(k)
					if ok {
						admitted++
						continue
					}
					if wait <= 0 || wait > 30*time.Second {
						t.Fatalf("after %d: wait %v", admitted, wait)
					}
					time.Sleep(wait + time.Microsecond)
					if again, ok := r.Take(k); !ok {
						t.Fatalf("after %d: refused again for %v after %v", admitted, again, wait)
					}
					admitted++
				}
			})
		})
	}
}

func TestRatesOwnersAndServersCountApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, new(engine), 1)[0]
		k := key(mcp.Rate{PerSecond: 1, Burst: 1})
		other := k
		other.Name = "rate.completion"
		bob := k
		bob.Principal = principal("bob")
		if _, ok := r.Take(k); !ok {
			t.Error("the first call is refused")
		}
		if _, ok := r.Take(k); ok {
			t.Error("the second call is admitted")
		}
		if _, ok := r.Take(other); !ok {
			t.Error("the first call of another rate is refused")
		}
		if _, ok := r.Take(bob); !ok {
			t.Error("the first call of another owner is refused")
		}
	})
}

func TestNamesOfKeysDoNotTellTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replicas := newReplicas(t, new(engine), 2)
		call(t, 10*time.Second, key(mcp.Rate{PerSecond: 1e9, Burst: 1e9}), demands(1000, .5, .5), replicas)
		for _, name := range replicas[0].store.keys() {
			if strings.Contains(name, "ann") || strings.Contains(name, "issuer") || strings.Contains(name, "tools") || len(name) > 256 {
				t.Errorf("key %q", name)
			}
		}
	})
}
