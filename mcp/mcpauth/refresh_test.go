package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

var heldKey = grantKey{Issuer: "https://as.example", Resource: "https://mcp.example/mcp", Account: "ada", ClientID: "app"}

// held returns a grant whose tokens end with n.
func held(n int, lifetime time.Duration) *grant {
	g, err := newGrant(heldKey, &oauth.TokenResponse{
		Access: oauth.Secret(fmt.Sprint("access-", n)), Refresh: oauth.Secret(fmt.Sprint("refresh-", n)), Type: oauth.TypeBearer, Expires: time.Now().Add(lifetime),
	}, nil, nil)
	if err != nil {
		panic(err)
	}
	return g
}

// rotating returns a tokenSource that holds grant 0, and how often it was renewed.
func rotating(t *testing.T, s Store, lifetime time.Duration) (*tokenSource, *atomic.Int32) {
	t.Helper()
	n := new(atomic.Int32)
	k := &tokenSource{store: s}
	k.renew = func(_ context.Context, _ grantKey, old *grant) (*grant, error) {
		if want := fmt.Sprint("refresh-", n.Load()); old.Refresh.Reveal() != want {
			return nil, fmt.Errorf("%w: the refresh token is %s, want %s", ErrSignInRequired, old.Refresh.Reveal(), want)
		}
		time.Sleep(time.Second) // of the fake clock
		return held(int(n.Add(1)), lifetime), nil
	}
	if err := k.put(t.Context(), heldKey, held(0, lifetime)); err != nil {
		t.Fatal(err)
	}
	return k, n
}

func wantToken(t *testing.T, k *tokenSource, want string) {
	t.Helper()
	g, err := k.token(t.Context(), heldKey)
	if err != nil || g == nil || g.Access.Reveal() != want {
		t.Errorf("got %v, %v, want %s", g, err, want)
	}
}

func TestConcurrentCallersShareOneRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, n := rotating(t, MemoryStore(), time.Hour)
		time.Sleep(time.Hour)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { wantToken(t, k, "access-1") })
		}
		wg.Wait()
		if n.Load() != 1 {
			t.Errorf("got %d refreshes, want 1", n.Load())
		}
	})
}

func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := rotating(t, MemoryStore(), time.Hour)
		time.Sleep(58 * time.Minute)
		wantToken(t, k, "access-0")
		time.Sleep(time.Minute)
		wantToken(t, k, "access-1")
		for lifetime, want := range map[time.Duration]time.Duration{8 * time.Second: 6 * time.Second, 2 * time.Hour: 119 * time.Minute} {
			if g := held(9, lifetime); time.Until(g.Renew) != want {
				t.Errorf("one of %v is renewed after %v, want %v", lifetime, time.Until(g.Renew), want)
			}
		}
		forever := held(2, time.Hour)
		forever.Expires, forever.Renew = time.Time{}, time.Time{}
		if err := k.put(t.Context(), heldKey, forever); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1000 * time.Hour)
		wantToken(t, k, "access-2")
	})
}

func TestRefusedTokensAreRenewedAndNewerOnesAreNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, n := rotating(t, MemoryStore(), time.Hour)
		for range 3 {
			if err := k.rejected(t.Context(), heldKey, "access-0"); err != nil {
				t.Fatal(err)
			}
			wantToken(t, k, "access-1")
		}
		if n.Load() != 1 {
			t.Errorf("got %d refreshes, want 1", n.Load())
		}
	})
}

func TestEndOfACallerDoesNotEndTheRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := rotating(t, MemoryStore(), time.Hour)
		time.Sleep(time.Hour)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := k.token(ctx, heldKey); !errors.Is(err, gone) {
				t.Errorf("the one who has gone: got %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() { wantToken(t, k, "access-1") })
		cancel(gone)
		wg.Wait()
	})
}

func TestFailedRefreshKeepsTheGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, n := rotating(t, MemoryStore(), time.Hour)
		renew, down := k.renew, errors.New("no route to host")
		attempts := 0
		k.renew = func(context.Context, grantKey, *grant) (*grant, error) { attempts++; return nil, down }
		var told []error
		k.report = func(err error) { told = append(told, err) }
		time.Sleep(59*time.Minute + 30*time.Second)
		for range 10 {
			wantToken(t, k, "access-0") // due, and still of use
		}
		if attempts != 1 || len(told) != 1 || !errors.Is(told[0], down) {
			t.Errorf("got %d attempts and %v told, want one of each", attempts, told)
		}
		time.Sleep(time.Minute)
		if g, err := k.token(t.Context(), heldKey); !errors.Is(err, down) || errors.Is(err, ErrSignInRequired) {
			t.Errorf("expired: got %v, %v, want %v", g, err, down)
		}
		k.renew = renew
		wantToken(t, k, "access-1")
		if n.Load() != 1 {
			t.Errorf("got %d refreshes", n.Load())
		}
	})
}

func TestRefusedRefreshTokenRequiresASignIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, n := rotating(t, MemoryStore(), time.Hour)
		n.Store(7) // the server has another refresh token
		time.Sleep(59 * time.Minute)
		wantToken(t, k, "access-0")
		time.Sleep(time.Minute)
		for range 2 {
			if g, err := k.token(t.Context(), heldKey); g != nil || !errors.Is(err, ErrSignInRequired) {
				t.Errorf("got %v, %v, want %v", g, err, ErrSignInRequired)
			}
		}
		if err := k.put(t.Context(), heldKey, held(7, time.Hour)); err != nil {
			t.Fatal(err)
		}
		wantToken(t, k, "access-7")
	})
}

func TestRefreshTokensAreNotExpected(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-181a")
	synctest.Test(t, func(t *testing.T) {
		k := &tokenSource{store: MemoryStore()}
		if g, err := k.token(t.Context(), heldKey); g != nil || err != nil {
			t.Errorf("without a grant: got %v, %v", g, err)
		}
		g := held(0, time.Hour)
		g.Refresh = ""
		if err := k.put(t.Context(), heldKey, g); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59*time.Minute + 59*time.Second)
		wantToken(t, k, "access-0")
		time.Sleep(time.Second)
		if g, err := k.token(t.Context(), heldKey); g != nil || !errors.Is(err, ErrSignInRequired) {
			t.Errorf("expired: got %v, %v, want %v", g, err, ErrSignInRequired)
		}
	})
}

func TestFailedRefreshLeavesANewerGrant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := MemoryStore()
		slow, _ := rotating(t, s, time.Hour)
		fast, n := rotating(t, s, time.Hour)
		time.Sleep(time.Hour)
		wantToken(t, fast, "access-1")
		slow.renew = func(context.Context, grantKey, *grant) (*grant, error) {
			return nil, fmt.Errorf("%w: reuse of a refresh token", ErrSignInRequired)
		}
		wantToken(t, slow, "access-1")
		if err := slow.rejected(t.Context(), heldKey, "access-0"); err != nil {
			t.Fatal(err)
		}
		wantToken(t, fast, "access-1")
		if n.Load() != 1 {
			t.Errorf("got %d refreshes", n.Load())
		}
	})
}

// fullStore takes nothing while it is full, after change was called.
type fullStore struct {
	Store
	full bool
}

var errFull = errors.New("no space left on device")

func (s *fullStore) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	return s.Store.Update(ctx, key, func(old []byte) ([]byte, error) {
		text, err := change(old)
		if err == nil && s.full {
			err = errFull
		}
		return text, err
	})
}

func TestTokensThatCannotBeStoredAreNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fullStore{Store: MemoryStore()}
		k, n := rotating(t, s, time.Hour)
		told := 0
		k.report = func(err error) {
			told++
			if !errors.Is(err, errFull) {
				t.Errorf("told %v, want %v", err, errFull)
			}
		}
		s.full = true
		time.Sleep(time.Hour)
		wantToken(t, k, "access-1")
		wantToken(t, k, "access-1")
		if n.Load() != 1 || told == 0 {
			t.Errorf("got %d refreshes, told %d times", n.Load(), told)
		}
		s.full = false
		wantToken(t, k, "access-1")
		wantToken(t, &tokenSource{store: s}, "access-1")
		s.full = true
		if err := k.put(t.Context(), heldKey, held(5, time.Hour)); err != nil {
			t.Fatal(err)
		}
		wantToken(t, k, "access-5")
	})
}

