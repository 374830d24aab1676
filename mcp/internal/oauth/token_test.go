package oauth_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

// server answers token requests in memory.
type server struct {
	answer func(r *http.Request, form url.Values) *http.Response

	mu    sync.Mutex
	forms []url.Values
	heads []http.Header
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.forms, s.heads = append(s.forms, form), append(s.heads, r.Header)
	s.mu.Unlock()
	resp := s.answer(r, form)
	resp.Request = r
	return resp, nil
}

func respond(status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json;charset=UTF-8"}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func always(status int, body string, header ...string) *server {
	return &server{answer: func(*http.Request, url.Values) *http.Response { return respond(status, body, header...) }}
}

func (s *server) endpoint() *oauth.TokenEndpoint {
	return &oauth.TokenEndpoint{HTTP: &http.Client{Transport: s}, URL: "https://as.example/token", Issuer: "https://as.example"}
}

const bearer = `{"access_token":"t","token_type":"bearer"}`

func TestTokenRequestsAreForms(t *testing.T) {
	t.Parallel()
	s := always(200, bearer)
	form := url.Values{"grant_type": {"refresh_token"}, "resource": {"https://mcp.example/mcp"}}
	e := s.endpoint()
	e.Auth = oauth.ClientAuth{Method: oauth.AuthNone, ID: "app"}
	e.HTTP.Jar = jar{}
	if _, err := e.Request(t.Context(), form); err != nil {
		t.Fatal(err)
	}
	want := url.Values{"grant_type": {"refresh_token"}, "resource": {"https://mcp.example/mcp"}, "client_id": {"app"}}
	if got := s.forms[0]; got.Encode() != want.Encode() {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(form) != 2 {
		t.Errorf("the form of the caller was changed: %v", form)
	}
	h := s.heads[0]
	if h.Get("Content-Type") != "application/x-www-form-urlencoded" || h.Get("Accept") != "application/json" || h.Get("Cookie") != "" {
		t.Errorf("got %v", h)
	}
}

// jar has a cookie for everybody.
type jar struct{}

func (jar) SetCookies(*url.URL, []*http.Cookie) {}

func (jar) Cookies(*url.URL) []*http.Cookie { return []*http.Cookie{{Name: "session", Value: "1"}} }

func TestClientsAuthenticateByTheirMethod(t *testing.T) {
	t.Parallel()
	sign := func(audience string) (string, error) { return "signed for " + audience, nil }
	for _, test := range []struct {
		auth   oauth.ClientAuth
		header string
		form   url.Values
	}{
		{oauth.ClientAuth{}, "", url.Values{}},
		{oauth.ClientAuth{Method: "none", ID: "app"}, "", url.Values{"client_id": {"app"}}},
		{oauth.ClientAuth{Method: "client_secret_basic", ID: "a:b c", Secret: "p%&é"}, "Basic YSUzQWIrYzpwJTI1JTI2JUMzJUE5", url.Values{}},
		{oauth.ClientAuth{Method: "client_secret_post", ID: "app", Secret: "s"}, "", url.Values{"client_id": {"app"}, "client_secret": {"s"}}},
		{oauth.ClientAuth{Method: "private_key_jwt", ID: "app", Assert: sign}, "", url.Values{
			"client_id": {"app"}, "client_assertion": {"signed for https://as.example"}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		}},
	} {
		s := always(200, bearer)
		e := s.endpoint()
		e.Auth = test.auth
		if _, err := e.Request(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if got := s.heads[0].Get("Authorization"); got != test.header {
			t.Errorf("%q: got Authorization %q, want %q", test.auth.Method, got, test.header)
		}
		if got := s.forms[0]; got.Encode() != test.form.Encode() {
			t.Errorf("%q: got %v, want %v", test.auth.Method, got, test.form)
		}
	}
	for _, auth := range []oauth.ClientAuth{{Method: "client_secret_jwt", ID: "app", Secret: canary}, {Method: "private_key_jwt", ID: "app"}} {
		s := always(200, bearer)
		e := s.endpoint()
		e.Auth = auth
		if _, err := e.Request(t.Context(), nil); err == nil || leaks(err.Error()) || len(s.forms) != 0 {
			t.Errorf("%q: got %v after %d requests", auth.Method, err, len(s.forms))
		}
	}
}

func TestTokenResponsesAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) time.Time { return time.Now().Add(d) }
		for body, want := range map[string]oauth.TokenResponse{
			bearer: {Access: "t", Type: "Bearer"},
			`{"access_token":"t","token_type":"BEARER","expires_in":60,"refresh_token":"r","scope":"a b a","id_token":"x"}`: {
				Access: "t", Type: "Bearer", Refresh: "r", Expires: in(time.Minute), Scopes: []string{"a", "b"}, HasScope: true,
			},
			`{"access_token":"t","token_type":"Bearer","expires_in":"60","scope":""}`: {Access: "t", Type: "Bearer", Expires: in(time.Minute), HasScope: true},
			`{"access_token":"t","token_type":"Bearer","expires_in":null}`:            {Access: "t", Type: "Bearer"},
			`{"access_token":"t","token_type":"Bearer","expires_in":1e300}`:           {Access: "t", Type: "Bearer", Expires: in(87600 * time.Hour)},
			`{"access_token":"t","token_type":"N_A","issued_token_type":"urn:x"}`:     {Access: "t", Type: "N_A", IssuedType: "urn:x"},
		} {
			got, err := always(200, body).endpoint().Request(t.Context(), nil)
			if err != nil || !got.Expires.Equal(want.Expires) || got.Access != want.Access || got.Refresh != want.Refresh || got.Type != want.Type ||
				got.IssuedType != want.IssuedType || !slices.Equal(got.Scopes, want.Scopes) || got.HasScope != want.HasScope {
				t.Errorf("%s: got %#v, %v, want %#v", body, got, err, want)
			}
		}
	})
}

