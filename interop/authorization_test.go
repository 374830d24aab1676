package interop_test

import (
	"context"
	"encoding/json/jsontext"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// protect starts a protected server whose identifier has the path, and returns the
// identifier. Whoever may read notes may use it; the issuer has no sign-in for
// nothing.
func (i *issuer) protect(t *testing.T, path string, opts ...mcpauth.Option) string {
	t.Helper()
	var mux http.ServeMux
	resource := i.authority.serve(t, &mux) + path
	auth := mcpauth.New(resource, append(opts, mcpauth.RequireScopes("notes:read"), mcpauth.RootCAs(i.authority.pool))...)
	srv := mcpserver.New("notes", "1.0.0", nil)
	srv.Tool("whoami", "Tells who calls", func(ctx context.Context, _ struct{}) (string, error) {
		return mcp.IdentityFrom(ctx).Principal.Subject, nil
	})
	srv.Tool("write", "Writes a note", func(context.Context, struct{}) (string, error) { return "written", nil }, mcpserver.Scopes("notes:write"))
	mux.Handle(path, auth.Protect(srv.HTTPHandler()))
	mux.Handle("/.well-known/oauth-protected-resource", auth.Metadata())
	mux.Handle("/.well-known/oauth-protected-resource/", auth.Metadata())
	return resource
}

// user is a user with a browser and our client.
type user struct {
	*mcpauth.Client
	issuer  *issuer
	browser *browser
	visits  sync.WaitGroup
}

// newUser returns a user of the issuer. The options may say by which client.
func newUser(t *testing.T, i *issuer, opts mcpauth.ClientOptions) *user {
	t.Helper()
	u := &user{issuer: i, browser: newBrowser(t, i.authority)}
	opts.Name, opts.RootCAs = "interop", i.authority.pool
	opts.Browser = func(_ context.Context, address string) error {
		u.visits.Go(func() {
			if err := u.browser.open(address); err != nil {
				t.Error(err)
			}
		})
		return nil
	}
	u.Client = mcpauth.NewClient(&opts)
	t.Cleanup(u.visits.Wait)
	return u
}

// connect connects to a protected server.
func (u *user) connect(t *testing.T, resource string) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(resource), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: u.Client, Client: u.issuer.authority.client(t)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// use calls a tool.
func use(t *testing.T, c *mcpclient.Client, tool, want string) {
	t.Helper()
	if got, err := c.Call[string](t.Context(), tool, nil); err != nil || got != want {
		t.Errorf("%s: got %q, %v, want %q", tool, got, err, want)
	}
}

// count returns the number of events of a kind. The test fails if one was not for the
// resource.
func (i *issuer) count(t *testing.T, event, grant, resource string) (n int) {
	t.Helper()
	for _, e := range i.events(t) {
		if e.Event != event || e.Grant != grant {
			continue
		}
		n++
		if string(e.Resource) != string(jsontext.Value(`"`+resource+`"`)) {
			t.Errorf("%s %s: for %s, want %q", event, grant, e.Resource, resource)
		}
	}
	return n
}

// native is nativeClient in the options of our client.
func native(i *issuer) mcpauth.ClientOptions {
	return mcpauth.ClientOptions{Registered: []mcpauth.Registration{{Issuer: i.url, ID: "before"}}}
}

func TestSignInWithAClientThatIsRegisteredBefore(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nativeClient("before"))
	resource := i.protect(t, "/mcp", mcpauth.Issuer(i.url))
	use(t, newUser(t, i, native(i)).connect(t, resource), "whoami", "alice")
	if n := i.count(t, "grant", "authorization_code", resource); n != 1 {
		t.Errorf("got %d grants, want 1", n)
	}
}

func TestSignInWithAMetadataDocument(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	var mux http.ServeMux
	address := i.authority.serve(t, &mux) + "/client.json"
	u := newUser(t, i, mcpauth.ClientOptions{MetadataURL: address})
	document, err := u.MetadataDocument()
	if err != nil {
		t.Fatal(err)
	}
	mux.HandleFunc("/client.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})
	use(t, u.connect(t, i.protect(t, "/mcp", mcpauth.Issuer(i.url))), "whoami", "alice")
	for _, e := range i.events(t) {
		if e.Event == "registration_create" || e.Client != address {
			t.Errorf("got %+v, want client %s alone", e, address)
		}
	}
}

func TestSignInWithDynamicRegistration(t *testing.T) {
	t.Parallel()
	i := startIssuer(t)
	u := newUser(t, i, mcpauth.ClientOptions{})
	for _, path := range []string{"/mcp", "/other/mcp"} {
		use(t, u.connect(t, i.protect(t, path, mcpauth.Issuer(i.url))), "whoami", "alice")
	}
	registered := 0
	for _, e := range i.events(t) {
		if e.Event == "registration_create" {
			registered++
		}
	}
	if registered != 1 {
		t.Errorf("registered %d times, want once for two servers", registered)
	}
}

func TestTokensAreRefreshedAndRotated(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nativeClient("before"))
	resource := i.protect(t, "/brief/mcp", mcpauth.Issuer(i.url))
	u := newUser(t, i, native(i))
	c := u.connect(t, resource)
	use(t, c, "whoami", "alice")
	forms := u.browser.sent
	i.useUntilRefreshed(t, c, 3, resource)
	if u.browser.sent != forms {
		t.Errorf("alice filled in %d forms more, want none", u.browser.sent-forms)
	}
}

