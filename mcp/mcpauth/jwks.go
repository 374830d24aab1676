package mcpauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Limits of the keys of one issuer.
const (
	// keysFresh is how long keys are used before they are fetched again. A
	// withdrawn key is accepted for up to this time.
	keysFresh = 5 * time.Minute
	// keysStale is how long keys are used while the issuer cannot be reached.
	keysStale = time.Hour
	// keysMissed is the minimum time between fetches because of unknown keys,
	// which any request can name, and between attempts while there are keys.
	keysMissed = 30 * time.Second
	// keysRetry is the time between attempts while there are no keys.
	keysRetry = 5 * time.Second
	// maxKeys is the maximum number of keys of one set; further keys are
	// ignored.
	maxKeys = 64
	// minRSABits is the minimum size of an RSA key.
	//
	// Spec: RFC 7518 3.3
	minRSABits = 2048
)

var errUnknownKey = errors.New("unknown key")

// verificationKey is a public key of an issuer.
type verificationKey struct {
	id        string
	algorithm string // that it is for; empty: any that fits
	public    any    // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// keySet caches the keys of one issuer. It fetches them on demand, with at most
// one fetch at a time. It is safe for concurrent use.
//
//	find
//	 ├─ known and fresh                 → the key
//	 ├─ known and old                   → one caller fetches, the others use the key
//	 ├─ unknown, fetch running          → wait for it
//	 ├─ unknown, last fetch without it     → refused
//	 └─ unknown                         → fetch
type keySet struct {
	fetch func(context.Context) ([]verificationKey, error)

	mu       sync.Mutex // guards the fields below
	keys     []verificationKey
	fetched  time.Time     // when the keys were fetched
	tried    time.Time     // when the last fetch ended
	missed   time.Time     // when the last fetch ended that did not bring the key it was for
	failure  error         // of the last fetch
	fetching chan struct{} // closed when the running fetch ends; nil when none is running
}

func newKeySet(server *issuerServer, address string) *keySet {
	return &keySet{fetch: func(ctx context.Context) ([]verificationKey, error) {
		return server.fetchKeys(ctx, address)
	}}
}

// find returns the keys that may have made a signature with the header. The
// error is errUnknownKey, or says why the keys could not be fetched.
func (s *keySet) find(ctx context.Context, h jwsHeader) ([]verificationKey, error) {
	for {
		found, running, err := s.lookup(h, time.Now())
		if found != nil || err != nil {
			return found, err
		}
		if running == nil {
			return s.refresh(ctx, h)
		}
		select {
		case <-running:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// lookup decides without waiting. If all its results are nil, its caller must
// fetch the keys; running ends with the fetch of another caller.
func (s *keySet) lookup(h jwsHeader, now time.Time) (found []verificationKey, running chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.fetched) < keysStale {
		found = matchingKeys(s.keys, h)
	}
	switch {
	case found != nil && (now.Sub(s.fetched) < keysFresh || s.fetching != nil || !s.mayRetry(now)):
		return found, nil, nil
	case s.fetching != nil:
		return nil, s.fetching, nil
	case found == nil && (!s.mayRetry(now) || s.failure == nil && now.Sub(s.missed) < keysMissed):
		return nil, nil, s.missingKeyError()
	}
	s.fetching = make(chan struct{})
	return nil, nil, nil
}

// mayRetry reports whether enough time has passed since the last failure.
func (s *keySet) mayRetry(now time.Time) bool {
	wait := keysMissed
	if s.keys == nil {
		wait = keysRetry
	}
	return s.failure == nil || now.Sub(s.tried) >= wait
}

// missingKeyError returns the error for a missing key: that of the last fetch if it
// failed, otherwise errUnknownKey.
func (s *keySet) missingKeyError() error {
	if s.failure != nil {
		return s.failure
	}
	return errUnknownKey
}

// refresh fetches the keys. It continues if its caller is cancelled, because
// others may wait for it.
func (s *keySet) refresh(ctx context.Context, h jwsHeader) ([]verificationKey, error) {
	keys, err := s.fetchSafely(context.WithoutCancel(ctx))
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.fetching)
	s.fetching, s.tried, s.failure = nil, now, err
	if err == nil {
		s.keys, s.fetched = keys, now
	}
	if now.Sub(s.fetched) < keysStale {
		if found := matchingKeys(s.keys, h); found != nil {
			return found, nil
		}
	}
	s.missed = now
	return nil, s.missingKeyError()
}

// fetchSafely converts a panic to an error, so that waiting callers are always
// released.
func (s *keySet) fetchSafely(ctx context.Context) (keys []verificationKey, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("fetch keys: panic: %v", v)
		}
	}()
	return s.fetch(ctx)
}

// matchingKeys returns the keys with the header's id and algorithm. If the header has no id,
// exactly one key must fit.
func matchingKeys(keys []verificationKey, h jwsHeader) (found []verificationKey) {
	for _, k := range keys {
		if k.supports(h.Algorithm) && (h.KeyID == "" || h.KeyID == k.id) {
			found = append(found, k)
		}
	}
	if h.KeyID == "" && len(found) > 1 {
		return nil
	}
	return found
}

// supports reports whether the key can be used with the algorithm.
//
// Spec: RFC 8725 3.1; RFC 7518 3.4
func (k verificationKey) supports(a jose.SignatureAlgorithm) bool {
	if k.algorithm != "" && k.algorithm != string(a) {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return a[:2] == "RS" || a[:2] == "PS"
	case *ecdsa.PublicKey:
		return curves[a] == public.Curve.Params().Name
	case ed25519.PublicKey:
		return a == jose.EdDSA
	}
	return false
}

// curves are the curves of the ECDSA algorithms.
var curves = map[jose.SignatureAlgorithm]string{jose.ES256: "P-256", jose.ES384: "P-384", jose.ES512: "P-521"}

// parseKeys reads the keys of a JWK set. It ignores keys that are not for
// signatures, not public, too small or of an unknown type.
//
// Spec: RFC 7517 5
func parseKeys(set []jsontext.Value) []verificationKey {
	keys := []verificationKey{}
	for _, raw := range set {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(raw) == nil && isForSignatures(&k) && len(keys) < maxKeys {
			keys = append(keys, verificationKey{id: k.KeyID, algorithm: k.Algorithm, public: k.Key})
		}
	}
	return keys
}

// isForSignatures reports whether the key may only be used to verify
// signatures.
func isForSignatures(k *jose.JSONWebKey) bool {
	if !k.Valid() || !k.IsPublic() || k.Use != "" && k.Use != "sig" {
		return false
	}
	r, ok := k.Key.(*rsa.PublicKey)
	return !ok || r.N.BitLen() >= minRSABits
}
