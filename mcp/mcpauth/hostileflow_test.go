package mcpauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// TestMixUpAttackIsRefused is about an authorization server that sends its users to another one,
// to get the codes of that.
func TestMixUpAttackIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-179")
	h, honest := newHostile(t), newRealm(t)
	honest.tag = "honest-"
	h.serverMetadata()["authorization_endpoint"] = honest.issuer.URL + "/authorize"
	h.ends("it names another issuer")
	if len(honest.asked) != 1 || strings.Contains(h.took(), "/token") {
		t.Error("want a sign-in at the honest server, and no token request")
	}
	h.lacks("what the issuer heard", h.heardByIssuer.String(), "CANARY-honest-code")
	h.lacks("the log and the errors", h.log.String()+printed(h.errs[0]), "CANARY-honest-code", honest.asked[0].Get("state"))
}

// TestMixUpAttackWithoutIssuerParameterIsRefused is the same where no response has iss,
// and the client has the same identifier at both. The honest server does not take
// the redirect URI that was registered with the other.
func TestMixUpAttackWithoutIssuerParameterIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-170b")
	h, honest := newHostile(t), newRealm(t)
	honest.tag = "honest-"
	for _, r := range []*realm{h.realm, honest} {
		delete(r.metadata[serverPlace], "authorization_response_iss_parameter_supported")
		r.respond = func(response url.Values) { response.Del("iss") }
	}
	c := mcpauth.NewClient(h.options)
	honest.succeeds(c)
	ours := honest.clients[0]["redirect_uris"].([]any)[0].(string)
	registered, _ := url.Parse(ours)
	honest.lies["AS /authorize"] = func(w http.ResponseWriter, r *http.Request) {
		u, err := url.Parse(r.URL.Query().Get("redirect_uri"))
		if err == nil && u.Path == registered.Path { // at any port, by RFC 8252 7.3
			honest.serveIssuer(w, r)
			return
		}
		http.Error(w, "redirect_uri is not registered", http.StatusBadRequest)
	}
	h.client = c
	h.serverMetadata()["authorization_endpoint"] = honest.issuer.URL + "/authorize"
	h.ends("status 400")
	if len(honest.asked) != 1 || strings.Contains(h.took(), "/token") {
		t.Errorf("%d codes of the honest server, want none for the other", len(honest.asked)-1)
	}
	honest.kill(true)
	honest.succeeds(c)
}

// TestCodeOfAnotherFlow puts the code of an attacker's sign-in at the same issuer
// into the response to that of the user.
func TestCodeOfAnotherFlow(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-169a", "R-170b")
	h := newHostile(t)
	h.options.Browser = func(ctx context.Context, address string) error {
		back, err := h.signIn(ctx, address)
		if err != nil {
			return err
		}
		other, _ := url.Parse(address)
		q := other.Query()
		q.Set("state", "attacker")
		q.Set("code_challenge", hash("attacker"))
		other.RawQuery = q.Encode()
		theirs, err := h.signIn(ctx, other.String())
		if err != nil {
			return err
		}
		theirURL, _ := url.Parse(theirs)
		if status, _, _ := visit(t, http.MethodGet, theirs, ""); status != http.StatusNotFound {
			t.Errorf("the response of another sign-in: status %d", status)
		}
		mine, _ := url.Parse(back)
		mixed := mine.Query()
		mixed.Set("code", theirURL.Query().Get("code"))
		mine.RawQuery = mixed.Encode()
		_, _, _ = visit(t, http.MethodGet, mine.String(), "")
		return nil
	}
	h.ends("invalid_grant")
	if len(h.tokens) > 0 {
		t.Error("a token was issued")
	}
}

const markup = `<script>BANNER</script>"><img src=x onerror=alert(1)>`

