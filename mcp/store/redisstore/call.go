package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

var errClosed = errors.New("the store is closed")

// call runs f, which ends at Options.Timeout at the latest. It does not wait for f when ctx
// ends: the client ends what waits for the network at a deadline only. f must not use slices
// of the caller.
func call[T any](ctx context.Context, s *Store, op string, f func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		result T
		err    error
	}
	var out outcome
	if err := context.Cause(ctx); err != nil {
		return out.result, fmt.Errorf("redisstore: %s: %w", op, err)
	}
	if !s.calls.Enter() {
		return out.result, fmt.Errorf("redisstore: %s: %w", op, errClosed)
	}
	bounded, cancel := context.WithTimeout(ctx, s.options.Timeout)
	run := func() (o outcome) {
		defer s.calls.Leave()
		defer cancel()
		o.result, o.err = f(bounded)
		return o
	}
	if ctx.Done() == nil {
		out = run()
	} else {
		ended := make(chan outcome, 1)
		go func() { ended <- run() }()
		select {
		case out = <-ended:
		case <-ctx.Done():
			var none T
			return none, fmt.Errorf("redisstore: %s: %w", op, context.Cause(ctx))
		}
	}
	if out.err != nil {
		var none T
		return none, fmt.Errorf("redisstore: %s: %w", op, s.explain(ctx, out.err))
	}
	return out.result, nil
}

// explain returns what the error of a call means.
func (s *Store) explain(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.calls.Closed():
		return errClosed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) { // which ctx.Err will say soon
			return context.DeadlineExceeded
		}
		return fmt.Errorf("no answer from the server within %v: %w", s.options.Timeout, err)
	}
	return explain(err)
}

// explain adds what to do to errors of the server.
func explain(err error) error {
	switch {
	case redis.HasErrorPrefix(err, "OOM"):
		return fmt.Errorf("the memory of the server is full: raise its maxmemory, or remove data: %w", err)
	case redis.HasErrorPrefix(err, "NOPERM"), redis.HasErrorPrefix(err, "The user executing the script can't run"):
		return fmt.Errorf("the user lacks a right that the documentation of redisstore lists: %w", err)
	case redis.HasErrorPrefix(err, "NOAUTH"):
		return fmt.Errorf("the server wants a password, in the URL or in Options: %w", err)
	case redis.HasErrorPrefix(err, "READONLY"):
		return fmt.Errorf("the server has become a replica: want the address of the primary: %w", err)
	}
	return err
}

// run runs a script by its digest, and sends it if the server does not know it.
func (s *Store) run(ctx context.Context, script script, keys []string, args ...any) *redis.Cmd {
	cmd := s.eval(ctx, "evalsha", script.digest, keys, args)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = s.eval(ctx, "eval", script.source, keys, args)
	}
	return cmd
}

func (s *Store) eval(ctx context.Context, command, script string, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, command, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	_ = s.client.Process(ctx, once{cmd}) // cmd has the error
	return cmd
}

// once is a command that the client of a cluster does not repeat; that of a single server repeats
// none. A command whose answer is lost may have run: a second Create would find the value of the
// first, and a second Put would undo what another replica has written in between.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }
