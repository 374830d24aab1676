package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// notes has some resources to watch.
func notes() *mcpserver.Server {
	srv := newServer(nil)
	srv.Resource("notes://a", "a", "", fixed(""))
	srv.Resource("notes://b", "b", "", fixed(""))
	srv.Resource("notes://dir/", "dir", "", fixed(""))
	srv.Resource("notes://dir/x", "part", "", fixed(""))
	srv.Resource("notes://dirt/x", "part of another", "", fixed(""))
	srv.Template("timetable://{airport}{?day}", "timetable", "", timetable)
	return srv
}

// updates returns the URIs that the next notifications are about.
func (w *wire) updates(count int) string {
	w.T.Helper()
	var uris []string
	for range count {
		uris = append(uris, strings.Trim(at(w.T, w.Notification("notifications/resources/updated").Params, "/uri"), `"`))
	}
	return strings.Join(uris, " ")
}

// updatesUntilSilence yields the URIs that notifications are about until none has
// come for a second. It needs fake time.
func (w *wire) updatesUntilSilence() iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			ctx, cancel := context.WithTimeout(w.T.Context(), time.Second)
			data, err := w.Conn.Read(ctx)
			cancel()
			if err != nil || !yield(decoded[string](w.T, jsontext.Value(at(w.T, decoded[message](w.T, data).Params, "/uri")))) {
				return
			}
		}
	}
}

func TestUpdatedReachesSubscribers(t *testing.T) {
	claim.Shows(t, "R-235a", "R-305")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		w, other := dial(t, srv, r), dial(t, srv, r)
		watch(w, "notes://a")
		watch(w, "timetable://OSL")
		watchLists(other)
		srv.Updated("notes://a")
		srv.Updated("notes://b")
		srv.Updated("notes://ab")
		srv.Updated("timetable://OSL")
		srv.Updated("notes://unknown")
		got := w.updates(2)
		if got != "notes://a timetable://OSL" && got != "timetable://OSL notes://a" {
			t.Errorf("got %s, want the two that are watched", got)
		}
		w.Quiet()
		other.Quiet()
	})
}

func TestSubscriberOfAParentIsNotifiedOfItsParts(t *testing.T) {
	claim.Shows(t, "R-235b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		w := dial(t, srv, r)
		watch(w, "notes://dir/")
		for _, uri := range []string{"notes://dir/x", "notes://dir/", "notes://dir", "notes://dirt/x"} {
			srv.Updated(uri)
		}
		if got := w.updates(2); got != "notes://dir/x notes://dir/" {
			t.Errorf("got %s, want the parts and the directory", got)
		}
		w.Quiet()
	})
}

func TestUpdatesOfOneResourceAreCoalesced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		w := dial(t, srv, r)
		watch(w, "notes://a")
		for range 40 {
			srv.Updated("notes://a")
			time.Sleep(time.Millisecond)
		}
		w.updates(2)
		w.Quiet()
	})
}

func TestUnsubscribeEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := notes()
		w := dial(t, srv, mcp.V20251125)
		watch(w, "notes://a")
		watch(w, "notes://b")
		w.Must("resources/unsubscribe", `{"uri":"notes://a"}`)
		w.Must("resources/unsubscribe", `{"uri":"notes://a"}`)
		w.Must("resources/unsubscribe", `{"uri":"notes://never"}`)
		srv.Updated("notes://a")
		srv.Updated("notes://b")
		if got := w.updates(1); got != "notes://b" {
			t.Errorf("got %s, want the one that is watched", got)
		}
		w.Quiet()
		w.Refused("resources/subscribe", `{"uri":"notes://unknown"}`, -32002)
		w.Refused("resources/subscribe", `{}`, -32002)
		w.Refused("resources/subscribe", `{"uri":1}`, -32602)
	})
}

