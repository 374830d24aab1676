package handles_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/hooktest"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type basket struct {
	Items []string       `json:"items"`
	Count map[string]int `json:"count"`
}

func TestHandleKeepsAValue(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-060", "R-223a")
	ctx := t.Context()
	baskets := handles.New[basket](&handles.Options{Prefix: "basket_"})
	h, err := baskets.New(ctx, basket{Items: []string{"pear"}})
	if err != nil || !regexp.MustCompile(`^basket_[A-Z2-7]{26}$`).MatchString(h) {
		t.Fatalf("got %q, %v, want basket_ and 26 random letters", h, err)
	}
	b, err := baskets.Update(ctx, h, func(b *basket) error {
		b.Items = append(b.Items, "fig")
		return nil
	})
	if err != nil || fmt.Sprint(b.Items) != "[pear fig]" {
		t.Errorf("update: got %v, %v, want pear and fig", b.Items, err)
	}
	if b, err = baskets.Get(ctx, h); err != nil || fmt.Sprint(b.Items) != "[pear fig]" {
		t.Errorf("get: got %v, %v, want pear and fig", b.Items, err)
	}
	if b, err = baskets.Delete(ctx, h); err != nil || fmt.Sprint(b.Items) != "[pear fig]" {
		t.Errorf("delete: got %v, %v, want the last value", b.Items, err)
	}
	_, got := baskets.Get(ctx, h)
	_, updated := baskets.Update(ctx, h, func(*basket) error { t.Error("change runs"); return nil })
	_, deleted := baskets.Delete(ctx, h)
	for _, err := range []error{got, updated, deleted} {
		if !errors.Is(err, handles.ErrUnknown) || !strings.HasPrefix(err.Error(), `handle "`+h+`": it does not exist or has expired`) {
			t.Errorf("deleted: got %v, want %v with the handle", err, handles.ErrUnknown)
		}
	}
}

func TestHandlesAreUnique(t *testing.T) {
	t.Parallel()
	numbers := handles.New[int](nil)
	seen := make(map[string]bool)
	for i := range 1000 {
		h, err := numbers.New(t.Context(), i)
		if err != nil || seen[h] {
			t.Fatalf("got %q, %v, want a new one", h, err)
		}
		seen[h] = true
	}
}

func TestCopiesOfAValueAreIndependent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	baskets := handles.New[basket](nil)
	mine := basket{Items: []string{"pear"}, Count: map[string]int{"pear": 1}}
	h, err := baskets.New(ctx, mine)
	if err != nil {
		t.Fatal(err)
	}
	mine.Items[0], mine.Count["pear"] = "changed", 99
	got, _ := baskets.Get(ctx, h)
	got.Items[0], got.Count["pear"] = "changed", 99
	_, err = baskets.Update(ctx, h, func(b *basket) error {
		b.Items[0], b.Count["pear"] = "changed", 99
		return errors.New("no such fruit")
	})
	if err == nil || err.Error() != "no such fruit" {
		t.Errorf("got %v, want the error of the change as it is", err)
	}
	if got, _ = baskets.Get(ctx, h); fmt.Sprint(got) != "{[pear] map[pear:1]}" {
		t.Errorf("got %v, want what was stored", got)
	}
}

func TestHandleOfAnotherPrincipalIsUnknown(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-223a", "R-223b")
	synctest.Test(t, func(t *testing.T) {
		baskets := handles.New[string](nil)
		local := inCall(t) // the user of this machine
		outside := t.Context()
		h, err := baskets.New(local, "private")
		if err != nil {
			t.Fatal(err)
		}
		_, foreign := baskets.Get(outside, h)
		_, unknown := baskets.Get(outside, strings.Repeat("A", len(h)))
		if foreign == nil || foreign.Error() != strings.ReplaceAll(unknown.Error(), strings.Repeat("A", len(h)), h) {
			t.Errorf("got %v for a foreign handle, %v for an unknown one, want the same", foreign, unknown)
		}
		if _, err := baskets.Update(outside, h, func(*string) error { t.Error("change runs"); return nil }); !errors.Is(err, handles.ErrUnknown) {
			t.Errorf("update: got %v, want %v", err, handles.ErrUnknown)
		}
		if _, err := baskets.Delete(outside, h); !errors.Is(err, handles.ErrUnknown) {
			t.Errorf("delete: got %v, want %v", err, handles.ErrUnknown)
		}
		if v, err := baskets.Get(local, h); err != nil || v != "private" {
			t.Errorf("got %q, %v, want the owner's value untouched", v, err)
		}
	})
}

func TestHandleExpiresWhenItIsIdle(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-223a")
	for _, idle := range []time.Duration{0, time.Minute} {
		t.Run(idle.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, ttl := t.Context(), idle
				if ttl == 0 {
					ttl = 30 * time.Minute
				}
				store := handles.New[int](&handles.Options{Idle: idle})
				read, changed, unused := handle(t, store, 1), handle(t, store, 2), handle(t, store, 3)
				for range 3 { // use keeps alive
					time.Sleep(ttl - 1)
					if _, err := store.Get(ctx, read); err != nil {
						t.Errorf("got %v, want the one that is read", err)
					}
					if _, err := store.Update(ctx, changed, func(n *int) error { *n++; return nil }); err != nil {
						t.Errorf("got %v, want the one that is changed", err)
					}
				}
				if _, err := store.Get(ctx, unused); !errors.Is(err, handles.ErrUnknown) {
					t.Errorf("got %v, want the unused one expired", err)
				}
				time.Sleep(ttl + ttl/8)
				for _, h := range []string{read, changed} {
					if _, err := store.Get(ctx, h); !errors.Is(err, handles.ErrUnknown) {
						t.Errorf("got %v, want it expired", err)
					}
				}
			})
		})
	}
}

// handle makes a handle of v.
func handle[T any](t *testing.T, store *handles.Handles[T], v T) string {
	t.Helper()
	h, err := store.New(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHandlesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := handles.New[string](&handles.Options{Max: 3, MaxPerPrincipal: 1, MaxSize: 10, Idle: time.Minute})
		first := handle(t, store, "1")
		handle(t, store, "2")
		handle(t, store, "3")
		if _, err := store.New(ctx, "4"); !errors.Is(err, handles.ErrNoRoom) {
			t.Errorf("got %v, want %v", err, handles.ErrNoRoom)
		}
		if _, err := store.Delete(ctx, first); err != nil {
			t.Errorf("got %v, want nil", err)
		}
		last := handle(t, store, "4")
		if _, err := store.New(ctx, "5"); !errors.Is(err, handles.ErrNoRoom) {
			t.Errorf("got %v, want %v", err, handles.ErrNoRoom)
		}
		if _, err := store.Update(ctx, last, func(s *string) error { *s = "123456789"; return nil }); err == nil || !strings.Contains(err.Error(), "11 bytes of JSON, want at most 10") {
			t.Errorf("got %v, want the size refused", err)
		}
		if v, _ := store.Get(ctx, last); v != "4" {
			t.Errorf("got %q, want what was there", v)
		}
		time.Sleep(time.Minute)
		for range 3 { // all have expired
			handle(t, store, "x")
		}
	})
}

func TestUpdatesOfOneHandleTakeEffectOneAfterTheOther(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := handles.New[basket](nil)
	h := handle(t, store, basket{Count: map[string]int{}})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 25 {
				if _, err := store.Update(ctx, h, func(b *basket) error { b.Count["n"]++; return nil }); err != nil {
					t.Errorf("got %v, want nil", err)
				}
				_, _ = store.Get(ctx, h)
			}
		})
	}
	all.Wait()
	if b, err := store.Get(ctx, h); err != nil || b.Count["n"] != 200 {
		t.Errorf("got %v, %v, want 200", b.Count, err)
	}
}

