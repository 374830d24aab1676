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

// Once runs a step of a handler that asks, such as one with side effects, and stores its
// result under the key: when the handler runs again after a question, Once returns the
// stored result and does not call fn. The rules of [Ask] apply to the key. T must survive
// encoding as JSON. An error of fn is not stored, so the step is tried again.
//
// In the session era fn is called at most once per call. In the stateless era the client
// carries the encrypted result. If the reply of a round is lost, or a client sends the same
// retry twice, fn may therefore be called again. A step that must never be repeated needs
// an idempotency key at the service that it uses, see [NewID]. AskOptions.SingleUse refuses
// the second retry.
//
// Once is safe for concurrent use, with a different key for each step. The handler has to
// wait for its goroutines. Once a question has been asked, Once fails with ErrInputRequired
// and does not call fn. When the handler has returned, Once fails with ErrInputRequired or
// ErrCallEnded, also if fn is still running then: its result is not stored.
//
// In a task of a tool with the option [Durable] the result is stored before Once returns, see
// there.
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
		return zero, fmt.Errorf("once %q: %w", key, err)
	}
	if err := r.run.Blocked(); err != nil {
		return zero, err
	}
	if raw, ok := r.run.Result(key); ok {
		var v T
		if err := json.Unmarshal(raw, &v); err != nil {
			return zero, fmt.Errorf("once %q: decode the stored result: %w", key, err)
		}
		return v, nil
	}
	if err := r.beforeStep(); err != nil {
		return zero, fmt.Errorf("once %q: %w", key, err)
	}
	v, err := fn()
	if err != nil {
		return v, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return zero, fmt.Errorf("once %q: encode the result: %w", key, err)
	}
	if err := r.run.Remember(key, raw); err != nil {
		return zero, err
	}
	if err := r.record(ctx); err != nil {
		return zero, fmt.Errorf("once %q: store the result: %w", key, err)
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

// NewID returns an unguessable id of 26 letters and digits. It is the same for the same
// key in every run of a handler, and different in every other call, so it is suitable as an
// idempotency key. Unlike keys of Ask, a key may be used several times in a run.
func NewID(ctx context.Context, key string) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(derive(ctx, "id", key)[:16])
}

// Rand returns a source of random numbers. They are the same for the same key in every run
// of a handler, and different in every other call. The source is not safe for concurrent
// use.
func Rand(ctx context.Context, key string) *rand.Rand {
	return rand.New(rand.NewChaCha8([32]byte(derive(ctx, "rand", key))))
}

// derive returns 32 bytes that are derived from the seed of the call, a use and a key.
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
