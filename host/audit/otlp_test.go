package audit_test

import (
	"encoding/json/v2"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

// collector is an http.RoundTripper that keeps the bodies of the records that it takes.
type collector struct {
	mu      sync.Mutex
	answers []int // the next ones; then 200
	bodies  []string
	headers []http.Header
	hold    chan struct{} // the answers wait for it, unless it is nil
}

// RoundTrip implements http.RoundTripper.
func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.hold != nil {
		<-c.hold
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	code := http.StatusOK
	if len(c.answers) > 0 {
		code, c.answers = c.answers[0], c.answers[1:]
	}
	answer := &http.Response{StatusCode: code, Status: http.StatusText(code), Header: http.Header{"Location": {"http://elsewhere.example/"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}
	if code != http.StatusOK {
		return answer, nil
	}
	var export struct {
		ResourceLogs []struct {
			ScopeLogs []struct {
				LogRecords []struct {
					Body struct {
						StringValue string `json:"stringValue"`
					} `json:"body"`
				} `json:"logRecords"`
			} `json:"scopeLogs"`
		} `json:"resourceLogs"`
	}
	if err := json.UnmarshalRead(r.Body, &export); err != nil {
		return nil, err
	}
	for _, of := range export.ResourceLogs {
		for _, in := range of.ScopeLogs {
			for _, record := range in.LogRecords {
				c.bodies = append(c.bodies, record.Body.StringValue)
			}
		}
	}
	return answer, nil
}

// writeTo writes n decisions to a log whose lines c gets, and returns the lines of the log, how many were dropped, and the errors.
func writeTo(t *testing.T, c *collector, n int) (lines []string, dropped int64, errs []error) {
	t.Helper()
	var mu sync.Mutex
	sink, err := audit.OpenOTLP(audit.OTLPOptions{
		Collector: "http://collector.example/", Header: http.Header{"Api-Key": {"secret"}}, Transport: c,
		OnError: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := audit.Open(path, &audit.Options{OTLP: sink})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if err := l.Write(host.Decision{Action: host.ActionCall, Outcome: host.OutcomeDone, Upstream: "git", Name: "log"}); err != nil {
			t.Fatal(err)
		}
	}
	if c.hold != nil {
		close(c.hold)
	}
	synctest.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	sink.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), sink.Dropped(), errs
}

func TestCollectorGetsTheLinesOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(collector)
		lines, dropped, errs := writeTo(t, c, 600)
		if !slices.Equal(c.bodies, lines) || len(lines) != 600 || dropped != 0 || errs != nil {
			t.Errorf("got %d records, %d dropped and %v, want the %d lines", len(c.bodies), dropped, errs, len(lines))
		}
		if h := c.headers[0]; h.Get("Api-Key") != "secret" || h.Get("Content-Type") != "application/json" {
			t.Errorf("got headers %v", h)
		}
	})
}

func TestCollectorThatIsBusyGetsTheLinesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{answers: []int{http.StatusServiceUnavailable, http.StatusTooManyRequests}, hold: make(chan struct{})}
		sink, err := audit.OpenOTLP(audit.OTLPOptions{Collector: "http://collector.example", Transport: c})
		if err != nil {
			t.Fatal(err)
		}
		l, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), &audit.Options{OTLP: sink})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Write(host.Decision{Action: host.ActionCall, Outcome: host.OutcomeDone}); err != nil {
			t.Fatal(err) // the collector does not answer, and the call does not wait
		}
		close(c.hold)
		for got := 0; got == 0; {
			time.Sleep(time.Second)
			c.mu.Lock()
			got = len(c.bodies)
			c.mu.Unlock()
		}
		_ = l.Close()
		sink.Close()
		if n := sink.Dropped(); n != 0 {
			t.Errorf("got %d dropped lines, want none", n)
		}
	})
}

func TestLinesThatACollectorDoesNotTakeAreCounted(t *testing.T) {
	for name, answer := range map[string]int{"refused": http.StatusBadRequest, "redirect": http.StatusTemporaryRedirect} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &collector{answers: []int{answer}}
				_, dropped, errs := writeTo(t, c, 1)
				if dropped != 1 || len(errs) != 1 || len(c.bodies) != 0 {
					t.Errorf("got %d dropped lines, %v and %d requests, want one error and no other request", dropped, errs, len(c.headers))
				}
			})
		})
	}
	t.Run("full", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &collector{hold: make(chan struct{})}
			lines, dropped, _ := writeTo(t, c, 5000)
			if dropped == 0 || int64(len(lines)-len(c.bodies)) != dropped {
				t.Errorf("got %d of %d lines and %d dropped, want the others dropped", len(c.bodies), len(lines), dropped)
			}
		})
	})
	t.Run("long lines", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := &collector{hold: make(chan struct{})}
			sink, err := audit.OpenOTLP(audit.OTLPOptions{Collector: "http://collector.example", Transport: c})
			if err != nil {
				t.Fatal(err)
			}
			const length = 16 << 10
			for range 2 * audit.MaxOTLPHeld / length {
				sink.Send(new(audit.Record), []byte(strings.Repeat("x", length)))
			}
			if got := sink.Dropped(); got != audit.MaxOTLPHeld/length {
				t.Errorf("got %d dropped lines, want %d: those beyond %d bytes", got, audit.MaxOTLPHeld/length, audit.MaxOTLPHeld)
			}
			close(c.hold)
			synctest.Wait()
			sink.Send(new(audit.Record), []byte("the next one"))
			sink.Close()
			if len(c.bodies) == 0 || c.bodies[len(c.bodies)-1] != "the next one" {
				t.Errorf("got %d lines, want those that were kept and the next one", len(c.bodies))
			}
		})
	})
}

// silent is an http.RoundTripper of a collector that never answers.
type silent struct{}

// RoundTrip implements http.RoundTripper.
func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestInterruptedRequestIsNoErrorOfTheCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink, err := audit.OpenOTLP(audit.OTLPOptions{Collector: "http://collector.example", Transport: silent{}, OnError: func(err error) { t.Errorf("got %v, want nothing but the count", err) }})
		if err != nil {
			t.Fatal(err)
		}
		l, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), &audit.Options{OTLP: sink})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Write(host.Decision{Action: host.ActionCall, Outcome: host.OutcomeDone}); err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		sink.Close()
		if n := sink.Dropped(); n != 1 {
			t.Errorf("got %d dropped lines, want that of the request", n)
		}
	})
}

func TestCollectorOfTheAuditLogIsAURLWithoutSecrets(t *testing.T) {
	for _, address := range []string{"", "collector:4318", "ftp://a", "http://user:hunter2@a", "http://a?key=hunter2"} {
		if _, err := audit.OpenOTLP(audit.OTLPOptions{Collector: address}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %v, want an error without secrets", address, err)
		}
	}
}