func TestSlowUpdateDelaysNoOtherHandle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store := handles.New[int](nil)
		h, other := handle(t, store, 0), handle(t, store, 0)
		runs := 0
		done := make(chan int)
		go func() {
			n, err := store.Update(ctx, h, func(n *int) error {
				runs++
				if runs == 1 {
					time.Sleep(time.Minute)
				}
				*n += 10
				return nil
			})
			if err != nil {
				t.Errorf("got %v, want nil", err)
			}
			done <- n
		}()
		synctest.Wait()
		begin := time.Now()
		for _, h := range []string{h, other} {
			if _, err := store.Update(ctx, h, func(n *int) error { *n++; return nil }); err != nil {
				t.Errorf("got %v, want nil", err)
			}
			if n, err := store.Get(ctx, h); n != 1 || err != nil {
				t.Errorf("got %v, %v, want 1", n, err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("took %v, want no wait", took)
		}
		if n := <-done; n != 11 || runs != 2 {
			t.Errorf("got %d after %d runs, want 11 after 2: it was overtaken once", n, runs)
		}
	})
}

func TestUpdateMayUseTheStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := handles.New[int](nil)
	a, b := handle(t, store, 1), handle(t, store, 2)
	n, err := store.Update(ctx, a, func(n *int) error {
		other, err := store.Get(ctx, b)
		*n += other
		return err
	})
	if err != nil || n != 3 {
		t.Errorf("got %v, %v, want 3", n, err)
	}
	_, err = store.Update(ctx, a, func(*int) error {
		_, err := store.Delete(ctx, a)
		return err
	})
	if !errors.Is(err, handles.ErrUnknown) {
		t.Errorf("got %v, want %v: it was deleted meanwhile", err, handles.ErrUnknown)
	}
}

func TestPanickingUpdateChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := handles.New[int](nil)
	h := handle(t, store, 1)
	hooktest.PanicText(t, func() { _, _ = store.Update(ctx, h, func(n *int) error { *n = 2; panic("oops") }) })
	if n, err := store.Update(ctx, h, func(n *int) error { *n++; return nil }); err != nil || n != 2 {
		t.Errorf("got %v, %v, want 2", n, err)
	}
}

