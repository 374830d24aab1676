package mcpserver

import (
	"context"
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Once does a step of a handler that asks, such as one that changes something,
// and remembers its result under the key: when the handler runs again after a
// question, Once returns that result and does not call fn. The key follows the
// rules of Ask. T has to survive encoding as JSON; an error of fn is not
// remembered, so the step is tried again.
//
// In the session era fn is called at most once per call. In the stateless era it
// is called once per round whose reply arrived: the client carries the result,
// sealed, so when a reply is lost, or a client sends the same retry twice, fn
// may be called again. A step that must never be repeated needs a key of its own
// at the service that it uses; NewID makes one that stays the same.
// AskOptions.SingleUse refuses the second retry.
//
// Outside of a call Once calls fn.
func Once[T any](ctx context.Context, key string, fn func() (T, error)) (T, error) {
	var zero T
	r := From(ctx)
	if r == nil {
		return fn()
	}
	if err := r.rounds.claim(key); err != nil {
		return zero, fmt.Errorf("once: %w", err)
	}
	if err := r.rounds.stopped(); err != nil {
		return zero, err
	}
	if raw, ok := r.rounds.result(key); ok {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return zero, fmt.Errorf("once %q: what is remembered: %w", key, err)
		}
		return v, nil
	}
	v, err := fn()
	if err != nil {
		return v, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return zero, fmt.Errorf("once %q: the result cannot be remembered: %w", key, err)
	}
	r.rounds.remember(key, raw)
	return v, nil
}

func (r *rounds) result(key string) (jsontext.Value, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, ok := r.memory.Results[key]
	return raw, ok
}

func (r *rounds) remember(key string, raw jsontext.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory.Results == nil {
		r.memory.Results = make(map[string]jsontext.Value)
	}
	r.memory.Results[key] = raw
}

// Began returns when the call began. It is the same time in every run of a
// handler that asks, where time.Now is not. Outside of a call it is now.
func Began(ctx context.Context) time.Time {
	r := From(ctx)
	if r == nil {
		return time.Now()
	}
	r.rounds.mu.Lock()
	defer r.rounds.mu.Unlock()
	return r.rounds.memory.Began
}

// NewID returns an unguessable id of 26 letters and digits, the same for the
// same key in every run of a handler that asks, and another in every other call.
// It is a good idempotency key for the service that a step uses. Unlike the keys
// of Ask, this one may be used again, for the same id.
func NewID(ctx context.Context, key string) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(derive(ctx, "id", key)[:16])
}

// Rand returns a source of random numbers that are the same for the same key in
// every run of a handler that asks, and others in every other call. It is not
// safe for concurrent use.
func Rand(ctx context.Context, key string) *rand.Rand {
	return rand.New(rand.NewChaCha8([32]byte(derive(ctx, "rand", key))))
}

// derive returns 32 bytes that belong to the call, a use and a key.
func derive(ctx context.Context, use, key string) []byte {
	seed := make([]byte, 32)
	if r := From(ctx); r != nil {
		seed = r.rounds.seed()
	} else {
		_, _ = crand.Read(seed) // never fails
	}
	mac := hmac.New(sha256.New, seed)
	fmt.Fprintf(mac, "%s\x00%s", use, key)
	return mac.Sum(nil)
}

func (r *rounds) seed() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory.Seed == nil {
		r.memory.Seed = make([]byte, 32)
		_, _ = crand.Read(r.memory.Seed) // never fails
	}
	return slices.Clone(r.memory.Seed)
}