// useUntilRefreshed uses a server by many calls at once, until the tokens for it were
// refreshed so often. A rotated refresh token that is used twice ends all of them.
func (i *issuer) useUntilRefreshed(t *testing.T, c *mcpclient.Client, times int, resource string) {
	t.Helper()
	for late := time.Now().Add(3 * time.Minute); i.count(t, "grant", "refresh_token", resource) < times; {
		if time.Now().After(late) || t.Failed() {
			t.Fatalf("not refreshed %d times", times)
		}
		var work sync.WaitGroup
		for range 10 {
			work.Go(func() { use(t, c, "whoami", "alice") })
		}
		work.Wait()
		time.Sleep(50 * time.Millisecond)
	}
}

func TestKeysRotateWithoutAFailedCall(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nativeClient("before"))
	resource := i.protect(t, "/mcp", mcpauth.Issuer(i.url))
	before := newUser(t, i, native(i)).connect(t, resource)
	use(t, before, "whoami", "alice")
	i.rotate(t)
	use(t, newUser(t, i, native(i)).connect(t, resource), "whoami", "alice")
	use(t, before, "whoami", "alice")
}

func TestTokensAreIntrospected(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nativeClient("before"))
	resource := i.protect(t, "/opaque/mcp", mcpauth.Introspect(mcpauth.Introspection{
		Issuer: i.url, ClientID: protectedServer.ID, ClientSecret: protectedServer.Secret,
	}))
	use(t, newUser(t, i, native(i)).connect(t, resource), "whoami", "alice")
}

func TestAuthorizationRequestsArePushed(t *testing.T) {
	t.Parallel()
	i := startIssuerThat(t, true, nativeClient("before"))
	resource := i.protect(t, "/mcp", mcpauth.Issuer(i.url))
	use(t, newUser(t, i, native(i)).connect(t, resource), "whoami", "alice")
	pushed := 0
	for _, e := range i.events(t) {
		if e.Event == "pushed_authorization_request" {
			pushed++
		}
	}
	if pushed != 1 {
		t.Errorf("pushed %d times, want once", pushed)
	}
}

func TestTokensAreBoundToAKey(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nativeClient("before"))
	resource := i.protect(t, "/brief/mcp", mcpauth.Issuer(i.url), mcpauth.RequireProof())
	c := newUser(t, i, native(i)).connect(t, resource)
	i.useUntilRefreshed(t, c, 2, resource) // by tokens that are bound to the same key
	for _, e := range i.events(t) {
		if e.Event == "grant" && !e.Proof {
			t.Errorf("got %+v, want a proof", e)
		}
	}
}

func TestTokenForAnotherServerIsRefused(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nativeClient("before"))
	for name, opt := range map[string]mcpauth.Option{
		"/mcp": mcpauth.Issuer(i.url),
		"/opaque/mcp": mcpauth.Introspect(mcpauth.Introspection{
			Issuer: i.url, ClientID: protectedServer.ID, ClientSecret: protectedServer.Secret,
		}),
	} {
		ours := i.protect(t, name, opt)
		for resource, want := range map[string]int{
			ours: http.StatusOK, ours + "/": http.StatusUnauthorized, "https://mcp.example.com" + name: http.StatusUnauthorized,
		} {
			if got := i.ask(t, ours, i.signIn(t, "before", resource).access); got != want {
				t.Errorf("%s with a token for %s: got HTTP %d, want %d", ours, resource, got, want)
			}
		}
	}
}

// ask sends a request to a protected server and returns the status of the response.
func (i *issuer) ask(t *testing.T, resource, token string) int {
	t.Helper()
	const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, resource, strings.NewReader(discover))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover",
	} {
		req.Header.Set(name, value)
	}
	resp, err := i.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestToolThatNeedsMoreAsksForIt(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nativeClient("before"))
	resource := i.protect(t, "/mcp", mcpauth.Issuer(i.url))
	u := newUser(t, i, native(i))
	c := u.connect(t, resource)
	use(t, c, "whoami", "alice")
	if n := i.count(t, "grant", "authorization_code", resource); n != 1 {
		t.Errorf("signed in %d times, want once", n)
	}
	use(t, c, "write", "written")
	use(t, c, "whoami", "alice")
	if n := i.count(t, "grant", "authorization_code", resource); n != 2 {
		t.Errorf("signed in %d times, want once more for the tool", n)
	}
}
