package mcpauth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// visit asks the loopback receiver, and returns the status.
func visit(t *testing.T, method, address string, host string) (int, *http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp, string(text)
}

func TestReceiverAnswersOneRequestOnly(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-170b")
	r := newRealm(t)
	r.respond = func(response url.Values) { response["note"] = []string{"<script>SHOWN</script>"} }
	o := r.options()
	o.Browser = func(ctx context.Context, address string) error {
		back, err := r.signIn(ctx, address)
		if err != nil {
			return err
		}
		u, _ := url.Parse(back)
		state := u.Query().Get("state")
		change := func(f func(*url.URL)) string {
			other := *u
			f(&other)
			return other.String()
		}
		for address, method := range map[string]string{
			change(func(u *url.URL) { u.Path = "/" }):                                                      http.MethodGet,
			change(func(u *url.URL) { u.Path = "/callback/" }):                                             http.MethodGet,
			change(func(u *url.URL) { u.RawQuery = strings.ReplaceAll(u.RawQuery, state, state[1:]+"A") }): http.MethodGet,
			change(func(u *url.URL) { u.RawQuery = "code=x" }):                                             http.MethodGet,
			change(func(u *url.URL) { u.RawQuery += "&state=" + state }):                                   http.MethodGet,
			back + "&x=1": http.MethodPost,
			back + "&x=2": http.MethodHead,
		} {
			if status, _, text := visit(t, method, address, ""); status != http.StatusNotFound || strings.Contains(text, "SHOWN") {
				t.Errorf("%s %s: status %d, %s", method, address, status, text)
			}
		}
		for _, host := range []string{"evil.example", "localhost:" + u.Port(), "127.0.0.1"} {
			if status, _, _ := visit(t, http.MethodGet, back, host); status != http.StatusNotFound {
				t.Errorf("host %s: status %d", host, status)
			}
		}
		status, resp, text := visit(t, http.MethodGet, back, "")
		if status != http.StatusOK || strings.Contains(text, "SHOWN") || strings.Contains(text, "CANARY") || !strings.HasPrefix(resp.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("status %d, %v\n%s", status, resp.Header, text)
		}
		if status, _, _ := visit(t, http.MethodGet, back, ""); status != http.StatusNotFound && status != 0 {
			t.Errorf("second request: status %d", status)
		}
		return nil
	}
	r.succeeds(mcpauth.NewClient(o))
	if len(r.forms) != 1 {
		t.Errorf("%d token requests", len(r.forms))
	}
}

func TestStateBelongsToOneSignIn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-170b", "R-179")
	a, b := newRealm(t), newRealm(t)
	backs := map[*realm]chan string{a: make(chan string, 1), b: make(chan string, 1)}
	o := a.options()
	o.Browser = func(ctx context.Context, address string) error {
		from := a
		if strings.HasPrefix(address, b.issuer.URL) {
			from = b
		}
		back, err := from.signIn(ctx, address)
		backs[from] <- back
		return err
	}
	c := mcpauth.NewClient(o)
	done := make(chan error, 2)
	for _, r := range []*realm{a, b} {
		go func() { _, err := r.call(c); done <- err }()
	}
	backA, backB := <-backs[a], <-backs[b]
	uA, _ := url.Parse(backA)
	uB, _ := url.Parse(backB)
	// The receiver of one sign-in does not take the response to another.
	if status, _, _ := visit(t, http.MethodGet, "http://"+uA.Host+uA.Path+"?"+uB.RawQuery, ""); status != http.StatusNotFound {
		t.Errorf("swapped: status %d", status)
	}
	// A code of one under the state of the other is refused by its issuer.
	mixed := uA.Query()
	mixed.Set("state", uB.Query().Get("state"))
	_, _, _ = visit(t, http.MethodGet, "http://"+uB.Host+uB.Path+"?"+mixed.Encode(), "")
	if err := <-done; err == nil || !strings.Contains(err.Error(), "another issuer") {
		t.Errorf("got %v", err)
	}
	if _, _, text := visit(t, http.MethodGet, backA, ""); !strings.Contains(text, "close this window") {
		t.Errorf("got %s", text)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(a.forms) != 1 || len(b.forms) != 0 {
		t.Errorf("%d and %d token requests", len(a.forms), len(b.forms))
	}
}

func TestWebApplicationsFinishTheirOwnSignIn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-174", "R-182")
	r := newRealm(t)
	o := r.options()
	o.RedirectURL = "https://app.example.com/back"
	backs := make(chan string, 1)
	o.Browser = func(ctx context.Context, address string) error {
		back, err := r.signIn(ctx, address)
		backs <- back
		return err
	}
	c, stranger := mcpauth.NewClient(o), mcpauth.NewClient(o)
	go func() {
		back := <-backs
		u, _ := url.Parse(back)
		for _, wrong := range []string{"", "%zz", "https://app.example.com/back", "https://evil.example/back?" + u.RawQuery, "https://app.example.com/other?" + u.RawQuery} {
			if err := c.Finish(wrong); !errors.Is(err, mcpauth.ErrUnknownResponse) {
				t.Errorf("%s: got %v", wrong, err)
			}
		}
		if err := stranger.Finish(back); !errors.Is(err, mcpauth.ErrUnknownResponse) {
			t.Errorf("the response of another user: %v", err)
		}
		if err := c.Finish(u.RequestURI()); err != nil {
			t.Error(err)
		}
		if err := c.Finish(back); !errors.Is(err, mcpauth.ErrUnknownResponse) {
			t.Errorf("a second time: %v", err)
		}
	}()
	r.succeeds(c)
	if r.clients[0]["application_type"] != "web" || r.asked[0].Get("redirect_uri") != o.RedirectURL {
		t.Errorf("registered %v", r.clients[0])
	}
	for _, bad := range []string{"http://app.example.com/back", "com.example.app:/back", "/back"} {
		o := r.options()
		o.RedirectURL = bad
		r.fails(mcpauth.NewClient(o), "RedirectURL")
	}
}

func TestSignInWithABrowserOnAnotherMachine(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.options()
	var c *mcpauth.Client
	o.Browser = func(ctx context.Context, address string) error {
		back, err := r.signIn(ctx, address) // where 127.0.0.1 is another machine
		if err != nil {
			return err
		}
		return c.Finish(back)
	}
	c = mcpauth.NewClient(o)
	r.succeeds(c)
}

func TestSignInTimesOut(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.options()
	o.SignInTime = time.Millisecond
	var back string
	o.Browser = func(ctx context.Context, address string) (err error) {
		back, err = r.signIn(context.WithoutCancel(ctx), address)
		<-ctx.Done()
		return err
	}
	c := mcpauth.NewClient(o)
	if err := r.fails(c, "has expired"); !errors.Is(err, mcpauth.ErrSignInRequired) {
		t.Errorf("got %v", err)
	}
	if !errors.Is(c.Finish(back), mcpauth.ErrUnknownResponse) {
		t.Error("a late response was taken")
	}
}

func TestBrowserFailureIsReported(t *testing.T) {
	t.Parallel()
	r := newRealm(t)
	o := r.options()
	broken := errors.New("no screen")
	o.Browser = func(context.Context, string) error { return broken }
	if err := r.fails(mcpauth.NewClient(o), "no screen"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
