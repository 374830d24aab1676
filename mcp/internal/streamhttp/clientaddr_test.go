package streamhttp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

func TestTheForwardedAddressCountsBehindTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, tt := range []struct {
		name, from string
		forwarded  []string
		want       string // an address, or empty for none
	}{
		{"no proxy", "192.0.2.1:80", nil, "192.0.2.1"},
		{"a client that says so itself", "192.0.2.1:80", []string{"198.51.100.1"}, "192.0.2.1"},
		{"a proxy", "10.0.0.1:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"a proxy of this machine", "[::1]:80", []string{"198.51.100.1"}, "198.51.100.1"},
		{"what the client said before", "10.0.0.1:80", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		{"what the client said in a header of its own", "10.0.0.1:80", []string{"203.0.113.9", "198.51.100.1"}, "198.51.100.1"},
		{"two proxies", "10.0.0.1:80", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		{"with a port", "10.0.0.1:80", []string{"198.51.100.1:4321"}, "198.51.100.1"},
		{"IPv6", "10.0.0.1:80", []string{"2001:db8::1"}, "2001:db8::1"},
		{"IPv6 with a port", "10.0.0.1:80", []string{"[2001:db8::1]:4321"}, "2001:db8::1"},
		{"a client behind the proxies", "10.0.0.1:80", []string{"10.9.9.9, 10.0.0.2"}, "10.9.9.9"},
		{"a proxy that says nothing", "10.0.0.1:80", nil, ""},
		{"a proxy that says nonsense", "10.0.0.1:80", []string{"198.51.100.1, unknown"}, ""},
		{"no address", "@", []string{"198.51.100.1"}, ""},
		{"too many hops", "10.0.0.1:80", []string{"198.51.100.1" + strings.Repeat(", 10.0.0.2", 99)}, "10.0.0.2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.RemoteAddr = tt.from
			r.Header[httpheader.ForwardedFor] = tt.forwarded
			got := AddressOf(r, trusted)
			if got.IsValid() != (tt.want != "") || got.IsValid() && got.String() != tt.want {
				t.Errorf("got %v, want %q", got, tt.want)
			}
		})
	}
}

func TestRequestWithoutSessionCountsForItsConnection(t *testing.T) {
	t.Parallel()
	o := &Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	owner := func(from, forwarded string) limit.Owner {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.RemoteAddr = from
		if forwarded != "" {
			r.Header.Set(httpheader.ForwardedFor, forwarded)
		}
		return o.ownerOf(r, nil, 0)
	}
	for _, tt := range []struct {
		name       string
		a, b       limit.Owner
		one, group bool
	}{
		{"two connections of this machine", owner("127.0.0.1:1", ""), owner("127.0.0.1:2", ""), false, true},
		{"two connections of an address", owner("192.0.2.1:1", ""), owner("192.0.2.1:2", ""), false, true},
		{"two addresses", owner("192.0.2.1:1", ""), owner("192.0.2.2:1", ""), false, false},
		{"two connections of a proxy, one client", owner("10.0.0.1:1", "192.0.2.1"), owner("10.0.0.1:2", "192.0.2.1"), true, true},
		{"one connection of a proxy, two clients", owner("10.0.0.1:1", "192.0.2.1"), owner("10.0.0.1:1", "192.0.2.2"), false, false},
		{"a proxy that says nothing", owner("10.0.0.1:1", ""), owner("10.0.0.1:2", ""), false, true},
	} {
		if one, group := tt.a == tt.b, tt.a.Group() == tt.b.Group(); one != tt.one || group != tt.group {
			t.Errorf("%s: got one owner: %v, one group: %v, want %v, %v", tt.name, one, group, tt.one, tt.group)
		}
	}
}

// from lets the requests of a test come from another address.
func from(r *http.Request, address string) *http.Request {
	r.RemoteAddr = address
	return r
}

// openFrom opens a session and returns its id, which is empty when it was refused.
func openFrom(t *testing.T, h *Handler, address string) string {
	t.Helper()
	return serveRecorded(h, from(request(t.Context(), t, "POST", "http://localhost/", initialize), address)).Header().Get(httpheader.SessionID)
}

func TestOneAddressCannotTakeAllSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), &Options{MaxSessions: 4})
		defer h.Close()
		modest := openFrom(t, h, "192.0.2.2:1")
		var greedy []string
		for i := range 5 {
			id := openFrom(t, h, fmt.Sprintf("192.0.2.1:%d", i+1))
			go serveIn(t.Context(), t, h, "POST", id, callTool(1, "wait"))
			synctest.Wait()
			greedy = append(greedy, id)
		}
		if got := serveIn(t.Context(), t, h, "POST", modest, ping); got != 200 {
			t.Errorf("the modest session: got status %d, want 200", got)
		}
		if greedy[4] != "" {
			t.Error("the greedy address got one more although all of its sessions are in use")
		}
		other := openFrom(t, h, "192.0.2.3:1")
		if other == "" {
			t.Fatal("another address is refused, want a session of the greedy one ended")
		}
		synctest.Wait()
		if h.sessions.holds(greedy[0]) {
			t.Error("the first session of the greedy address is kept")
		}
	})
}

func TestSessionsThatWereNeverUsedEndFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(plainTools), &Options{MaxSessions: 3})
		defer h.Close()
		used := openFrom(t, h, "127.0.0.1:1")
		serveIn(t.Context(), t, h, "POST", used, ping)
		for i := range 10 {
			openFrom(t, h, fmt.Sprintf("127.0.0.1:%d", i+2))
		}
		if got := serveIn(t.Context(), t, h, "POST", used, ping); got != 200 {
			t.Errorf("the session that was used: got status %d, want 200", got)
		}
	})
}

func TestOneClientCannotTakeAllStreams(t *testing.T) {
	t.Parallel()
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + modernMeta + `}}`
	for _, tt := range []struct{ name, greedy, modest string }{
		{"two addresses", "192.0.2.1:%d", "192.0.2.2:1"},
		{"two connections of this machine", "127.0.0.1:%d", "127.0.0.1:9999"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := NewHandler(newTestCore(nil), &Options{MaxStreams: 3})
				defer h.Close()
				stream := func(ctx context.Context, address string) <-chan string {
					end := make(chan string, 1)
					r := from(request(ctx, t, "POST", "http://localhost/", listen, modernHeaders("subscriptions/listen", "")...), address)
					go func() {
						w := serveRecorded(h, r)
						end <- fmt.Sprint(w.Code, w.Body)
					}()
					synctest.Wait()
					return end
				}
				var greedy []<-chan string
				for i := range 3 {
					greedy = append(greedy, stream(t.Context(), fmt.Sprintf(tt.greedy, i+1)))
				}
				modest := stream(t.Context(), tt.modest)
				select {
				case end := <-modest:
					t.Errorf("the modest stream: got %s, want it open", end)
				default:
				}
				if end := <-greedy[0]; !strings.Contains(end, "ended to make room") || !strings.Contains(end, "retryAfterMs") {
					t.Errorf("the stream that made room: got %s, want an error that says why and when to try again", end)
				}
			})
		})
	}
}