func TestGrantsOfAnotherKeyAreNeverUsed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-165", "R-167", "R-175a")
	for _, other := range []grantKey{
		{"https://evil.example", heldKey.Resource, heldKey.Account, heldKey.ClientID},
		{heldKey.Issuer, "https://other.example", heldKey.Account, heldKey.ClientID},
		{heldKey.Issuer, heldKey.Resource, "bob", heldKey.ClientID},
		{heldKey.Issuer, heldKey.Resource, heldKey.Account, "other"},
	} {
		k := &tokenSource{store: MemoryStore()}
		if err := k.put(t.Context(), heldKey, held(0, time.Hour)); err != nil {
			t.Fatal(err)
		}
		if g, err := k.token(t.Context(), other); g != nil || err != nil {
			t.Errorf("%v: got %v, %v", other, g, err)
		}
		moved, _ := k.store.Load(t.Context(), heldKey.String())
		set(t, k.store, other.String(), moved)
		if g, err := k.token(t.Context(), other); g != nil || err == nil || strings.Contains(err.Error(), "access-0") {
			t.Errorf("%v, what is not its own: got %v, %v", other, g, err)
		}
	}
}

// wire answers token requests in memory.
type wire func(r *http.Request, form url.Values) (status int, body string)

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	rec := httptest.NewRecorder()
	rec.Header().Set("Content-Type", "application/json")
	status, text := w(r, form)
	rec.WriteHeader(status)
	_, _ = rec.WriteString(text)
	return rec.Result(), nil
}

func (w wire) endpoint() *oauth.TokenEndpoint {
	return &oauth.TokenEndpoint{
		HTTP: &http.Client{Transport: w}, URL: heldKey.Issuer + "/token", Issuer: heldKey.Issuer,
		Auth: oauth.ClientAuth{Method: oauth.AuthNone, ID: heldKey.ClientID},
	}
}

func TestRefreshNamesTheResource(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-168a")
	old := held(0, time.Hour)
	old.Scopes = []string{"a", "b"}
	var sent url.Values
	for _, test := range []struct{ body, refresh, scopes string }{
		{`{"access_token":"new","token_type":"Bearer"}`, "refresh-0", "[a b]"},
		{`{"access_token":"new","token_type":"Bearer","refresh_token":"rotated","scope":"a"}`, "rotated", "[a]"},
	} {
		g, err := refreshed(t.Context(), wire(func(_ *http.Request, form url.Values) (int, string) { sent = form; return 200, test.body }).endpoint(), old)
		if err != nil || g.Access != "new" || g.Refresh.Reveal() != test.refresh || fmt.Sprint(g.Scopes) != test.scopes || g.key() != heldKey {
			t.Errorf("%s: got %+v, %v", test.body, g, err)
		}
	}
	want := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {"refresh-0"}, "resource": {heldKey.Resource}, "client_id": {"app"}}
	if sent.Encode() != want.Encode() {
		t.Errorf("got %v, want %v", sent, want)
	}
}