func TestBadTokenResponsesAreErrors(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*server{
		"empty":               always(200, ``),
		"not JSON":            always(200, canary),
		"an array":            always(200, `["`+canary+`"]`),
		"no token":            always(200, `{"token_type":"Bearer"}`),
		"no type":             always(200, `{"access_token":"`+canary+`"}`),
		"unknown type":        always(200, `{"access_token":"t","token_type":"`+canary+`"}`),
		"bound to no key":     always(200, `{"access_token":"`+canary+`","token_type":"DPoP"}`),
		"token twice":         always(200, `{"access_token":"`+canary+`","access_token":"t","token_type":"Bearer"}`),
		"token with space":    always(200, `{"access_token":"`+canary+` x","token_type":"Bearer"}`),
		"token with line":     always(200, `{"access_token":"`+canary+`\r\nX: y","token_type":"Bearer"}`),
		"refresh with zero":   always(200, `{"access_token":"t","refresh_token":"`+canary+`\u0000","token_type":"Bearer"}`),
		"number for token":    always(200, `{"access_token":7,"token_type":"Bearer"}`),
		"negative lifetime":   always(200, `{"access_token":"t","token_type":"Bearer","expires_in":-1}`),
		"lifetime of words":   always(200, `{"access_token":"t","token_type":"Bearer","expires_in":"`+canary+`"}`),
		"other content type":  always(200, bearer, "Content-Type", "text/html"),
		"form":                always(200, "access_token="+canary, "Content-Type", "application/x-www-form-urlencoded"),
		"too long":            always(200, `{"access_token":"t","token_type":"Bearer","x":"`+strings.Repeat("x", 1<<20)+`"}`),
		"too deep":            always(200, `{"x":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`,"access_token":"t","token_type":"Bearer"}`),
		"invalid UTF-8":       always(200, "{\"access_token\":\"t\xff\",\"token_type\":\"Bearer\"}"),
		"moved":               always(307, bearer, "Location", "https://evil.example/"+canary),
		"seen at other place": always(303, bearer, "Location", "https://evil.example/"+canary),
		"error with a token":  always(201, `{"error":"`+canary+`","access_token":"t","token_type":"Bearer"}`),
	} {
		got, err := s.endpoint().Request(t.Context(), url.Values{"refresh_token": {canary}})
		if err == nil || leaks(err.Error()) || len(s.forms) != 1 {
			t.Errorf("%s: got %v, %v after %d requests", name, got, err, len(s.forms))
		}
	}
}

func TestOnlyCodesOfTheStandardsAreRepeated(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":"invalid_grant","error_description":"` + canary + `","error_uri":"` + canary + `"}`: "invalid_grant",
		`{"error":"invalid_client"}`:            "invalid_client",
		`{"error":"invalid_target"}`:            "invalid_target",
		`{"error":"` + canary + `"}`:            "",
		`{"error":"invalid_grant","error":"x"}`: "",
		`{"error":["` + canary + `"]}`:          "",
		canary:                                  "",
	} {
		_, err := always(400, body).endpoint().Request(t.Context(), nil)
		refused, ok := errors.AsType[*oauth.Error](err)
		if !ok || refused.Code != want || refused.Status != 400 || leaks(err.Error()) {
			t.Errorf("%s: got %v, want code %q", body, err, want)
		}
	}
}

func TestTokensAreNotRequestedOverPlainHTTP(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182")
	for address, allowed := range map[string]bool{
		"https://as.example/token": true, "http://127.0.0.1:9/token": true, "http://localhost/token": true,
		"http://as.example/token": false, "http://127.0.0.1.example/token": false, "ftp://as.example/token": false, "/token": false, "https://user:" + canary + "@as.example/": false,
	} {
		s := always(200, bearer)
		e := s.endpoint()
		e.URL = address
		if _, err := e.Request(t.Context(), nil); (err == nil) != allowed || len(s.forms) == 1 != allowed || err != nil && leaks(err.Error()) {
			t.Errorf("%s: got %v after %d requests", address, err, len(s.forms))
		}
	}
}

// stamp is a prover whose proofs show what went into them.
type stamp struct{ nonce string }

func (p *stamp) Proof(method, url string, access oauth.Secret) (string, error) {
	return fmt.Sprintf("%s %s %s %s", method, url, access.Reveal(), p.nonce), nil
}

func (p *stamp) Remember(_ string, h http.Header) bool {
	old := p.nonce
	if h.Get("DPoP-Nonce") != "" {
		p.nonce = h.Get("DPoP-Nonce")
	}
	return p.nonce != old
}

func TestServerMayRequireItsNonceOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-403")
	s := &server{answer: func(r *http.Request, _ url.Values) *http.Response {
		if !strings.HasSuffix(r.Header.Get("DPoP"), "n1") {
			return respond(400, `{"error":"use_dpop_nonce"}`, "DPoP-Nonce", "n1")
		}
		return respond(200, `{"access_token":"t","token_type":"dpop"}`, "DPoP-Nonce", "n2")
	}}
	p := new(stamp)
	e := s.endpoint()
	e.Prover = p
	got, err := e.Request(t.Context(), nil)
	if err != nil || got.Type != "DPoP" || p.nonce != "n2" {
		t.Fatalf("got %#v, %v, nonce %q", got, err, p.nonce)
	}
	if want := "POST https://as.example/token  n1"; len(s.heads) != 2 || s.heads[1].Get("DPoP") != want {
		t.Errorf("got %v, want %q in the second", s.heads, want)
	}
	endless := 0
	s.answer = func(*http.Request, url.Values) *http.Response {
		endless++
		return respond(400, `{"error":"use_dpop_nonce"}`, "DPoP-Nonce", fmt.Sprint("n", 10+endless))
	}
	if _, err := e.Request(t.Context(), nil); err == nil || endless != 2 {
		t.Errorf("a server that always wants another nonce: got %v after %d requests", err, endless)
	}
	s.answer = func(*http.Request, url.Values) *http.Response {
		endless++
		return respond(400, `{"error":"use_dpop_nonce"}`)
	}
	if _, err := e.Request(t.Context(), nil); err == nil || endless != 3 {
		t.Errorf("a server that does not say which nonce: got %v after %d requests", err, endless-2)
	}
}

// broken is a connection that fails with an error in which a server has quoted
// what it was sent.
type broken struct{ err error }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) { return nil, b.err }

func TestBrokenConnectionsQuoteNothing(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{fmt.Errorf("malformed HTTP response %q", canary), fmt.Errorf("malformed MIME header: %s", canary)} {
		e := always(200, bearer).endpoint()
		e.URL += "?" + canary
		e.HTTP.Transport = broken{cause}
		if _, err := e.Request(t.Context(), nil); err == nil || leaks(err.Error()) {
			t.Errorf("got %v", err)
		}
	}
	e := always(200, bearer).endpoint()
	e.HTTP.Transport = broken{context.DeadlineExceeded}
	if _, err := e.Request(t.Context(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want what it was", err)
	}
}

func FuzzTokenResponse(f *testing.F) {
	f.Add([]byte(bearer))
	f.Add([]byte(`{"access_token":"t","token_type":"DPoP","expires_in":3600.5,"refresh_token":"r","scope":"a b"}`))
	f.Add([]byte(`{"access_token":"t","access_token":"u"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := &server{answer: func(*http.Request, url.Values) *http.Response { return respond(200, string(body)) }}
		e := s.endpoint()
		e.Prover = new(stamp)
		got, err := e.Request(t.Context(), nil)
		if err != nil {
			if len(body) > 60 && bytes.Contains([]byte(err.Error()), body) {
				t.Errorf("error repeats the body: %v", err)
			}
			return
		}
		if got.Access == "" || strings.ContainsFunc(got.Access.Reveal()+got.Refresh.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("token %q", got.Access.Reveal())
		}
		if got.Type != oauth.TypeBearer && got.Type != oauth.TypeDPoP && got.Type != oauth.TypeNone {
			t.Errorf("type %q", got.Type)
		}
		if !got.Expires.IsZero() && (time.Until(got.Expires) > 88000*time.Hour || time.Until(got.Expires) < -time.Minute) {
			t.Errorf("expires %v", got.Expires)
		}
	})
}
