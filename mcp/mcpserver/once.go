package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json/v2"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/replay"
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
// Once is safe for concurrent use, with a key of its own for each step. The handler has
// to wait for goroutines that it starts: when a question has been asked Once fails with
// ErrInputRequired and does not call fn; when the handler has returned it fails with
// that or with ErrCallEnded. The result of an fn that is still running then is not
// remembered, and Once fails with the same error.
//
// Outside of a call Once calls fn.
func Once[T any](ctx context.Context, key string, fn func() (T, error)) (T, error) {
	var zero T
	r := From(ctx)
	if r == nil {
		return fn()
	}
	if err := r.resume(); err != nil {
		return zero, err
	}
	if err := r.run.Use(key); err != nil {
		return zero, fmt.Errorf("once: %w", err)
	}
	if err := r.run.Blocked(); err != nil {
		return zero, err
	}
	if raw, ok := r.run.Result(key); ok {
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
	if err := r.run.Remember(key, raw); err != nil {
		return zero, err
	}
	return v, nil
}

// StartedAt returns when the call started. It is the same time in every run of a
// handler that asks, which time.Now is not. Outside of a call it is time.Now().
func StartedAt(ctx context.Context) time.Time {
	r := From(ctx)
	if r == nil {
		return time.Now()
	}
	return r.run.StartedAt()
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
	var seed []byte
	if r := From(ctx); r != nil {
		seed = r.run.Seed()
	} else {
		seed = replay.NewSeed()
	}
	mac := hmac.New(sha256.New, seed)
	fmt.Fprintf(mac, "%s\x00%s", use, key)
	return mac.Sum(nil)
}