func TestRefreshErrorsAreClassified(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		body   string
		signIn bool
	}{
		{400, `{"error":"invalid_grant"}`, true},
		{401, `{"error":"invalid_client"}`, true},
		{400, `{"error":"refresh-0"}`, true},
		{200, `{"ok":false,"error":"token_revoked"}`, true},
		{400, `{"error":{"code":400}}`, true},
		{400, `{"error":"temporarily_unavailable"}`, false},
		{400, `{"error":"slow_down"}`, false},
		{429, `{"error":"refresh-0"}`, false},
		{503, `{"error":"invalid_grant"}`, false},
		{400, `{}`, false},
		{403, `{"message":"refresh-0"}`, false}, // of something in between
		{200, `{}`, false},
	} {
		e := wire(func(*http.Request, url.Values) (int, string) { return test.status, test.body }).endpoint()
		_, err := refreshed(t.Context(), e, held(0, time.Hour))
		if err == nil || errors.Is(err, ErrSignInRequired) != test.signIn || strings.Contains(err.Error(), "refresh-0") {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}

func TestOtherServersAndClientsAreSentNoRefreshToken(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-165")
	for _, change := range []func(*oauth.TokenEndpoint){
		func(e *oauth.TokenEndpoint) { e.Issuer = "https://evil.example" },
		func(e *oauth.TokenEndpoint) { e.Issuer = "https://as.example//" },
		func(e *oauth.TokenEndpoint) { e.Auth.ID = "other" },
	} {
		e := wire(func(*http.Request, url.Values) (int, string) { t.Error("a request was sent"); return 500, "" }).endpoint()
		change(e)
		if _, err := refreshed(t.Context(), e, held(0, time.Hour)); !errors.Is(err, ErrSignInRequired) {
			t.Errorf("got %v, want %v", err, ErrSignInRequired)
		}
	}
}

// Environment of a process that TestTwoProcessesRefreshOnce starts.
const (
	envStoreDir = "FONDACO_TEST_STORE"
	envServer   = "FONDACO_TEST_SERVER"
)

// refreshTogether asks for the token from many goroutines, when all processes are there.
func refreshTogether(t *testing.T, dir, server string) {
	k := &tokenSource{store: fileStoreIn(t, dir)}
	k.renew = func(ctx context.Context, _ grantKey, old *grant) (*grant, error) {
		e := &oauth.TokenEndpoint{HTTP: http.DefaultClient, URL: server + "/token", Issuer: old.Issuer, Auth: oauth.ClientAuth{ID: old.ClientID}}
		return refreshed(ctx, e, old)
	}
	resp, err := http.Get(server + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	var wg sync.WaitGroup
	for range 25 {
		wg.Go(func() { wantToken(t, k, "access-1") })
	}
	wg.Wait()
	http.DefaultClient.CloseIdleConnections()
}

func TestTwoProcessesRefreshOnce(t *testing.T) {
	if dir := os.Getenv(envStoreDir); dir != "" {
		refreshTogether(t, dir, os.Getenv(envServer))
		return
	}
	dir := filepath.Join(t.TempDir(), "tokens")
	k := &tokenSource{store: fileStoreIn(t, dir)}
	expired := held(0, -time.Second)
	if err := k.put(t.Context(), heldKey, expired); err != nil {
		t.Fatal(err)
	}
	const processes = 2
	var ready sync.WaitGroup
	ready.Add(processes)
	var refreshes atomic.Int32
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(http.ResponseWriter, *http.Request) { ready.Done() })
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		ready.Wait()
		n := refreshes.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"access-%d","token_type":"Bearer","refresh_token":"refresh-%d","expires_in":3600}`, n, n)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcessesRefreshOnce$", "-test.timeout=60s")
			cmd.Env = append(os.Environ(), envStoreDir+"="+dir, envServer+"="+s.URL)
			if output, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
	wg.Wait()
	if refreshes.Load() != 1 {
		t.Errorf("got %d refreshes, want 1", refreshes.Load())
	}
	g, _, err := k.load(t.Context(), heldKey)
	if err != nil || g.Refresh != "refresh-1" {
		t.Errorf("stored: got %v, %v, want the rotated token", g, err)
	}
}

func FuzzStoredGrant(f *testing.F) {
	text, err := encodeRecord(held(0, time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"issuer":"https://as.example","issuer":"https://evil.example"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := decodeGrant(text, heldKey)
		if err != nil {
			return
		}
		if g != nil && g.key() != heldKey {
			t.Fatalf("got a grant of %v", g.key())
		}
		again, err := encodeRecord(g)
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := decodeGrant(again, heldKey); err != nil || g != nil && twice.Access != g.Access {
			t.Errorf("got %v, %v", twice, err)
		}
	})
}