// TestPageContainsNoInput is about what the browser shows after it came back.
func TestPageContainsNoInput(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-170b", "R-180")
	pages := make(map[string]bool)
	for _, name := range []string{"error", "error_description", "error_uri", "iss", "state", "code", "client_name", markup} {
		for _, failed := range []bool{false, true} {
			h := newHostile(t)
			h.options.Browser = func(ctx context.Context, address string) error {
				back, err := h.signIn(ctx, address)
				if err != nil {
					return err
				}
				u, _ := url.Parse(back)
				q := u.Query()
				if failed {
					q.Del("code")
					q.Set("error", "access_denied")
				}
				q.Set(name, markup)
				u.RawQuery = q.Encode()
				status, resp, page := visit(t, http.MethodGet, u.String(), "")
				switch {
				case status == http.StatusNotFound && name == "state":
					return errors.New("there is no other way back")
				case status != http.StatusOK, !strings.Contains(resp.Header.Get("Content-Security-Policy"), "default-src 'none'"), resp.Header.Get("X-Content-Type-Options") != "nosniff":
					t.Errorf("%s: status %d, %v", name, status, resp.Header)
				default:
					pages[page] = true
				}
				return nil
			}
			if err := h.calls(); err != nil && strings.ContainsAny(err.Error(), "<>") {
				t.Errorf("%s: got %v", name, err)
			}
			h.secretsStay()
		}
	}
	if text := fmt.Sprint(pages); len(pages) != 1 || strings.Contains(text, "BANNER") || strings.Contains(text, "CANARY") {
		t.Errorf("got %s, want one page that is the same for all", text)
	}
}

// badTokens are answers of a token endpoint that hold no token for us.
var badTokens = map[string]string{
	"another type":    `{"access_token":"CANARY-access","refresh_token":"CANARY-refresh","token_type":"mac"}`,
	"no type":         `{"access_token":"CANARY-access","refresh_token":"CANARY-refresh"}`,
	"bound to no key": `{"access_token":"CANARY-access","refresh_token":"CANARY-refresh","token_type":"DPoP"}`,
	"no access token": `{"access_token":"CANARY-access","refresh_token":"CANARY-refresh","token_type":"N_A"}`,
	"a list of types": `{"access_token":"CANARY-access","token_type":["Bearer"]}`,
	"a header more":   `{"access_token":"CANARY-access\r\nHost: evil.example","token_type":"Bearer"}`,
	"a refresh token": `{"refresh_token":"CANARY-refresh","token_type":"Bearer"}`,
	"in the past":     `{"access_token":"CANARY-access","token_type":"Bearer","expires_in":-1}`,
	"two tokens":      `{"access_token":"CANARY-access","access_token":"CANARY-access","token_type":"Bearer"}`,
}

// TestInvalidTokenResponsesAreErrors has them in the place of the first token, and in that of its
// successor. The refresh token that we have is then neither lost nor replaced.
func TestInvalidTokenResponsesAreErrors(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-181a")
	for name, body := range badTokens {
		h := newHostile(t)
		h.lies["AS /token"] = answers(http.StatusOK, body)
		h.ends("token")
		req, _ := http.NewRequest(http.MethodPost, h.mcp(), nil)
		if err := h.client.Authorize(req); err != nil || req.Header.Get("Authorization") != "" {
			t.Errorf("%s: then sends %q, %v", name, req.Header.Get("Authorization"), err)
		}
		delete(h.lies, "AS /token")
		h.works()
		h.kill(false)
		h.lies["AS /token"] = answers(http.StatusOK, body)
		h.ends("token")
		delete(h.lies, "AS /token")
		opened := len(h.opened)
		h.works()
		if f := h.forms[len(h.forms)-1]; len(h.opened) != opened || f.Get("refresh_token") != "CANARY-refresh-1" {
			t.Errorf("%s: then asked with %v, %d sign-ins more", name, f, len(h.opened)-opened)
		}
		h.secretsStay()
	}
}

