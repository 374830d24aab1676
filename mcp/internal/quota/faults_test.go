package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestRateOfAKilledReplicaGoesToTheOthers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		replicas := newReplicas(t, new(engine), 3)
		k := key(mcp.Rate{PerSecond: 100})
		call(t, 20*time.Second, k, demands(300, .34, .33, .33), replicas)
		for range 2 { // the balancer sends the calls to the others
			if got := call(t, 10*time.Second, k, demands(300, 0, .5, .5), replicas); !near(got, 1000) {
				t.Errorf("admitted %d calls in 10 s after a replica was killed, want 1000", got)
			}
		}
	})
}

func TestReplicaThatJoinsTakesItsPartOfTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := new(engine)
		replicas := newReplicas(t, e, 2)
		k := key(mcp.Rate{PerSecond: 100})
		call(t, 20*time.Second, k, demands(300, .5, .5), replicas)
		replicas = append(replicas, newReplica(t, e))
		synctest.Wait()
		for range 2 {
			if got := call(t, 10*time.Second, k, demands(300, .34, .33, .33), replicas); !near(got, 1000) {
				t.Errorf("admitted %d calls in 10 s, want 1000", got)
			}
		}
	})
}

func TestCallsDoNotWaitForAStoreThatFails(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	for name, silent := range map[string]bool{"down": false, "silent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := new(engine)
				replicas := newReplicas(t, e, 3)
				k := key(mcp.Rate{PerSecond: 100})
				skewed, even := demands(300, .9, .05, .05), demands(300, .34, .33, .33)
				call(t, 10*time.Second, k, skewed, replicas)
				e.set(!silent, silent)
				call(t, 6*time.Second, k, skewed, replicas)
				for range 3 { // each has its part
					if got := call(t, 10*time.Second, k, even, replicas); !near(got, 1000) {
						t.Errorf("admitted %d calls in 10 s without the store, want 1000", got)
					}
				}
				e.set(false, false)
				call(t, 6*time.Second, k, skewed, replicas)
				if got := call(t, 10*time.Second, k, skewed, replicas); !near(got, 1000) {
					t.Errorf("admitted %d calls in 10 s when the store was back, want 1000", got)
				}
				checkOperations(t, replicas)
			})
		})
	}
}

// The rate is that of one process as long as the Store has never worked.
func TestReplicaThatHasNeverReachedTheStoreHasTheWholeRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := new(engine)
		e.set(true, false)
		r := newReplica(t, e)
		if got := call(t, 10*time.Second, key(mcp.Rate{PerSecond: 100}), demands(300, 1), []replica{r}); !near(got, 1100) {
			t.Errorf("admitted %d calls in 10 s, want 1100", got)
		}
	})
}

func TestClocksOfReplicasMayDiffer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		replicas := newReplicas(t, new(engine), 3)
		for i, skew := range []time.Duration{-2 * time.Second, 0, 2 * time.Second} {
			replicas[i].SetClock(func() time.Time { return time.Now().Add(skew) })
		}
		burst := 100.
		for range 3 {
			if got := call(t, 10*time.Second, key(mcp.Rate{PerSecond: 100}), demands(300, .9, .05, .05), replicas); !near(got, 1000+burst) {
				t.Errorf("admitted %d calls in 10 s, want %v", got, 1000+burst)
			}
			burst = 0
		}
		checkOperations(t, replicas)
	})
}
