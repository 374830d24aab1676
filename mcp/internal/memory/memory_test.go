package memory_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/memory"
)

func TestMain(m *testing.M) { leak.Main(m) }

func mustWrite(t *testing.T, c mcp.Conn, msg string) {
	t.Helper()
	if err := c.Write(t.Context(), []byte(msg)); err != nil {
		t.Fatalf("write %s: %v", msg, err)
	}
}

func mustRead(t *testing.T, c mcp.Conn, want string) {
	t.Helper()
	got, err := c.Read(t.Context())
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestMessagesArriveInOrderBothWays(t *testing.T) {
	t.Parallel()
	a, b := memory.Pair()
	for i := range 10 {
		mustWrite(t, a, fmt.Sprint("a", i))
		mustWrite(t, b, fmt.Sprint("b", i))
	}
	for i := range 10 {
		mustRead(t, b, fmt.Sprint("a", i))
		mustRead(t, a, fmt.Sprint("b", i))
	}
}

func TestMessagesAreCopied(t *testing.T) {
	t.Parallel()
	a, b := memory.Pair()
	msg := []byte("before")
	if err := a.Write(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	copy(msg, "after!")
	mustRead(t, b, "before")
}

func TestPeerReadsWhatWasWrittenBeforeCloseThenEOF(t *testing.T) {
	t.Parallel()
	a, b := memory.Pair()
	mustWrite(t, a, "1")
	mustWrite(t, a, "2")
	mustWrite(t, b, "unread")
	_ = a.Close()
	mustRead(t, b, "1")
	mustRead(t, b, "2")
	for range 2 {
		if msg, err := b.Read(t.Context()); err != io.EOF {
			t.Errorf("got %s, %v, want io.EOF", msg, err)
		}
	}
	if err := b.Write(t.Context(), []byte("3")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write of the peer: got %v, want %v", err, io.ErrClosedPipe)
	}
	if msg, err := a.Read(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("own read: got %s, %v, want %v", msg, err, io.ErrClosedPipe)
	}
	if err := a.Write(t.Context(), []byte("4")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("own write: got %v, want %v", err, io.ErrClosedPipe)
	}
	if err := a.Close(); err != nil {
		t.Errorf("second close: got %v, want nil", err)
	}
}

func TestWriteWaitsWhile64MessagesAreUnread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := memory.Pair()
		for i := range 64 {
			mustWrite(t, a, fmt.Sprint(i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Write(ctx, []byte("too much")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		written := make(chan error)
		go func() { written <- a.Write(t.Context(), []byte("64")) }()
		synctest.Wait()
		for i := range 65 {
			mustRead(t, b, fmt.Sprint(i))
			if i == 0 {
				if err := <-written; err != nil {
					t.Errorf("got %v, want nil", err)
				}
			}
		}
	})
}

func TestCloseOfEitherEndUnblocksReadAndWrite(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			a, b := memory.Pair()
			for range 64 {
				mustWrite(t, a, "x")
			}
			results := make(chan error, 2)
			go func() { results <- a.Write(t.Context(), []byte("x")) }()
			go func() {
				_, err := a.Read(t.Context())
				results <- err
			}()
			synctest.Wait()
			if own {
				_ = a.Close()
			} else {
				_ = b.Close()
			}
			for range 2 {
				if err := <-results; !errors.Is(err, io.ErrClosedPipe) && (own || err != io.EOF) {
					t.Errorf("own %v: got %v, want closed", own, err)
				}
			}
		})
	}
}

func TestReadObeysItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := memory.Pair()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		mustWrite(t, b, "still open")
		if _, err := a.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended context: got %v, want %v", err, context.DeadlineExceeded)
		}
		mustRead(t, a, "still open")
	})
}
