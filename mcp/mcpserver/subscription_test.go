package mcpserver_test

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	w.t.Helper()
	var uris []string
	for range count {
		uris = append(uris, strings.Trim(at(w.t, w.note("notifications/resources/updated").Params, "/uri"), `"`))
	}
	return strings.Join(uris, " ")
}

func TestUpdatedReachesSubscribers(t *testing.T) {
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
		w.quiet()
		other.quiet()
	})
}

func TestSubscriberOfAParentHearsOfItsParts(t *testing.T) {
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
		w.quiet()
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
		w.quiet()
	})
}

func TestUnsubscribeEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := notes()
		w := dial(t, srv, mcp.V20251125)
		watch(w, "notes://a")
		watch(w, "notes://b")
		w.must("resources/unsubscribe", `{"uri":"notes://a"}`)
		w.must("resources/unsubscribe", `{"uri":"notes://a"}`)
		w.must("resources/unsubscribe", `{"uri":"notes://never"}`)
		srv.Updated("notes://a")
		srv.Updated("notes://b")
		if got := w.updates(1); got != "notes://b" {
			t.Errorf("got %s, want the one that is watched", got)
		}
		w.quiet()
		w.refused("resources/subscribe", `{"uri":"notes://unknown"}`, -32002)
		w.refused("resources/subscribe", `{}`, -32002)
		w.refused("resources/subscribe", `{"uri":1}`, -32602)
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
			w.refused("subscriptions/listen", `{"notifications":{"resourceSubscriptions":[`+uris+`"n://y"]}}`, -32602)
			return
		}
		for i := range 1024 {
			w.must("resources/subscribe", fmt.Sprintf(`{"uri":"n://%d"}`, i))
		}
		w.must("resources/subscribe", `{"uri":"n://7"}`)
		w.refused("resources/subscribe", `{"uri":"n://1024"}`, -32602)
		w.must("resources/unsubscribe", `{"uri":"n://7"}`)
		w.must("resources/subscribe", `{"uri":"n://1024"}`)
	})
}

func TestListenIsAcknowledgedFirst(t *testing.T) {
	t.Parallel()
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
				params := w.params(`{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a://b","a://unknown"]}}`)
				w.write(`{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":` + params + `}`)
				ack := w.note("notifications/subscriptions/acknowledged")
				same(t, ack.Params, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}}`)
				same(t, w.note("notifications/tools/list_changed").Params, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}`)
			})
		})
	}
}

func TestListenHearsOfNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := everything(nil)
		w := dial(t, srv, mcp.V20260728)
		w.send("subscriptions/listen", `{"notifications":{"promptsListChanged":true}}`)
		w.note("notifications/subscriptions/acknowledged")
		srv.RemoveTool("echo")
		srv.Updated("a://b")
		srv.RemoveResource("a://b")
		w.quiet()
		srv.RemovePrompt("plan")
		w.note("notifications/prompts/list_changed")
		w.quiet()
	})
}

func TestSeveralSubscriptionsOnOneConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := notes()
		w := dial(t, srv, mcp.V20260728)
		watch(w, "notes://a")
		watch(w, "notes://a")
		srv.Updated("notes://a")
		var ids []string
		for range 2 {
			ids = append(ids, at(t, w.note("notifications/resources/updated").Params, "/_meta/io.modelcontextprotocol~1subscriptionId"))
		}
		if got := strings.Join(ids, " "); got != "1 2" && got != "2 1" {
			t.Errorf("got subscriptions %s, want each once", got)
		}
		w.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		srv.Updated("notes://a")
		if got := at(t, w.note("notifications/resources/updated").Params, "/_meta/io.modelcontextprotocol~1subscriptionId"); got != "2" {
			t.Errorf("got %s, want the one that was not cancelled", got)
		}
		w.quiet()
	})
}

func TestListenOnAServerWithNothingToHearOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dial(t, newServer(nil), mcp.V20260728).refused("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, -32601)
	})
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, everything(nil), mcp.V20260728)
		w.send("subscriptions/listen", `{"notifications":{}}`)
		if got := at(t, w.note("notifications/subscriptions/acknowledged").Params, "/notifications"); got != `{}` {
			t.Errorf("got %s, want an empty filter acknowledged", jsontext.Value(got))
		}
	})
}

func TestNothingComesBeforeTheAnswerToInitialize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := everything(nil)
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx anyContext, r *mcpserver.Request) (any, error) {
				result, err := next(ctx, r)
				if r.Method == mcp.MethodInitialize {
					srv.Tool("new", "", nothing)
					time.Sleep(time.Second)
				}
				return result, err
			}
		})
		w := connect(t, srv)
		id := w.send("initialize", initialize("2025-11-25"))
		if m := w.read(); string(m.ID) != id {
			t.Errorf("got %s, want the answer to initialize first", m.raw)
		}
	})
}
