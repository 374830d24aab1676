package mcpserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var ann = &mcp.Identity{Principal: mcp.Principal{Issuer: "i", Subject: "ann"}}

// sharingRates returns replicas of a server with the tool hold.
func sharingRates(t *testing.T, load mcpserver.LoadOptions, opts ...mcpserver.ToolOption) (replicas []*mcpserver.Server) {
	load.SharedRates = true
	store := new(mcpserver.MemoryStore)
	for range 3 {
		s := newServer(&mcpserver.Options{
			Store: store, Load: &load,
			Keys: []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}},
		})
		s.Tool("hold", "", nothing, opts...)
		t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
		replicas = append(replicas, s)
	}
	time.Sleep(10 * time.Second) // they know of each other
	return replicas
}

// callAll makes 200 calls a second in turn at the replicas for a time, and returns how many were
// admitted.
func callAll(d time.Duration, by *mcp.Identity, replicas []*mcpserver.Server) (admitted int) {
	for at := range int(d / (5 * time.Millisecond)) {
		if r := callBy(by, replicas[at%len(replicas)], fmt.Sprintf("198.51.100.1:%d", 1+at%7), remote); r.StatusCode == 200 {
			admitted++
		}
		time.Sleep(5 * time.Millisecond)
	}
	return admitted
}

func TestReplicasShareTheRateOfAPrincipal(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		replicas := sharingRates(t, mcpserver.LoadOptions{ToolRate: mcp.Rate{PerSecond: 40}})
		for burst := 40; burst >= 0; burst -= 40 {
			if got, want := callAll(10*time.Second, ann, replicas), 400+burst; got < want*9/10 || got > want*11/10 {
				t.Errorf("%d calls of a principal in 10 s, want %d", got, want)
			}
		}
		// Addresses are known to one replica each.
		if got := callAll(10*time.Second, nil, replicas); got < 3*400 {
			t.Errorf("%d calls of an address in 10 s at three replicas, want %d", got, 3*440)
		}
		r := callBy(ann, replicas[0], "198.51.100.1:1", remote)
		for ; r.StatusCode == 200; r = callBy(ann, replicas[0], "198.51.100.1:1", remote) {
		}
		if r.StatusCode != 429 || r.Header.Get("Retry-After") != "1" {
			t.Errorf("refused with %d, Retry-After %q", r.StatusCode, r.Header.Get("Retry-After"))
		}
	})
}

func TestReplicasShareTheRateOfAToolForEachPrincipal(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		replicas := sharingRates(t, mcpserver.LoadOptions{ToolRate: mcp.Rate{PerSecond: -1}}, mcpserver.Rate(40, 40))
		for _, by := range []*mcp.Identity{ann, bob} { // the calls of one take nothing from the other
			for burst := 40; burst >= 0; burst -= 40 {
				if got, want := callAll(10*time.Second, by, replicas), 400+burst; got < want*9/10 || got > want*11/10 {
					t.Errorf("%d calls of the tool by %v in 10 s, want %d", got, by.Principal, want)
				}
			}
		}
		// Addresses are known to one replica each.
		if got := callAll(10*time.Second, nil, replicas); got < 3*400 || got > 3*440 {
			t.Errorf("%d calls of an address in 10 s at three replicas, want %d", got, 3*440)
		}
	})
}

func TestSharedRatesNeedAStoreAndKeys(t *testing.T) {
	t.Parallel()
	for _, o := range []mcpserver.Options{
		{},
		{Store: new(mcpserver.MemoryStore)},
		{Keys: []mcpserver.Key{{ID: "1", Secret: []byte(strings.Repeat("k", 32))}}},
	} {
		o.Load = &mcpserver.LoadOptions{SharedRates: true}
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, "Load.SharedRates without Options.Store and Options.Keys") {
					t.Errorf("New: %s", r)
				}
			}()
			mcpserver.New("s", "1", &o)
		}()
	}
}
