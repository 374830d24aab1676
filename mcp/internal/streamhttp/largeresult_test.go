package streamhttp

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// unread is a client that reads nothing, until it is given up.
type unread struct {
	*httptest.ResponseRecorder
	expired chan struct{}
}

func (u *unread) Write([]byte) (int, error) {
	<-u.expired
	return 0, os.ErrDeadlineExceeded
}

func (u *unread) SetWriteDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		close(u.expired)
	}
	return nil
}

func TestUnreadResultsAreEvictedForThoseOfOtherClients(t *testing.T) {
	claim.Shows(t, "B-11")
	synctest.Test(t, func(t *testing.T) {
		var reached int
		o := &Options{Unsent: exchange.NewUnsentLimit(1 << 20), WriteTimeout: time.Hour, Reached: func(l mcp.LimitReached) {
			if l.Limit == mcp.LimitUnsent {
				reached++
			}
		}}
		from := func(address string) limit.Owner {
			return limit.OwnerOf(mcp.PrincipalAnonymous, netip.MustParseAddr(address), limit.NewMember())
		}
		send := func(w http.ResponseWriter, owner limit.Owner) (ended chan struct{}) {
			ended = make(chan struct{})
			go func() {
				defer close(ended)
				a := newResponder(w, o, nil)
				a.unsent, a.owner = o.Unsent, owner
				a.finish(&dialect.Reply{Status: http.StatusOK, Body: bytes.Repeat([]byte{'1'}, 400<<10)})
				a.abandon()
			}()
			synctest.Wait()
			return ended
		}
		isOpen := func(ended chan struct{}) bool {
			select {
			case <-ended:
				return false
			default:
				return true
			}
		}
		greedy := from("192.0.2.1")
		client := func() *unread { return &unread{httptest.NewRecorder(), make(chan struct{})} }
		oldest, newest, refused := client(), client(), httptest.NewRecorder()
		first, second := send(oldest, greedy), send(newest, greedy)
		if send(refused, greedy); refused.Code != http.StatusServiceUnavailable || reached != 1 {
			t.Errorf("got status %d, told %d times, want 503 and once", refused.Code, reached)
		}
		modest := httptest.NewRecorder()
		if send(modest, from("192.0.2.2")); modest.Code != http.StatusOK || modest.Body.Len() != 400<<10 {
			t.Errorf("another address: got status %d and %d bytes, want all of its result", modest.Code, modest.Body.Len())
		}
		if !isOpen(first) || isOpen(second) || reached != 2 {
			t.Errorf("the oldest is open: %t, the newest: %t, told %d times; want the newest ended", isOpen(first), isOpen(second), reached)
		}
		close(oldest.expired)
		<-first
		if n := o.Unsent.Held(); n != 0 {
			t.Errorf("%d bytes are counted when nothing is sent, want none", n)
		}
	})
}
