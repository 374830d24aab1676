package mcpserver_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func sealingServer(t *testing.T, name, secret string) *mcpserver.Server {
	t.Helper()
	srv := mcpserver.New(name, "1", &mcpserver.Options{Keys: []mcpserver.Key{{ID: "k", Secret: []byte(strings.Repeat(secret, 32))}}})
	shutDownLater(t, srv)
	return srv
}

func shutDownLater(t *testing.T, srv *mcpserver.Server) {
	t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
}

func TestSealedDataIsOpenedOnlyByServersOfTheSameNameAndKeys(t *testing.T) {
	t.Parallel()
	one := sealingServer(t, "works", "a")
	sealed := one.Seal([]byte("data"), "label", time.Now().Add(time.Hour))
	if strings.Contains(string(sealed), "data") {
		t.Error("the data can be read")
	}
	if got, err := sealingServer(t, "works", "a").Unseal(sealed, "label"); string(got) != "data" || err != nil {
		t.Errorf("another replica: got %q, %v", got, err)
	}
	for what, open := range map[string]func() ([]byte, error){
		"another label": func() ([]byte, error) { return one.Unseal(sealed, "other") },
		"another name":  func() ([]byte, error) { return sealingServer(t, "other", "a").Unseal(sealed, "label") },
		"other keys":    func() ([]byte, error) { return sealingServer(t, "works", "b").Unseal(sealed, "label") },
		"expired data": func() ([]byte, error) {
			return one.Unseal(one.Seal([]byte("data"), "label", time.Now().Add(-time.Second)), "label")
		},
		"changed data": func() ([]byte, error) {
			changed := slices.Clone(sealed)
			changed[len(changed)-2] ^= 1
			return one.Unseal(changed, "label")
		},
	} {
		if got, err := open(); !errors.Is(err, mcpserver.ErrSealed) {
			t.Errorf("%s: got %q, %v, want ErrSealed", what, got, err)
		}
	}
}

// sealedCall is a call that its handler has sealed after its first step.
type sealedCall struct {
	mu           sync.Mutex
	call, memory []byte
	runs         []string
}

// addSteps registers a tool whose work goes on in the background and takes two steps.
func (c *sealedCall) addSteps(srv *mcpserver.Server, name string) {
	srv.Tool("steps", "Takes two steps", func(ctx context.Context, in struct {
		What string `json:"what"`
	},
	) (string, error) {
		r := mcpserver.From(ctx)
		call, err := r.SealCall("c", time.Now().Add(time.Hour))
		if err != nil {
			return "", err
		}
		working, done, err := mcpserver.Detach(ctx, mcpserver.Background{Record: func(_ context.Context, memory func() []byte) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.memory = memory()
			return nil
		}})
		if err != nil {
			return "", err
		}
		defer done()
		text, err := mcpserver.Once(working, "one", func() (string, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.runs = append(c.runs, "step of "+name)
			return "one of " + name, nil
		})
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.call == nil {
			c.call = call
		}
		c.runs = append(c.runs, strings.Join([]string{name, in.What, mcpserver.NewID(working, "id"), r.Principal().String(), r.Revision().String(), text}, " "))
		return text, err
	}, mcpserver.Durable())
}

func TestSealedCallRunsAgainOnAnotherReplica(t *testing.T) {
	claim.Shows(t, "B-14")
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20250618, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			var c sealedCall
			one, two := sealingServer(t, "works", "a"), sealingServer(t, "works", "a")
			c.addSteps(one, "one")
			c.addSteps(two, "two")
			middleware := 0
			two.Use(func(next mcpserver.Handler) mcpserver.Handler {
				return func(ctx context.Context, r *mcpserver.Request) (any, error) {
					middleware++
					return next(ctx, r)
				}
			})
			if _, err := connectAt(t, one, v).CallTool(t.Context(), "steps", map[string]string{"what": "dig"}); err != nil {
				t.Fatal(err)
			}
			result, err := two.Replay(t.Context(), "c", c.call, c.memory)
			if err != nil {
				t.Fatal(err)
			}
			if got := result.(*mcp.CallToolResult).Content.Text(); got != "one of one" {
				t.Errorf("the replay got %q, want the result of the first step that was recorded", got)
			}
			if middleware != 1 {
				t.Errorf("the middleware was run %d times, want 1", middleware)
			}
			if _, err := two.Replay(t.Context(), "c", c.call, nil); err != nil {
				t.Fatal(err)
			}
			if len(c.runs) != 5 || c.runs[0] != "step of one" || c.runs[3] != "step of two" {
				t.Fatalf("the runs were %q", c.runs)
			}
			first, again := strings.TrimPrefix(c.runs[1], "one "), strings.TrimPrefix(c.runs[2], "two ")
			if first != again {
				t.Errorf("the runs were those of %q and %q, want the same arguments, id, principal, revision and step", first, again)
			}
		})
	}
}

