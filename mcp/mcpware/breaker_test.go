package mcpware_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

var errLost = &mcpclient.MayHaveRunError{Err: &mcpclient.LostError{Err: io.ErrUnexpectedEOF}}

func TestOnChangeOfABreakerMayUseTheClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, server(func(context.Context, number) (string, error) { return "ok", nil }))
		var changes []bool
		var errs []error
		attempts := 0
		c.Use(mcpware.Breaker(&mcpware.BreakerOptions{Failures: 1, OnChange: func(open bool) {
			changes = append(changes, open)
			_, err := c.CallTool(context.Background(), "tool", number{})
			errs = append(errs, err)
		}}), failing(&attempts, errLost))
		_, _ = c.CallTool(t.Context(), "tool", number{})
		time.Sleep(11 * time.Second)
		if _, err := c.CallTool(t.Context(), "tool", number{}); err != nil {
			t.Errorf("after the pause: %v", err)
		}
		if !slices.Equal(changes, []bool{true, false}) {
			t.Fatalf("got the changes %v, want open and closed", changes)
		}
		if !errors.Is(errs[0], mcpware.ErrBreakerOpen) || errs[1] != nil || attempts != 3 {
			t.Errorf("got %v of the calls of OnChange, %d attempts, want the first refused and the second sent", errs, attempts)
		}
	})
}

// The call of OnChange for the first change makes the second one: the breaker is closed and opens
// again.
func TestOnChangeOfABreakerIsCalledForOneChangeAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, server(func(context.Context, number) (string, error) { return "ok", nil }))
		var changes []string
		attempts := 0
		c.Use(mcpware.Breaker(&mcpware.BreakerOptions{Failures: 1, OnChange: func(open bool) {
			state := map[bool]string{true: "open", false: "closed"}[open]
			changes = append(changes, state+" begins")
			if len(changes) == 1 {
				time.Sleep(11 * time.Second)
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = c.CallTool(context.Background(), "tool", number{}) // closes it
					_, _ = c.CallTool(context.Background(), "tool", number{}) // opens it
				}()
				<-done
			}
			changes = append(changes, state+" ends")
		}}), failing(&attempts, errLost, nil, errLost))
		_, _ = c.CallTool(t.Context(), "tool", number{})
		if want := []string{"open begins", "open ends", "closed begins", "closed ends", "open begins", "open ends"}; !slices.Equal(changes, want) {
			t.Errorf("got %v, want %v", changes, want)
		}
	})
}

// A panic of OnChange is that of the call, and the next changes are reported.
func TestPanicOfOnChangeOfABreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := connect(t, server(func(context.Context, number) (string, error) { return "ok", nil }))
		var changes []bool
		attempts := 0
		c.Use(mcpware.Breaker(&mcpware.BreakerOptions{Failures: 1, OnChange: func(open bool) {
			changes = append(changes, open)
			panic("lost marbles")
		}}), failing(&attempts, errLost))
		for range 3 {
			if _, err := c.CallTool(t.Context(), "tool", number{}); err == nil {
				t.Error("got no error, want one while the breaker is open")
			}
			time.Sleep(4 * time.Second)
		}
		if _, err := c.CallTool(t.Context(), "tool", number{}); err == nil {
			t.Error("got no error, want the panic")
		}
		if _, err := c.CallTool(t.Context(), "tool", number{}); err != nil || !slices.Equal(changes, []bool{true, false}) {
			t.Errorf("got %v and the changes %v, want open and closed", err, changes)
		}
	})
}