func TestHandleIsNotUsedForACallThatIsOver(t *testing.T) {
	t.Parallel()
	store := handles.New[int](nil)
	h := handle(t, store, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := store.Update(ctx, h, func(*int) error { return nil }); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestHandlesNeedAJSONForm(t *testing.T) {
	t.Parallel()
	if text := hooktest.PanicText(t, func() { handles.New[struct{ C chan int }](nil) }); !strings.Contains(text, "handles.New") {
		t.Errorf("got %q, want who says so", text)
	}
	store := handles.New[any](nil)
	if _, err := store.New(t.Context(), func() {}); err == nil {
		t.Error("got nil, want an error")
	}
}

func TestHandleInAnErrorIsEscaped(t *testing.T) {
	t.Parallel()
	_, err := handles.New[int](nil).Get(t.Context(), "\x1b[31m"+strings.Repeat("x", 1000))
	if err == nil || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 250 {
		t.Errorf("got %v, want it bounded and without control characters", err)
	}
}

func TestMain(m *testing.M) { leak.Main(m) }

// connect returns a client of a server.
func connect(t *testing.T, srv *mcpserver.Server) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// inCall returns the context of a call that runs until the test ends.
func inCall(t *testing.T) context.Context {
	t.Helper()
	contexts, release, answered := make(chan context.Context), make(chan struct{}), make(chan error)
	srv := mcpserver.New("test", "1", nil)
	srv.Tool("hold", "", func(ctx context.Context, _ struct{}) (string, error) {
		contexts <- ctx
		<-release
		return "", nil
	})
	c := connect(t, srv)
	go func() {
		_, err := c.CallTool(context.WithoutCancel(t.Context()), "hold", nil)
		answered <- err
	}()
	t.Cleanup(func() {
		close(release)
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
	return <-contexts
}

func TestHandlesAreKeptInTheStoreOfTheServer(t *testing.T) {
	t.Parallel()
	o := &mcpserver.Options{Store: new(mcpserver.MemoryStore)}
	type named struct {
		Handle string `json:"handle,omitzero"`
	}
	replica := func() *mcpclient.Client {
		values := handles.New[string](&handles.Options{Prefix: "v_"})
		srv := mcpserver.New("test", "1", o)
		srv.Tool("new", "", func(ctx context.Context, _ struct{}) (string, error) { return values.New(ctx, "first") })
		srv.Tool("get", "", func(ctx context.Context, in named) (string, error) { return values.Get(ctx, in.Handle) })
		srv.Tool("set", "", func(ctx context.Context, in named) (string, error) {
			return values.Update(ctx, in.Handle, func(v *string) error { *v = "second"; return nil })
		})
		srv.Tool("delete", "", func(ctx context.Context, in named) (string, error) { return values.Delete(ctx, in.Handle) })
		return connect(t, srv)
	}
	one, other := replica(), replica()
	h, err := one.Call[string](t.Context(), "new", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		c          *mcpclient.Client
		tool, want string
	}{{other, "get", "first"}, {other, "set", "second"}, {one, "get", "second"}, {other, "delete", "second"}} {
		if got, err := step.c.Call[string](t.Context(), step.tool, named{h}); err != nil || got != step.want {
			t.Errorf("%s: got %q, %v, want %q", step.tool, got, err, step.want)
		}
	}
	if got, err := one.Call[string](t.Context(), "get", named{h}); err == nil || !strings.Contains(err.Error(), "does not exist or has expired") {
		t.Errorf("deleted elsewhere: got %q, %v", got, err)
	}
}

func TestOneOfConcurrentDeletesGetsTheValue(t *testing.T) {
	t.Parallel()
	store := handles.New[int](nil)
	h := handle(t, store, 7)
	var all sync.WaitGroup
	var got atomic.Int64
	for range 8 {
		all.Go(func() {
			switch n, err := store.Delete(t.Context(), h); {
			case err == nil:
				got.Add(int64(n))
			case !errors.Is(err, handles.ErrUnknown):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got.Load() != 7 {
		t.Errorf("got the value %d times, want once", got.Load()/7)
	}
}

// createStore is a Store that calls a function before it creates something the next time.
type createStore struct {
	mcp.Store
	before atomic.Pointer[func()]
}

func (s *createStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if f := s.before.Swap(nil); f != nil {
		(*f)()
	}
	return s.Store.Create(ctx, key, value, ttl)
}

// Otherwise it stays in the Store until it expires, and nobody counts it.
func TestHandleThatIsEvictedWhileItIsWrittenIsDeleted(t *testing.T) {
	t.Parallel()
	memory := new(mcpserver.MemoryStore)
	store := &createStore{Store: memory}
	srv := mcpserver.New("test", "1", &mcpserver.Options{
		Store: store, Keys: []mcpserver.Key{{ID: "a", Secret: make([]byte, 32)}}, Load: &mcpserver.LoadOptions{MaxKept: 200 << 10},
	})
	values := handles.New[string](&handles.Options{MaxSize: 128 << 10})
	srv.Tool("new", "", func(ctx context.Context, in struct{ Size int }) (string, error) {
		return values.New(ctx, strings.Repeat("x", in.Size))
	})
	first, second, third := connect(t, srv), connect(t, srv), connect(t, srv)
	others := func() {
		for c, size := range map[*mcpclient.Client]int{second: 96 << 10, third: 40 << 10} {
			if _, err := c.Call[string](t.Context(), "new", struct{ Size int }{size}); err != nil {
				t.Error(err)
			}
		}
	}
	store.before.Store(&others)
	if h, err := first.Call[string](t.Context(), "new", struct{ Size int }{98 << 10}); err == nil || !strings.Contains(err.Error(), handles.ErrNoRoom.Error()) {
		t.Errorf("got %q, %v of the owner with the most, want %v", h, err, handles.ErrNoRoom)
	}
	if keys, err := memory.List(t.Context(), "handle.", "", 10); err != nil || len(keys) != 2 {
		t.Errorf("got %q, %v in the Store, want the two others", keys, err)
	}
}
