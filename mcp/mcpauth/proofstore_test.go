package mcpauth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestReplicasAcceptAProofOnceTogether(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-192")
	acceptOnce(t, new(mcpserver.MemoryStore))
}

// acceptOnce sends each proof to ten replicas at the same time.
func acceptOnce(t *testing.T, shared mcp.Store) {
	t.Helper()
	holder := newProver(t)
	var replicas []*protected
	for range 10 {
		replicas = append(replicas, newProtected(t, static(holder), mcpauth.ProofStore(shared)))
	}
	for range 20 {
		proof := holder.proof("x", nil, nil)
		var accepted, refused atomic.Int32
		start := make(chan struct{})
		var work sync.WaitGroup
		for _, p := range replicas {
			work.Go(func() {
				<-start
				switch w := p.do(proven("x", proof)); w.Code {
				case http.StatusOK:
					accepted.Add(1)
				case http.StatusUnauthorized:
					refused.Add(1)
				default:
					t.Errorf("got status %d, %s", w.Code, w.Body)
				}
			})
		}
		close(start)
		work.Wait()
		if accepted.Load() != 1 || refused.Load() != 9 {
			t.Fatalf("%d replicas have accepted the proof and %d refused it, want 1 and 9", accepted.Load(), refused.Load())
		}
		replicas[0].refuses(proven("x", proof), 401, "invalid_dpop_proof")
	}
}

// proofStore notes what it is asked for. With fail it fails instead, having done it if did is set.
type proofStore struct {
	mcp.Store
	creates   int
	ttl       time.Duration
	key       string
	fail, did bool
}

func (s *proofStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	s.creates++
	s.ttl, s.key = ttl, key
	if s.fail && !s.did {
		return false, errors.New("CANARY")
	}
	created, err := s.Store.Create(ctx, key, value, ttl)
	if s.fail {
		return false, errors.New("CANARY")
	}
	return created, err
}

func TestProofCostsOneOperationOfTheStore(t *testing.T) {
	t.Parallel()
	// Only Create is there: another operation panics.
	shared, holder := &proofStore{Store: struct{ mcp.Store }{new(mcpserver.MemoryStore)}}, newProver(t)
	p := newProtected(t, static(holder), mcpauth.ProofStore(shared), mcpauth.ProofAge(time.Minute))
	used := holder.proof("x", nil, nil)
	for _, proof := range []string{used, used, used, holder.proof("y", nil, nil), "forged"} {
		p.do(proven("x", proof))
	}
	if shared.creates != 1 {
		t.Errorf("got %d operations, want 1: a proof that is not good or was used here costs none", shared.creates)
	}
	if shared.ttl != 3*time.Minute || strings.Contains(shared.key, holder.thumbprint(t)) {
		t.Errorf("got %q for %v, want a digest for three minutes", shared.key, shared.ttl)
	}
}

func TestProofIsRefusedWhereItIsNotKnownWhetherItWasUsed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-192")
	for _, did := range []bool{false, true} {
		holder := newProver(t)
		shared := &proofStore{Store: new(mcpserver.MemoryStore), fail: true, did: did}
		p := newProtected(t, static(holder), mcpauth.ProofStore(shared))
		proof := holder.proof("x", nil, nil)
		w := p.refuses(proven("x", proof), http.StatusServiceUnavailable, "")
		if strings.Contains(w.Body.String(), "CANARY") || !strings.Contains(p.log.String(), "CANARY") || w.Header().Get("Retry-After") == "" {
			t.Errorf("got %s, %v; logged %s", w.Body, w.Header(), p.log)
		}
		shared.fail = false
		p.refuses(proven("x", proof), 401, "invalid_dpop_proof")
		if w := p.do(proven("x", holder.proof("x", nil, nil))); w.Code != http.StatusOK {
			t.Errorf("another proof afterwards: got status %d, %s", w.Code, w.Body)
		}
	}
}

// silentStore does not answer.
type silentStore struct{ mcp.Store }

func (silentStore) Create(ctx context.Context, _ string, _ []byte, _ time.Duration) (bool, error) {
	<-ctx.Done()
	return false, context.Cause(ctx)
}

func TestSilentStoreOfProofsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		holder := newProver(t)
		p := newProtected(t, static(holder), mcpauth.ProofStore(silentStore{}))
		began := time.Now()
		p.refuses(proven("x", holder.proof("x", nil, nil)), http.StatusServiceUnavailable, "")
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("refused after %v, want 2s", took)
		}
	})
}

// The clock of the second replica is behind that of the first by 50 seconds, so it takes a proof for
// good for longer.
func TestEntryOfAProofOutlivesTheProof(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared, holder := new(mcpserver.MemoryStore), newProver(t)
		at := func(ahead time.Duration) *protected {
			return newProtected(t, static(holder), mcpauth.ProofStore(shared), mcpauth.ProofAge(time.Minute+ahead))
		}
		made := holder.proof("x", nil, fields{"iat": time.Now().Add(time.Minute).Unix()})
		if w := at(0).do(proven("x", made)); w.Code != http.StatusOK {
			t.Fatalf("got status %d, %s", w.Code, w.Body)
		}
		for range 17 {
			at(50*time.Second).refuses(proven("x", made), 401, "invalid_dpop_proof")
			time.Sleep(10 * time.Second)
		}
	})
}