func TestSubscriptionsAreBounded(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Template("n://{path}", "n", "", func(_ anyContext, in struct {
			Path string `json:"path"`
		},
		) ([]byte, error) {
			return nil, nil
		})
		w := dial(t, srv, r)
		if isModern(r) {
			uris := strings.Repeat(`"n://x",`, 1024)
			w.Refused("subscriptions/listen", `{"notifications":{"resourceSubscriptions":[`+uris+`"n://y"]}}`, -32602)
			return
		}
		for i := range 1024 {
			w.Must("resources/subscribe", fmt.Sprintf(`{"uri":"n://%d"}`, i))
		}
		w.Must("resources/subscribe", `{"uri":"n://7"}`)
		w.Refused("resources/subscribe", `{"uri":"n://1024"}`, -32602)
		w.Must("resources/unsubscribe", `{"uri":"n://7"}`)
		w.Must("resources/subscribe", `{"uri":"n://1024"}`)
	})
}

func TestListenIsAcknowledgedFirst(t *testing.T) {
	claim.Shows(t, "R-306", "R-307")
	t.Parallel()
	claim.Shows(t, "R-306", "R-307")
	for _, id := range []string{`7`, `"seven"`, `"7"`} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := everything(nil)
				stop := make(chan struct{})
				defer close(stop)
				go func() { // changes all the time
					for {
						select {
						case <-stop:
							return
						case <-time.After(time.Millisecond):
							srv.EnableTool("echo", false)
							srv.EnableTool("echo", true)
						}
					}
				}()
				w := dial(t, srv, mcp.V20260728)
				params := w.Params(`{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a://b","a://unknown"]}}`)
				w.Write(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":` + params + `}`)
				ack := w.Notification("notifications/subscriptions/acknowledged")
				same(t, ack.Params, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}}`)
				same(t, w.Notification("notifications/tools/list_changed").Params, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}`)
			})
		})
	}
}

func TestListenDeliversOnlyWhatWasRequested(t *testing.T) {
	claim.Shows(t, "R-305")
	t.Parallel()
	claim.Shows(t, "R-305")
	synctest.Test(t, func(t *testing.T) {
		srv := everything(nil)
		w := dial(t, srv, mcp.V20260728)
		w.Send("subscriptions/listen", `{"notifications":{"promptsListChanged":true}}`)
		w.Notification("notifications/subscriptions/acknowledged")
		srv.RemoveTool("echo")
		srv.Updated("a://b")
		srv.RemoveResource("a://b")
		w.Quiet()
		srv.RemovePrompt("plan")
		w.Notification("notifications/prompts/list_changed")
		w.Quiet()
	})
}

func TestSeveralSubscriptionsOnOneConnection(t *testing.T) {
	claim.Shows(t, "R-307", "R-309")
	t.Parallel()
	claim.Shows(t, "R-057", "R-307", "R-309")
	synctest.Test(t, func(t *testing.T) {
		srv := notes()
		w := dial(t, srv, mcp.V20260728)
		watch(w, "notes://a")
		watch(w, "notes://a")
		srv.Updated("notes://a")
		var ids []string
		for range 2 {
			ids = append(ids, at(t, w.Notification("notifications/resources/updated").Params, "/_meta/io.modelcontextprotocol~1subscriptionId"))
		}
		if got := strings.Join(ids, " "); got != "1 2" && got != "2 1" {
			t.Errorf("got subscriptions %s, want each once", got)
		}
		w.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		srv.Updated("notes://a")
		if got := at(t, w.Notification("notifications/resources/updated").Params, "/_meta/io.modelcontextprotocol~1subscriptionId"); got != "2" {
			t.Errorf("got %s, want the one that was not cancelled", got)
		}
		w.Quiet()
	})
}

func TestListenOnAServerWithoutNotifications(t *testing.T) {
	claim.Shows(t, "R-312")
	t.Parallel()
	claim.Shows(t, "R-312", "G-n")
	synctest.Test(t, func(t *testing.T) {
		dial(t, newServer(nil), mcp.V20260728).Refused("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, -32601)
	})
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, everything(nil), mcp.V20260728)
		w.Send("subscriptions/listen", `{"notifications":{}}`)
		if got := at(t, w.Notification("notifications/subscriptions/acknowledged").Params, "/notifications"); got != `{}` {
			t.Errorf("got %s, want an empty filter acknowledged", jsontext.Value(got))
		}
	})
}

