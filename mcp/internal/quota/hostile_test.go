package quota_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/quota"
)

// An owner that goes on to another replica as soon as one refuses gets one burst more than the
// rate allows, once.
func TestGoingFromReplicaToReplicaGivesNoHigherRate(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	for _, stay := range []time.Duration{0, 100 * time.Millisecond, time.Second, 3 * time.Second, 6 * time.Second} {
		for _, burst := range []int{20, 100, 500} {
			t.Run(fmt.Sprint(stay, burst), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					replicas := newReplicas(t, new(engine), 5)
					k := key(mcp.Rate{PerSecond: 100, Burst: burst})
					begin, admitted := time.Now(), 0
					for at := 0; time.Since(begin) < 2*time.Minute; at++ {
						r := replicas[at%len(replicas)]
						for until := time.Now().Add(stay); ; {
							if _, ok := r.Take(k); ok {
								admitted++
								continue
							}
							time.Sleep(time.Millisecond)
							if time.Now().After(until) {
								break
							}
						}
					}
					if most := 1.1 * float64(120*100+2*burst); float64(admitted) > most {
						t.Errorf("admitted %d calls in 2 minutes, want at most %v", admitted, most)
					}
					checkOperations(t, replicas)
				})
			})
		}
	}
}

func TestManyOwnersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReplicas(t, new(engine), 1)[0]
		for i := range quota.MaxEntries + 5000 {
			r.Take(quota.Key{Name: "rate.tools", Principal: principal(fmt.Sprint(i)), Rate: mcp.Rate{PerSecond: .001, Burst: 2}})
		}
		time.Sleep(10 * time.Second)
		if n := r.Len(); n > quota.MaxEntries {
			t.Errorf("%d owners in the table", n)
		}
		owners := r.store.owners(r.members)
		if n := len(owners); n == 0 || n > quota.MaxSyncing {
			t.Errorf("%d owners have used the Store, want at most %d", n, quota.MaxSyncing)
		}
	})
}

// Others who can write to the engine cannot make a replica fail.
func TestRecordsOfAnotherFormAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := new(engine)
		replicas := newReplicas(t, e, 1)
		r := replicas[0]
		k := key(mcp.Rate{PerSecond: 100})
		call(t, time.Second, k, demands(300, 1), replicas)
		prefix := r.Prefix(k)
		for _, text := range []string{"", "a", "a.1.2.3", "a.1.2.3.4.5", "a.x.2.3.4", "a.1.-2.3.4", "a.1.2.-3.4", "a.9.9223372036854775807.9223372036854775807.1", "..."} {
			if err := e.Put(t.Context(), prefix+text, nil, 0); err != nil {
				t.Fatal(err)
			}
		}
		if got := call(t, 10*time.Second, k, demands(300, 1), replicas); !near(got, 1000) {
			t.Errorf("admitted %d calls in 10 s, want 1000", got)
		}
	})
}

// An owner that waits between two replicas until no record is left gets no burst more.
func TestPausesBetweenReplicasGiveNoHigherRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		replicas := newReplicas(t, new(engine), 4)
		k := key(mcp.Rate{PerSecond: 100, Burst: 1100})
		begin, admitted := time.Now(), 0
		for at := 0; time.Since(begin) < 3*time.Minute; at++ {
			for until := time.Now().Add(2500 * time.Millisecond); time.Now().Before(until); {
				if _, ok := replicas[at%len(replicas)].Take(k); ok {
					admitted++
				} else {
					time.Sleep(time.Millisecond)
				}
			}
			time.Sleep(5 * time.Second)
		}
		if most := 180*100 + 1100; admitted > most {
			t.Errorf("admitted %d calls in 3 minutes, want at most %d", admitted, most)
		}
	})
}
