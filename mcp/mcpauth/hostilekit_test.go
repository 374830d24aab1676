package mcpauth_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// hostile is a realm that lies. Whatever it does, its secrets are where they
// belong: an access token reaches its server, a code, a verifier, a refresh token
// and a client's secret reach its issuer, and none of them a log or an error.
type hostile struct {
	*realm
	options   *mcpauth.ClientOptions
	client    *mcpauth.Client // made from the options by the first call
	opened    []string        // by the browser
	log       bytes.Buffer    // written by slog, which locks
	errs      []error
	strangers []*stranger
}

func newHostile(tb testing.TB) *hostile {
	h := &hostile{realm: newRealm(tb)}
	h.options = h.realm.options()
	h.options.Logger = slog.New(slog.NewJSONHandler(&h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.options.Browser = func(ctx context.Context, address string) error {
		if h.opened = append(h.opened, address); !strings.HasPrefix(address, "https://127.0.0.1:") {
			return errors.New("the browser is led to another place")
		}
		return h.browse(ctx, address)
	}
	return h
}

// serverMetadata is the metadata of the issuer, to be changed.
func (h *hostile) serverMetadata() members {
	return h.metadata["/.well-known/oauth-authorization-server"]
}

// calls makes a call, and returns the error, which is a *mcpauth.SignInError.
func (h *hostile) calls(headers ...string) error {
	h.tb.Helper()
	if h.client == nil {
		h.client = mcpauth.NewClient(h.options)
	}
	_, err := h.call(h.client, headers...)
	h.errs = append(h.errs, err)
	if _, typed := errors.AsType[*mcpauth.SignInError](err); err != nil && !typed {
		h.tb.Errorf("got %T %v, want a *SignInError", err, err)
	}
	return err
}

// works makes a call that succeeds.
func (h *hostile) works() {
	h.tb.Helper()
	if err := h.calls(); err != nil {
		h.tb.Errorf("got %v\n%s", err, strings.Join(h.realm.log, "\n"))
	}
}

// ends makes a call that ends in an error that says what is wanted, and in no harm.
func (h *hostile) ends(want string, headers ...string) error {
	h.tb.Helper()
	err := h.calls(headers...)
	if err == nil || !strings.Contains(err.Error(), want) {
		h.tb.Errorf("got %v, want an error that says %q", err, want)
	}
	h.secretsStay()
	return err
}

// secretsStay fails the test if a secret is where it does not belong, or if a
// stranger was sought out.
func (h *hostile) secretsStay() {
	h.tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	access := "CANARY-" + h.tag + "access"
	toIssuer := []string{"CANARY-" + h.tag + "code", "CANARY-" + h.tag + "refresh", "CANARY-" + h.tag + "secret"}
	for _, form := range h.forms {
		toIssuer = append(toIssuer, form["code_verifier"]...)
	}
	for _, q := range h.asked {
		toIssuer = append(toIssuer, q["state"]...)
	}
	h.lacks("what the server heard", h.heardByServer.String(), toIssuer...)
	h.lacks("what the issuer heard", h.heardByIssuer.String(), access)
	everywhere := append(toIssuer, "CANARY", "BANNER")
	h.lacks("the log", h.log.String(), everywhere...)
	for _, err := range h.errs {
		h.lacks("an error", printed(err), everywhere...)
	}
	for _, s := range h.strangers {
		if n := s.visits(); n > 0 {
			h.tb.Errorf("%d connections to %s, want none", n, s.address)
		}
	}
}

// lacks fails the test if one of the secrets is in a text, as it is or encoded.
func (h *hostile) lacks(what, text string, secrets ...string) {
	h.tb.Helper()
	for _, secret := range slices.DeleteFunc(secrets, func(s string) bool { return s == "" }) {
		for _, form := range []string{secret, url.QueryEscape(secret), encode([]byte(secret))} {
			if strings.Contains(text, form) {
				h.tb.Errorf("%s holds the secret %q:\n%.2000s", what, secret, text)
			}
		}
	}
}

// printed is an error with all that it wraps, by every verb and in JSON.
func printed(err error) string {
	if err == nil {
		return ""
	}
	object, _ := json.Marshal(err) // of what cannot be encoded there is nothing
	text := fmt.Sprintf("%v %+v %#v %q %s\n", err, err, err, err, object)
	switch err := err.(type) {
	case interface{ Unwrap() error }:
		return text + printed(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range err.Unwrap() {
			text += printed(one)
		}
	}
	return text
}

// stranger is a port that nobody may connect to.
type stranger struct {
	address string // host:port

	mu sync.Mutex
	n  int
}

// stranger begins to watch a port.
func (h *hostile) stranger() *stranger {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.tb.Fatal(err)
	}
	s := &stranger{address: l.Addr().String()}
	h.strangers = append(h.strangers, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conn.Close()
			s.mu.Lock()
			s.n++
			s.mu.Unlock()
		}
	}()
	h.tb.Cleanup(func() { l.Close(); <-done })
	return s
}

func (s *stranger) visits() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// port is the port, with its colon.
func (s *stranger) port() string { return s.address[strings.LastIndex(s.address, ":"):] }

// answers is a handler that always gives the same answer.
func answers(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // who has had enough hangs up
	}
}