// echoes are answers that repeat what was sent.
var echoes = map[string]func(w http.ResponseWriter, r *http.Request, sent string){
	"code of the error": func(w http.ResponseWriter, _ *http.Request, sent string) {
		answerJSON(w, http.StatusBadRequest, members{"error": sent, "error_description": sent, "error_uri": sent})
	},
	"description": func(w http.ResponseWriter, _ *http.Request, sent string) {
		answerJSON(w, http.StatusBadRequest, members{"error": "invalid_request", "error_description": sent, sent: sent})
	},
	"page": func(w http.ResponseWriter, _ *http.Request, sent string) { http.Error(w, sent, http.StatusTeapot) },
	"type": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.Header().Set("Content-Type", "text/"+url.QueryEscape(sent))
	},
	"encoding": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, sent)
	},
	"status": func(w http.ResponseWriter, _ *http.Request, sent string) { hijack(w, "HTTP/1.1 400 "+sent+"\r\n\r\n") },
	"no HTTP": func(w http.ResponseWriter, _ *http.Request, sent string) {
		hijack(w, sent+"\r\n\r\n")
	},
	"header": func(w http.ResponseWriter, _ *http.Request, sent string) {
		hijack(w, "HTTP/1.1 200 OK\r\n"+sent+"\r\n\r\n")
	},
	"length": func(w http.ResponseWriter, _ *http.Request, sent string) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: "+sent+"\r\n\r\n")
	},
	"chunk": func(w http.ResponseWriter, _ *http.Request, sent string) {
		hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+sent+"\r\n")
	},
	"location": func(w http.ResponseWriter, r *http.Request, sent string) {
		http.Redirect(w, r, "/"+url.PathEscape(sent), http.StatusFound)
	},
	"challenge": func(w http.ResponseWriter, _ *http.Request, sent string) {
		w.Header().Set("WWW-Authenticate", "Basic realm="+url.QueryEscape(sent))
		w.WriteHeader(http.StatusUnauthorized)
	},
	"types": func(w http.ResponseWriter, _ *http.Request, sent string) {
		answerJSON(w, http.StatusOK, members{"access_token": members{sent: sent}, "token_type": sent})
	},
	"token": func(w http.ResponseWriter, _ *http.Request, sent string) {
		answerJSON(w, http.StatusOK, members{"access_token": sent + " \x7f", "token_type": "Bearer"})
	},
}

func hijack(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
}

// TestSecretsEchoedByAServerAreNotInErrors has a token endpoint say what it was sent: code, verifier,
// refresh token and the client's secret.
func TestSecretsEchoedByAServerAreNotInErrors(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182")
	for name, echo := range echoes {
		for _, method := range []string{"client_secret_basic", "client_secret_post"} {
			h := newHostile(t)
			h.options.Registered = []mcpauth.Registration{{Issuer: h.issuer.URL, ID: "by-hand", Secret: "CANARY-secret", Method: method}}
			lie := func(w http.ResponseWriter, r *http.Request) {
				_ = r.ParseForm()
				h.mu.Lock()
				h.forms = append(h.forms, r.PostForm)
				h.mu.Unlock()
				_, secret, _ := r.BasicAuth()
				sent := r.PostForm.Encode() + " " + secret
				for _, values := range r.PostForm {
					sent += " " + values[0]
				}
				echo(w, r, sent)
			}
			h.lies["AS /token"] = lie
			h.ends("token endpoint: ")
			delete(h.lies, "AS /token")
			h.works()
			h.kill(false)
			h.lies["AS /token"] = lie
			if h.ends("token endpoint: "); t.Failed() {
				t.Fatal(name)
			}
		}
	}
}

// TestEndlessNoncesEndTheRequest is about servers that take no proof, and want another each
// time.
func TestEndlessNoncesEndTheRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-403")
	h := newHostile(t)
	h.options.BindTokens = true
	h.serverMetadata()["dpop_signing_alg_values_supported"] = []string{"ES256"}
	n := 0
	nonce := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			n++
			answers(status, body, "DPoP-Nonce", fmt.Sprint("n", n), "WWW-Authenticate", `DPoP error="use_dpop_nonce"`)(w, r)
		}
	}
	h.lies["AS /token"] = nonce(http.StatusBadRequest, `{"error":"use_dpop_nonce"}`)
	h.ends("use_dpop_nonce")
	if n != 2 {
		t.Errorf("%d token requests, want two", n)
	}
	delete(h.lies, "AS /token")
	h.binds = true
	h.works()
	n = 0
	h.lies["/mcp"] = nonce(http.StatusUnauthorized, "")
	_, err := mcpclient.Connect(t.Context(), mcpclient.URL(h.mcp()), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Auth: h.client, Client: h.server.Client()}})
	if h.errs = append(h.errs, err); err == nil || n > 8 {
		t.Errorf("got %v after %d requests, want an error after four of each message", err, n)
	}
	h.secretsStay()
}