func TestNothingIsSentBeforeTheResultOfInitialize(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-041")
	synctest.Test(t, func(t *testing.T) {
		srv := everything(nil)
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx anyContext, r *mcpserver.Request) (any, error) {
				result, err := next(ctx, r)
				if r.Method() == mcp.MethodInitialize {
					srv.Tool("new", "", nothing)
					time.Sleep(time.Second)
				}
				return result, err
			}
		})
		w := connect(t, srv)
		id := w.Send("initialize", initialize("2025-11-25"))
		if m := w.Read(); string(m.ID) != id {
			t.Errorf("got %s, want the answer to initialize first", m.Raw)
		}
	})
}

func TestUpdatesOfOneResourceDoNotWaitForThoseOfAnother(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		w := dial(t, srv, r)
		watch(w, "notes://a")
		if !isModern(r) {
			watch(w, "notes://b")
		} else {
			w.Send("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["notes://a","notes://b"]}}`)
			w.Notification("notifications/subscriptions/acknowledged")
			w.Write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			synctest.Wait()
		}
		begin := time.Now()
		srv.Updated("notes://a")
		w.updates(1)
		time.Sleep(10 * time.Millisecond)
		srv.Updated("notes://a")
		srv.Updated("notes://b")
		if got := w.updates(1); got != "notes://b" || time.Since(begin) != 10*time.Millisecond {
			t.Errorf("got %s after %v, want notes://b after 10ms", got, time.Since(begin))
		}
		if got := w.updates(1); got != "notes://a" || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("got %s after %v, want notes://a after 50ms", got, time.Since(begin))
		}
		w.Quiet()
	})
}

func TestThousandResourcesChangeAtOnce(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		w := dial(t, srv, r)
		var uris []string
		for i := range 1000 {
			uris = append(uris, fmt.Sprintf("timetable://A%d", i))
		}
		if isModern(r) {
			w.Send("subscriptions/listen", `{"notifications":{"resourceSubscriptions":`+string(encoded(t, uris))+`}}`)
			w.Notification("notifications/subscriptions/acknowledged")
		}
		for _, uri := range uris {
			if !isModern(r) {
				watch(w, uri)
			}
		}
		for range 3 {
			for _, uri := range uris {
				srv.Updated(uri)
			}
		}
		heard := make(map[string]int)
		for uri := range w.updatesUntilSilence() {
			heard[uri]++
		}
		for _, uri := range uris {
			if heard[uri] < 1 || heard[uri] > 2 {
				t.Errorf("heard of %s %d times, want once or twice", uri, heard[uri])
			}
		}
	})
}

func TestTooManyUpdatedPartsNotifyTheResourceItself(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Template("n://dir/{part}", "part", "", anything)
		srv.Resource("n://dir", "dir", "", fixed(""))
		w := dial(t, srv, r)
		watch(w, "n://dir")
		for i := range 5000 { // before any of them is sent
			srv.Updated(fmt.Sprintf("n://dir/%d", i))
		}
		whole, parts := 0, 0
		for uri := range w.updatesUntilSilence() {
			if uri == "n://dir" {
				whole++
			} else {
				parts++
			}
		}
		if whole == 0 || parts < 1000 || parts > 4999 {
			t.Errorf("got %d parts and the whole %d times, want the whole in place of what is too much", parts, whole)
		}
	})
}

// anything reads any part.
func anything(anyContext, struct {
	Part string `json:"part"`
},
) ([]byte, error) {
	return nil, nil
}

func TestResourceThatWasHiddenIsNotAnnounced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := notes()
		w := dial(t, srv, r)
		watch(w, "notes://a")
		if err := srv.SetResource(mcp.Resource{URI: "notes://a", Name: "a"}, readRaw(nil, nil), hidden()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.Must("resources/list", "")
		w.Held = nil // that the list has changed
		srv.Updated("notes://a")
		w.Quiet()
		srv.RemoveResource("notes://a")
		srv.Updated("notes://a")
		if got := w.updates(1); got != "notes://a" {
			t.Errorf("got %s, want that the resource which is gone has changed", got)
		}
	})
}

func TestNoNotificationsAfterUnsubscribe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := notes()
		w := dial(t, srv, mcp.V20251125)
		watch(w, "notes://a")
		srv.Updated("notes://a")
		w.updates(1)
		srv.Updated("notes://a") // waits for 50 ms
		w.Must("resources/unsubscribe", `{"uri":"notes://a"}`)
		w.Quiet()
	})
}

func TestManySubscriptionsOnOneConnection(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-309", "R-307")
	synctest.Test(t, func(t *testing.T) {
		const count = 500
		srv := notes()
		srv.Tool("echo", "", nothing)
		w := dial(t, srv, mcp.V20260728)
		for range count {
			w.Send("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
		}
		for range count {
			w.Notification("notifications/subscriptions/acknowledged")
		}
		srv.RemoveTool("echo")
		heard := make(map[string]bool)
		for range count {
			heard[at(t, w.Notification("notifications/tools/list_changed").Params, "/_meta/io.modelcontextprotocol~1subscriptionId")] = true
		}
		if len(heard) != count {
			t.Errorf("%d subscriptions heard of it, want %d", len(heard), count)
		}
		w.Must("tools/list", "")
		for id := range count {
			w.Write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id+1))
		}
		synctest.Wait()
		srv.Tool("echo", "", nothing)
		w.Quiet()
	})
}

func TestHostileListenersAreRefused(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Template("n://dir/{part}", "part", "", anything)
		w := dial(t, srv, r)
		long := "n://dir/" + strings.Repeat("x", 60<<10)
		if isModern(r) {
			w.Refused("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["`+strings.Join([]string{long + "1", long + "2", long + "3", long + "4", long + "5"}, `","`)+`"]}}`, -32602)
			for _, filter := range []string{`{"resourceSubscriptions":"n://dir/a"}`, `{"resourceSubscriptions":[1]}`, `{"toolsListChanged":"yes"}`, `[]`, `7`} {
				w.Refused("subscriptions/listen", `{"notifications":`+filter+`}`, -32602)
			}
			id := w.Send("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["n://dir/a","n://dir/a","other://a",""]}}`)
			if got := at(t, w.Notification("notifications/subscriptions/acknowledged").Params, "/notifications"); got != `{"resourceSubscriptions":["n://dir/a","n://dir/a"]}` {
				t.Errorf("got %s, want what there is", got)
			}
			w.Write(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":` + w.Params(`{"notifications":{"toolsListChanged":true}}`) + `}`)
			if m := w.Read(); m.Error == nil || m.Error.Code != -32600 {
				t.Errorf("got %s, want a second request of the id refused", m.Raw)
			}
			srv.Updated("n://dir/a")
			w.updates(1)
			w.Quiet()
			return
		}
		for i := range 4 {
			watch(w, fmt.Sprint(long, i))
		}
		w.Refused("resources/subscribe", `{"uri":"`+long+`4"}`, -32602)
		w.Must("resources/unsubscribe", `{"uri":"`+long+`0"}`)
		watch(w, long+"4")
	})
}

func TestSubscriptionStreamHasOnlyItsNotifications(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-134b", "R-253b", "R-306")
	synctest.Test(t, func(t *testing.T) {
		srv := notes()
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				mcpserver.Log(ctx).Error("a request")
				mcpserver.Progress(ctx, 1, 2, "")
				return next(ctx, r)
			}
		})
		w := dial(t, srv, mcp.V20260728)
		w.Send("subscriptions/listen", `{"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"},"notifications":{"resourceSubscriptions":["notes://a"]}}`)
		w.Notification("notifications/subscriptions/acknowledged")
		w.Quiet()
		srv.Updated("notes://a")
		w.updates(1)
	})
}

// brittle is a connection on which no change can be told.
type brittle struct{ mcp.Conn }

func (b brittle) Write(ctx context.Context, msg []byte) error {
	if strings.Contains(string(msg), mcp.NotificationResourceUpdated) {
		return io.ErrClosedPipe
	}
	return b.Conn.Write(ctx, msg)
}

// A client that leaves while it is being told something is no failure of the server.
func TestCancelledListenIsNotLoggedAsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var book logbook
		srv := newServer(&mcpserver.Options{Logger: textLog(&book)})
		srv.Resource("notes://a", "a", "", fixed(""))
		ours, theirs := pipe(t)
		w := attach(t, srv, ours, brittle{theirs})
		w.Initialize(mcp.V20260728, `{}`)
		watch(w, "notes://a")
		srv.Updated("notes://a")
		synctest.Wait()
		if got := book.String(); strings.Contains(got, "incident") {
			t.Errorf("logged %s, want nothing of a failure", got)
		}
	})
}
