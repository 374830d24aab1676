package mcpclient_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestEraIsFoundByTheAnswerToDiscover(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-053", "R-083a", "R-083b", "R-083c", "R-084", "D-17")
	for name, test := range map[string]struct {
		discover func(m message) string
		want     mcp.Revision
	}{
		"a server of the newest revision": {
			func(m message) string {
				return m.result(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}`)
			}, mcp.V20260728,
		},
		"one that also speaks older and unknown ones": {
			func(m message) string {
				return m.result(`{"supportedVersions":["2031-01-01","2025-11-25","2026-07-28"],"capabilities":{}}`)
			}, mcp.V20260728,
		},
		"one that answers but speaks only older ones": {
			func(m message) string {
				return m.result(`{"supportedVersions":["2025-06-18"],"capabilities":{}}`)
			}, mcp.V20251125,
		},
		"method not found": {
			func(m message) string { return m.fail(-32601, "Method not found", "") }, mcp.V20251125,
		},
		"invalid params": {
			func(m message) string { return m.fail(-32602, "Invalid request parameters", `""`) }, mcp.V20251125,
		},
		"an error of its own": {
			func(m message) string { return m.fail(-32000, "Server not initialized", "") }, mcp.V20251125,
		},
		"a number of the new era in a shape that is not": {
			func(m message) string { return m.fail(-32022, "my own business", "") }, mcp.V20251125,
		},
		"a server that answers everything": {
			func(m message) string { return m.result(`{}`) }, mcp.V20251125,
		},
		"a version error that names older revisions": {
			func(m message) string {
				return m.fail(-32022, "no", `{"supported":["2025-11-25","2024-11-05"],"requested":"2026-07-28"}`)
			}, mcp.V20251125,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, func(s *script, m message) string {
				if m.Method == mcp.MethodDiscover {
					return test.discover(m)
				}
				return session(mcp.V20251125, nil)(s, m)
			})
			c := connect(t, target, nil)
			if got := c.Revision(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestServerThatIgnoresDiscoverIsInitialized(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-083c")
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, func(s *script, m message) string {
			if m.Method == mcp.MethodDiscover {
				return ""
			}
			return session(mcp.V20250326, nil)(s, m)
		})
		began := time.Now()
		c := connect(t, target, nil)
		if got := c.Revision(); got != mcp.V20250326 {
			t.Errorf("got %v, want %v", got, mcp.V20250326)
		}
		if got := time.Since(began); got != 3*time.Second {
			t.Errorf("waited %v, want 3s", got)
		}
	})
}

func TestSlowServerOfTheNewestRevisionIsDetectedLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, func(s *script, m message) string {
			if m.Method == mcp.MethodDiscover && len(s.messages(mcp.MethodDiscover)) == 1 {
				time.Sleep(5 * time.Second) // being started
			}
			return stateless(nil)(s, m)
		})
		c := connect(t, target, nil)
		if got := c.Revision(); got != mcp.V20260728 {
			t.Errorf("got %v, want %v", got, mcp.V20260728)
		}
		want := "server/discover initialize server/discover"
		if got := servers.nth(0).methods(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestSlowServerIsAwaitedIfOnlyStatelessIsPossible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, target := serve(t, func(s *script, m message) string {
			if m.Method == mcp.MethodDiscover {
				time.Sleep(20 * time.Second) // being started
			}
			return stateless(nil)(s, m)
		})
		c := connect(t, target, &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}})
		if got := c.Revision(); got != mcp.V20260728 {
			t.Errorf("got %v, want %v", got, mcp.V20260728)
		}
	})
}

func TestServerThatExitsOnTheProbeGetsANewConnection(t *testing.T) {
	t.Parallel()
	servers, target := serve(t, func(s *script, m message) string {
		if m.Method == mcp.MethodDiscover {
			s.conn.Close()
			return ""
		}
		return session(mcp.V20241105, nil)(s, m)
	})
	c := connect(t, target, nil)
	if got := c.Revision(); got != mcp.V20241105 {
		t.Errorf("got %v, want %v", got, mcp.V20241105)
	}
	if got := servers.nth(1).methods(); !strings.HasPrefix(got, "initialize") {
		t.Errorf("the second connection began with %q, want initialize", got)
	}
}

func TestSlowServerThatExitsOnTheProbeGetsANewConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, func(s *script, m message) string {
			if m.Method == mcp.MethodDiscover {
				time.Sleep(5 * time.Second) // being started
				s.conn.Close()
				return ""
			}
			return session(mcp.V20241105, nil)(s, m)
		})
		c := connect(t, target, nil)
		if got := c.Revision(); got != mcp.V20241105 {
			t.Errorf("got %v, want %v", got, mcp.V20241105)
		}
		if got := servers.nth(1).methods(); !strings.HasPrefix(got, "initialize") {
			t.Errorf("the second connection began with %q, want initialize", got)
		}
	})
}

func TestVersionErrorIsRetriedWithAVersionThatItNames(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-055", "R-067", "R-083b")
	servers, target := serve(t, func(s *script, m message) string {
		if m.Method == mcp.MethodDiscover && len(s.messages(mcp.MethodDiscover)) == 1 {
			return m.fail(-32022, "no", `{"supported":["2026-07-28"],"requested":"2026-07-28"}`)
		}
		return stateless(nil)(s, m)
	})
	c := connect(t, target, nil)
	if got, want := servers.nth(0).methods(), "server/discover server/discover"; got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := c.Server().Name; got != "new" {
		t.Errorf("server: got %q, want new", got)
	}
	if got := c.Instructions(); got != "be kind" {
		t.Errorf("instructions: got %q", got)
	}
	if c.Capabilities().Tools == nil {
		t.Error("capabilities: tools are missing")
	}
}

func TestEverySessionRevisionIsAccepted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-037", "R-039", "R-042a", "R-042b", "R-045a", "R-046a", "R-048a")
	for _, r := range []mcp.Revision{mcp.V20241105, mcp.V20250326, mcp.V20250618, mcp.V20251125} {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, session(r, nil))
			c := connect(t, target, nil)
			if got := c.Revision(); got != r {
				t.Errorf("got %v, want %v", got, r)
			}
			offer := servers.nth(0).messages(mcp.MethodInitialize)[0].param("protocolVersion")
			if want := `"2025-11-25"`; offer != want {
				t.Errorf("offered %v, want %v", offer, want)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := servers.nth(0).messages(mcp.NotificationInitialized); len(got) != 1 {
				t.Errorf("got %d initialized, want 1", len(got))
			}
		})
	}
}

func TestConnectFails(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-044", "R-048a", "R-055", "R-085")
	for name, test := range map[string]struct {
		handle func(*script, message) string
		opts   mcpclient.Options
		want   string
	}{
		"unknown revision": {
			func(s *script, m message) string {
				if m.Method == mcp.MethodInitialize {
					return m.result(initializeResult("2031-01-01"))
				}
				return session(mcp.V20251125, nil)(s, m)
			},
			mcpclient.Options{},
			`the server answered in revision "2031-01-01": want one of`,
		},
		"revision that is not pinned": {
			session(mcp.V20250326, nil),
			mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}},
			`the server answered in revision "2025-03-26": want one of 2025-11-25`,
		},
		"only the newest is pinned and the server is older": {
			session(mcp.V20251125, nil),
			mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}},
			`want one of 2026-07-28`,
		},
		"only older ones are pinned and the server is newer": {
			stateless(nil),
			mcpclient.Options{Revisions: []mcp.Revision{mcp.V20250618}},
			`initialize: peer answered -32601: no sessions here`,
		},
		"nothing in common": {
			func(_ *script, m message) string {
				return m.fail(-32022, "no", `{"supported":["2031-01-01"],"requested":"2026-07-28"}`)
			},
			mcpclient.Options{},
			`want one of 2026-07-28, 2025-11-25`,
		},
		"header mismatch is no reason to fall back": {
			func(s *script, m message) string {
				if m.Method == mcp.MethodDiscover {
					return m.fail(-32020, "headers", "")
				}
				return session(mcp.V20251125, nil)(s, m)
			},
			mcpclient.Options{},
			`server/discover: peer answered -32020`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, target := serve(t, test.handle)
			test.opts.Logger = quiet()
			c, err := mcpclient.Connect(t.Context(), target, &test.opts)
			if err == nil {
				c.Close()
				t.Fatal("connected")
			}
			if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "connect to server: ") {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
}

func TestPinnedAndRememberedRevisionsOfSessionsAreNotProbed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-065a")
	for name, opts := range map[string]*mcpclient.Options{
		"pinned":     {Revisions: []mcp.Revision{mcp.V20250618, mcp.V20250326}},
		"remembered": {Prior: &mcpclient.Prior{Revision: mcp.V20250618}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, target := serve(t, session(mcp.V20250618, nil))
			connect(t, target, opts)
			if got := servers.nth(0).methods(); !strings.HasPrefix(got, "initialize") {
				t.Errorf("got %v, want initialize first", got)
			}
		})
	}
}

func TestWrongLastRevisionIsCorrected(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-065b")
	_, target := serve(t, stateless(nil))
	c := connect(t, target, &mcpclient.Options{Prior: &mcpclient.Prior{Revision: mcp.V20250618}})
	if got := c.Revision(); got != mcp.V20260728 {
		t.Errorf("got %v, want %v", got, mcp.V20260728)
	}
}

func TestConnectGivesUpInTime(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-047", "R-048c")
	synctest.Test(t, func(t *testing.T) {
		servers, target := serve(t, func(*script, message) string { return "" })
		began := time.Now()
		_, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Logger: quiet()})
		if err == nil || !strings.Contains(err.Error(), "not connected within 30s") {
			t.Errorf("got %v", err)
		}
		if got := time.Since(began); got != 30*time.Second {
			t.Errorf("gave up after %v, want 30s", got)
		}
		synctest.Wait()
		for _, m := range servers.nth(0).messages(mcp.NotificationCancelled) {
			for _, i := range servers.nth(0).messages(mcp.MethodInitialize) {
				if m.param("requestId") == string(i.ID) {
					t.Errorf("got %s, want initialize never cancelled", m.Params)
				}
			}
		}
	})
}

func TestConnectObeysItsContext(t *testing.T) {
	t.Parallel()
	_, target := serve(t, func(*script, message) string { return "" })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := mcpclient.Connect(ctx, target, &mcpclient.Options{Logger: quiet()}); err == nil {
		t.Error("connected")
	}
}

func TestDialErrorsAreReported(t *testing.T) {
	t.Parallel()
	_, err := mcpclient.Connect(t.Context(), mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
		return nil, io.ErrUnexpectedEOF
	}), nil)
	if err == nil || err.Error() != "connect to server: unexpected EOF" {
		t.Errorf("got %v", err)
	}
}