// TestOddRegistrationResponses are answers to a dynamic registration.
func TestOddRegistrationResponses(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-173")
	for name, test := range map[string]struct {
		change members
		want   string // of the error; empty: the sign-in is as it was asked for
	}{
		"another redirect":       {members{"redirect_uris": []string{"https://evil.example/callback"}}, ""},
		"secret for ever":        {members{"client_secret": "CANARY-secret", "client_secret_expires_at": int64(1) << 62}, ""},
		"lifetime in the past":   {members{"client_secret": "CANARY-secret", "client_secret_expires_at": 1}, ""},
		"negative lifetime":      {members{"client_secret": "CANARY-secret", "client_secret_expires_at": -1}, ""},
		"no lifetime at all":     {members{"client_secret": "CANARY-secret"}, ""},
		"fraction of a lifetime": {members{"client_secret_expires_at": 1.5}, "JSON"},
		"method that is unknown": {members{"token_endpoint_auth_method": "BANNER"}, "token_endpoint_auth_method"},
		"method without a key":   {members{"token_endpoint_auth_method": "private_key_jwt"}, "token_endpoint_auth_method"},
		"no identifier":          {members{"client_id": ""}, "client_id"},
		"identifier of lines":    {members{"client_id": "BANNER\r\nHost: evil.example"}, "client_id"},
		"identifier too long":    {members{"client_id": strings.Repeat("BANNER", 1000)}, "client_id"},
		"secret of lines":        {members{"client_secret": "CANARY-secret\r\n"}, "client_id"},
	} {
		h := newHostile(t)
		h.register = func(members) (int, members) {
			return http.StatusCreated, with(members{"client_id": "client"}, test.change)
		}
		if test.want != "" {
			if h.ends(test.want); t.Failed() {
				t.Fatal(name)
			}
			continue
		}
		if h.works(); t.Failed() {
			t.Fatal(name)
		}
		if back := h.asked[0].Get("redirect_uri"); !strings.HasPrefix(back, "http://127.0.0.1:") {
			t.Errorf("%s: came back to %s", name, back)
		}
		h.secretsStay()
	}
}

// TestSlowResponsesTimeOut has servers that send a byte in a second, for ever.
func TestSlowResponsesTimeOut(t *testing.T) {
	t.Parallel()
	for place, want := range map[string]time.Duration{
		"/prm":      10 * time.Second,
		serverPlace: 20 * time.Second, // there are two places
		"/token":    10 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
			s := &http.Server{Handler: trickling(place)}
			go func() { _ = s.Serve(l) }()
			defer s.Close()
			c := mcpauth.NewClient(&mcpauth.ClientOptions{Grant: &mcpauth.ClientCredentials{Issuer: "http://127.0.0.1", ID: "robot", Secret: "CANARY-secret"}})
			c.DialBy(l.dial)
			req, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
			resp := &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{"Www-Authenticate": {`Bearer resource_metadata="http://127.0.0.1/prm"`}}}
			began := time.Now()
			err := c.Challenged(req, resp)
			if d := time.Since(began); err == nil || d != want || strings.Contains(printed(err), "CANARY") {
				t.Errorf("%s: got %v after %s, want an error after %s", place, err, d, want)
			}
		})
	}
}

// trickling is a server and its issuer, honest but for one place.
func trickling(place string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case place, "/.well-known/openid-configuration":
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		case "/prm":
			answerJSON(w, http.StatusOK, members{"resource": "http://127.0.0.1/mcp", "authorization_servers": []string{"http://127.0.0.1"}})
		default:
			answerJSON(w, http.StatusOK, members{"issuer": "http://127.0.0.1", "token_endpoint": "http://127.0.0.1/token"})
		}
	})
}

// pipes are connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }
