package mcpauth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
)

// answering is a server without a network: it answers every request.
type answering func() (status int, body string)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := a()
	if status == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	h := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func newTestIntrospector(answer answering) *introspector {
	i := Introspection{Issuer: "https://id.example.com", Endpoint: "https://id.example.com/ask", ClientID: "a", ClientSecret: "b"}
	return newIntrospector(i, &issuerServer{issuer: i.Issuer, http: &http.Client{Transport: answer}}, defaultSkew)
}

const activeAnswer = `{"active":true,"sub":"ada","aud":"https://mcp.example.com/mcp"}`

func TestAnswersOfIntrospectionAreKeptForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		var down atomic.Bool
		i := newTestIntrospector(func() (int, string) {
			asked.Add(1)
			if down.Load() {
				return 500, ""
			}
			return 200, activeAnswer
		})
		for range 60 {
			if _, err := i.verify(t.Context(), "token"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			down.Store(true)
		}
		if got := asked.Load(); got != 1 {
			t.Errorf("asked %d times in a minute, want once", got)
		}
		if _, err := i.verify(t.Context(), "token"); err == nil || asDenial(err).status != http.StatusServiceUnavailable {
			t.Errorf("after a minute: got %v, want 503", err)
		}
	})
}

// TestTokensAreKeptAsDigests looks into all that a verifier remembers. That of JWTs
// remembers keys only.
func TestTokensAreKeptAsDigests(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-194a")
	i := newTestIntrospector(func() (int, string) { return 200, activeAnswer })
	if _, err := i.verify(t.Context(), "canary-token"); err != nil || len(i.cached) != 1 {
		t.Fatalf("got %d cached, %v", len(i.cached), err)
	}
	text := fmt.Sprintf("%+v", i.cached)
	for digest, entry := range i.cached {
		text += fmt.Sprintf("%s %+v %s", digest[:], entry.token, entry.token.Claims)
	}
	if strings.Contains(text, "canary-token") || !strings.Contains(text, "ada") {
		t.Errorf("cached %s", text)
	}
}

func TestRefusalsOfIntrospectionAreNotKept(t *testing.T) {
	t.Parallel()
	i := newTestIntrospector(func() (int, string) { return 200, `{"active":false}` })
	for range 3 {
		if _, err := i.verify(t.Context(), "token"); err == nil || asDenial(err).status != http.StatusUnauthorized {
			t.Errorf("got %v, want 401", err)
		}
	}
	if len(i.cached) != 0 {
		t.Errorf("%d are cached", len(i.cached))
	}
}

func TestCacheOfIntrospectedTokensIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestIntrospector(func() (int, string) { return 200, activeAnswer })
		fill := func(prefix string, n int) {
			for k := range n {
				if _, err := i.verify(t.Context(), prefix+strconv.Itoa(k)); err != nil {
					t.Fatal(err)
				}
			}
		}
		fill("old", maxIntrospected+10)
		if got := len(i.cached); got != maxIntrospected {
			t.Errorf("%d are cached, want %d", got, maxIntrospected)
		}
		time.Sleep(introspectionKept)
		fill("new", 1)
		if got := len(i.cached); got != 1 {
			t.Errorf("%d are cached when the others are over, want one", got)
		}
	})
}

func TestIntrospectionWithoutAnswerTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newTestIntrospector(func() (int, string) { return 0, "" })
		begin := time.Now()
		var callers sync.WaitGroup
		for n := range 3 * maxIntrospecting {
			callers.Go(func() {
				if _, err := i.verify(t.Context(), strconv.Itoa(n)); err == nil || asDenial(err).status != http.StatusServiceUnavailable {
					t.Errorf("got %v, want 503", err)
				}
			})
		}
		callers.Wait()
		if got := time.Since(begin); got != introspectionTimeout {
			t.Errorf("waited %v, want %v", got, introspectionTimeout)
		}
	})
}

func TestLateVerifierIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		token := &Token{Issuer: "static", Subject: "ada", Audience: []string{"x"}}
		for _, wait := range []time.Duration{verifierTimeout - time.Second, verifierTimeout + time.Second} {
			v := customVerifier(func(context.Context, string) (*Token, error) {
				time.Sleep(wait)
				return token, nil
			})
			got, err := v.verify(t.Context(), "x")
			if late := wait > verifierTimeout; late != (err != nil) || late != (got == nil) {
				t.Errorf("after %v: got %v, %v", wait, got, err)
			}
			if err != nil && asDenial(err).status != http.StatusServiceUnavailable {
				t.Errorf("got %v, want 503", err)
			}
		}
	})
}