func TestReplayRefusesCallsOfOthers(t *testing.T) {
	claim.Shows(t, "B-14")
	t.Parallel()
	var c sealedCall
	one := sealingServer(t, "works", "a")
	c.addSteps(one, "one")
	if _, err := connectAt(t, one, mcp.V20260728).CallTool(t.Context(), "steps", map[string]string{"what": "dig"}); err != nil {
		t.Fatal(err)
	}
	if _, err := sealingServer(t, "works", "b").Replay(t.Context(), "c", c.call, nil); !errors.Is(err, mcpserver.ErrSealed) {
		t.Errorf("other keys: got %v", err)
	}
	if _, err := one.Replay(t.Context(), "other", c.call, nil); !errors.Is(err, mcpserver.ErrSealed) {
		t.Errorf("another label: got %v", err)
	}
	if _, err := one.Replay(t.Context(), "c", c.call, []byte("no memory")); err == nil {
		t.Error("a memory that is none is taken")
	}
	if _, err := sealingServer(t, "works", "a").Replay(t.Context(), "c", c.call, nil); err == nil {
		t.Error("a call of an unknown tool succeeds")
	}
	var none *mcpserver.Request
	if _, err := none.SealCall("c", time.Now()); !errors.Is(err, mcpserver.ErrNotInCall) {
		t.Errorf("a nil Request: got %v", err)
	}
}

func TestStepFailsIfItMayNotRunOrCannotBeRecorded(t *testing.T) {
	claim.Shows(t, "B-14")
	t.Parallel()
	srv := sealingServer(t, "works", "a")
	failed := errors.New("not now")
	ran := false
	srv.Tool("steps", "Takes steps", func(ctx context.Context, in struct {
		Before bool `json:"before,omitzero"`
	},
	) (string, error) {
		b := mcpserver.Background{Record: func(context.Context, func() []byte) error { return failed }}
		if in.Before {
			b.BeforeStep = func() error { return failed }
		}
		working, done, err := mcpserver.Detach(ctx, b)
		if err != nil {
			return "", err
		}
		defer done()
		ran = false
		_, err = mcpserver.Once(working, "one", func() (int, error) { ran = true; return 1, nil })
		if !errors.Is(err, failed) {
			t.Errorf("Once returned %v", err)
		}
		return "done", nil
	})
	c := connectAt(t, srv, mcp.V20260728)
	for _, before := range []bool{false, true} {
		if _, err := c.CallTool(t.Context(), "steps", map[string]bool{"before": before}); err != nil {
			t.Fatal(err)
		}
		if ran == before {
			t.Errorf("BeforeStep fails: %v, but the step was run: %v", before, ran)
		}
	}
}

func TestWorkerRunsWhileTheServerServesAndHasADurableTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := sealingServer(t, "works", "a")
		var running, ended int
		srv.Extend(mcpserver.Extension{ID: "com.example/work", Worker: func(ctx context.Context) {
			running++
			<-ctx.Done()
			ended++
		}})
		srv.Extend(mcpserver.Extension{ID: "com.example/none"})
		srv.Extend(mcpserver.Extension{ID: "com.example/broken", Worker: func(context.Context) { panic("a mistake") }})
		connectAt(t, srv, mcp.V20260728)
		synctest.Wait()
		if running != 0 {
			t.Error("the worker runs without a durable tool")
		}
		srv.Tool("steps", "Takes steps", func(context.Context, struct{}) (string, error) { return "", nil }, mcpserver.Durable())
		srv.Tool("plain", "Takes none", func(context.Context, struct{}) (string, error) { return "", nil })
		srv.HTTPHandler()
		synctest.Wait()
		if running != 1 {
			t.Errorf("%d workers run, want 1", running)
		}
		if !srv.HasDurable("steps") || srv.HasDurable("plain") {
			t.Error("HasDurable is wrong")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := srv.RunWorker(ctx, "com.example/work"); err != nil {
			t.Error(err)
		}
		if err := srv.RunWorker(t.Context(), "com.example/none"); err == nil {
			t.Error("an extension without a worker runs one")
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if running != 2 || ended != running {
			t.Errorf("%d workers were run and %d have ended, want 2", running, ended)
		}
		if err := srv.RunWorker(t.Context(), "com.example/work"); !errors.Is(err, mcpserver.ErrShutdown) {
			t.Errorf("after the shutdown: got %v", err)
		}
		srv.RemoveTool("steps")
		if srv.HasDurable("steps") {
			t.Error("a tool that was removed is durable")
		}
	})
}

// connectAt returns a client that speaks a revision.
func connectAt(t *testing.T, srv *mcpserver.Server, v mcp.Revision) *mcpclient.Client {
	t.Helper()
	return connectPlain(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}})
}

func TestToolsOfAFeatureSetAreNotDurable(t *testing.T) {
	t.Parallel()
	set := sealingServer(t, "works", "a").NewFeatureSet()
	h := func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return &mcp.CallToolResult{}, nil }
	if err := set.AddTool(mcp.Tool{Name: "steps"}, h, mcpserver.Durable()); err == nil || !strings.Contains(err.Error(), "Durable") {
		t.Errorf("got %v, want an error about Durable", err)
	}
}
