package streamhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

func TestStatelessAnswerIsJSONWithTheStatusOfItsError(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-015b", "R-126", "R-131", "R-132a", "G-j", "G-o")
	s := serveTest(t, newTestCore(plainTools), nil)
	a := s.post(modernCall("hello"), modernHeaders("tools/call", "hello")...)
	if a.status != 200 || a.header.Get(httpheader.ContentType) != httpheader.TypeJSON || !strings.Contains(a.body, `"resultType":"complete"`) {
		t.Errorf("got status %d, type %q, body %s, want 200 and JSON", a.status, a.header.Get(httpheader.ContentType), a.body)
	}
	if a := s.post(modernCall("fail"), modernHeaders("tools/call", "fail")...); a.status != 200 || !strings.Contains(a.body, "-32602") {
		t.Errorf("an error without a status: got %d, body %s, want 200 and -32602", a.status, a.body)
	}
	if a := s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + modernMeta + `}}`); a.status != 202 || a.body != "" {
		t.Errorf("notification: got status %d, body %q, want 202 and none", a.status, a.body)
	}
	modern := []string{httpheader.ProtocolVersion, "2026-07-28"}
	if a := s.post(`{"jsonrpc":"2.0","id":1,"result":{}}`, modern...); a.status != 400 || !strings.Contains(a.body, "a response") {
		t.Errorf("response: got status %d, body %s, want 400", a.status, a.body)
	}
}

func TestStatelessAnswerBecomesAStreamWithTheFirstMessage(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-132a", "R-133a", "R-133b", "R-135", "R-138", "D-08")
	s := serveTest(t, newTestCore(plainTools), nil)
	a := s.post(modernCall("talk"), modernHeaders("tools/call", "talk")...)
	reply, ok := strings.CutPrefix(a.body, event(noteA)+"\n"+event(noteB)+"\nevent: message\ndata: ")
	if a.status != 200 || !ok || !strings.Contains(reply, "said") || !strings.HasSuffix(reply, "}\n\n") {
		t.Errorf("got status %d, body %q, want two notifications and the reply", a.status, a.body)
	}
	for header, want := range map[string]string{httpheader.ContentType: httpheader.TypeEventStream, httpheader.AccelBuffering: "no", httpheader.CacheControl: "no-cache, no-transform"} {
		if got := a.header.Get(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
	if strings.Contains(a.body, "id: ") || strings.Contains(a.body, "retry: ") {
		t.Errorf("got body %q, want no event ids and no retry", a.body)
	}
}

// S-047.
func TestPayloadCannotEndItsEvent(t *testing.T) {
	t.Parallel()
	core := newTestCore(map[string]tool{"inject": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		return nil, in.BackChannel.Send(ctx, []byte("{}\n\nevent: x\rdata: y"))
	}})
	core.opaque = true
	s := serveTest(t, core, nil)
	a := s.post(modernCall("inject"), modernHeaders("tools/call", "inject")...)
	if !strings.HasPrefix(a.body, "event: message\ndata: {}\ndata: \ndata: event: x\ndata: data: y\n\n") {
		t.Errorf("got body %q, want the payload in data lines alone", a.body)
	}
}

func TestErrorOnAnOpenStreamIsAnEvent(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(map[string]tool{"x": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		_ = in.BackChannel.Send(ctx, []byte(noteA))
		return nil, errors.New("secret")
	}}), nil)
	a := s.post(modernCall("x"), modernHeaders("tools/call", "x")...)
	if a.status != 200 || !strings.Contains(a.body, "\n\nevent: message\ndata: ") || !strings.Contains(a.body, "-32603") || strings.Contains(a.body, "secret") {
		t.Errorf("got status %d, body %q, want the masked error as an event", a.status, a.body)
	}
}

func TestAnswerFormCanBeForced(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-132a")
	json := serveTest(t, newTestCore(plainTools), &Options{Answer: AnswerJSON})
	if a := json.post(modernCall("talk"), modernHeaders("tools/call", "talk")...); a.header.Get(httpheader.ContentType) != httpheader.TypeJSON || !strings.Contains(a.body, "said") {
		t.Errorf("JSON: got type %q, body %s", a.header.Get(httpheader.ContentType), a.body)
	}
	stream := serveTest(t, newTestCore(plainTools), &Options{Answer: AnswerStream})
	if a := stream.post(modernCall("hello"), modernHeaders("tools/call", "hello")...); a.header.Get(httpheader.ContentType) != httpheader.TypeEventStream || !strings.HasPrefix(a.body, "event: message\n") {
		t.Errorf("stream: got type %q, body %s", a.header.Get(httpheader.ContentType), a.body)
	}
	if a := stream.post(modernCall("hello"), modernHeaders("tools/call", "other")...); a.status != 400 || a.header.Get(httpheader.ContentType) != httpheader.TypeJSON {
		t.Errorf("stream, refused: got status %d, type %q, want 400 and JSON", a.status, a.header.Get(httpheader.ContentType))
	}
}

// serveRecorded runs one request against the handler without a network, so that
// time can be a test's own.
func serveRecorded(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func modernRequest(ctx context.Context, t *testing.T, name string) *http.Request {
	return request(ctx, t, "POST", "http://localhost/", modernCall(name), modernHeaders("tools/call", name)...)
}

func TestSlowAnswerBecomesAStreamAndIsKeptAlive(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-136a")
	for _, tt := range []struct {
		o        *Options
		takes    time.Duration
		kind     string
		comments int
	}{
		{nil, 4 * time.Second, httpheader.TypeJSON, 0},
		{nil, 6 * time.Second, httpheader.TypeEventStream, 0},
		{nil, 21 * time.Second, httpheader.TypeEventStream, 1},
		{nil, 51 * time.Second, httpheader.TypeEventStream, 3},
		{&Options{KeepAlive: time.Second}, 8500 * time.Millisecond, httpheader.TypeEventStream, 3},
		{&Options{Answer: AnswerJSON}, time.Minute, httpheader.TypeJSON, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := NewHandler(newTestCore(map[string]tool{"slow": func(context.Context, *exchange.Inbound) (any, error) {
				time.Sleep(tt.takes)
				return text("done"), nil
			}}), tt.o)
			w := serveRecorded(h, modernRequest(t.Context(), t, "slow"))
			if got := w.Header().Get(httpheader.ContentType); got != tt.kind {
				t.Errorf("after %v: got %s, want %s", tt.takes, got, tt.kind)
			}
			if got := strings.Count(w.Body.String(), ": \n\n"); got != tt.comments {
				t.Errorf("after %v: got %d comments, want %d", tt.takes, got, tt.comments)
			}
			if !strings.Contains(w.Body.String(), "done") {
				t.Errorf("after %v: got body %q, want the reply", tt.takes, w.Body)
			}
			h.Close()
		})
	}
}

func TestKeepAliveHoldsFromTheFirstEventOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		interval time.Duration
		comments int
	}{
		{time.Second, 4},
		{3 * time.Second, 1},
		{0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := NewHandler(newTestCore(map[string]tool{"slow": func(ctx context.Context, in *exchange.Inbound) (any, error) {
				if err := in.BackChannel.Send(ctx, []byte(noteA)); err != nil {
					return nil, err
				}
				time.Sleep(4900 * time.Millisecond)
				return text("done"), nil
			}}), &Options{KeepAlive: tt.interval})
			w := serveRecorded(h, modernRequest(t.Context(), t, "slow"))
			if got := strings.Count(w.Body.String(), ": \n\n"); got != tt.comments {
				t.Errorf("every %v: got %d comments, want %d", tt.interval, got, tt.comments)
			}
			h.Close()
		})
	}
}

// S-048.
func TestDisconnectCancelsAStatelessRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-137a", "R-137b", "D-16", "B-07")
	entered, ended := make(chan struct{}), make(chan struct{})
	s := serveTest(t, newTestCore(map[string]tool{"x": func(ctx context.Context, _ *exchange.Inbound) (any, error) {
		close(entered)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}}), nil)
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		<-entered
		hangUp()
	}()
	if _, err := s.Client().Do(request(ctx, t, "POST", s.URL, modernCall("x"), modernHeaders("tools/call", "x")...)); err == nil {
		t.Fatal("got an answer, want none")
	}
	<-ended // nothing else cancels it
}

func TestNothingIsSentAfterTheReply(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-133b", "R-273c")
	var late exchange.BackChannel
	s := serveTest(t, newTestCore(map[string]tool{"x": func(_ context.Context, in *exchange.Inbound) (any, error) {
		late = in.BackChannel
		return text("done"), nil
	}}), nil)
	s.post(modernCall("x"), modernHeaders("tools/call", "x")...)
	if err := late.Send(t.Context(), []byte(noteA)); !errors.Is(err, errAnswered) {
		t.Errorf("got %v, want %v", err, errAnswered)
	}
}

// net/http forbids it, and a timer can be late.
func TestNothingIsWrittenAfterTheHandlerReturns(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-137c")
	w := httptest.NewRecorder()
	a := newResponder(w, nil, nil)
	a.abandon()
	a.ticks.Add(1)
	a.tick()
	if err := a.Send(t.Context(), []byte(noteA)); !errors.Is(err, errAnswered) || len(w.Header()) > 0 || w.Body.Len() > 0 {
		t.Errorf("got %v, headers %v, body %q, want %v and none", err, w.Header(), w.Body, errAnswered)
	}
}

func TestSubscriptionsAreCountedAndEndWithTheHandler(t *testing.T) {
	t.Parallel()
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + modernMeta + `}}`
	synctest.Test(t, func(t *testing.T) {
		h := NewHandler(newTestCore(nil), &Options{MaxStreams: 1})
		newRequest := func(ctx context.Context) *http.Request {
			return request(ctx, t, "POST", "http://localhost/", listen, modernHeaders("subscriptions/listen", "")...)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		go serveRecorded(h, newRequest(ctx))
		synctest.Wait()
		hangUp()
		synctest.Wait() // and so there is room again
		first := make(chan *httptest.ResponseRecorder)
		go func() { first <- serveRecorded(h, newRequest(t.Context())) }()
		synctest.Wait()
		if w := serveRecorded(h, newRequest(t.Context())); w.Code != http.StatusServiceUnavailable || w.Header().Get(httpheader.RetryAfter) == "" {
			t.Errorf("the second: got status %d, want 503 and Retry-After", w.Code)
		}
		if err := h.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if w := <-first; !strings.Contains(w.Body.String(), `"id":1`) {
			t.Errorf("the first: got body %q, want its reply", w.Body)
		}
		if w := serveRecorded(h, newRequest(t.Context())); w.Code != http.StatusServiceUnavailable {
			t.Errorf("after the end: got status %d, want 503", w.Code)
		}
	})
}

// stuck is a client that takes nothing after the first bytes.
type stuck struct {
	*httptest.ResponseRecorder
	deadline time.Time
	room     int
}

func (s *stuck) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *stuck) Write(p []byte) (int, error) {
	if s.room -= len(p); s.room < 0 {
		time.Sleep(time.Until(s.deadline))
		return 0, context.DeadlineExceeded
	}
	return s.ResponseRecorder.Write(p)
}

func TestClientThatDoesNotReadIsGivenUpAfterTheWriteTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failure error
		sent := 0
		h := NewHandler(newTestCore(map[string]tool{"flood": func(ctx context.Context, in *exchange.Inbound) (any, error) {
			for failure == nil {
				failure = in.BackChannel.Send(ctx, []byte(noteA))
				sent++
			}
			return nil, context.Cause(ctx)
		}}), &Options{WriteTimeout: 3 * time.Second})
		began := time.Now()
		h.ServeHTTP(&stuck{ResponseRecorder: httptest.NewRecorder(), room: 10_000}, modernRequest(t.Context(), t, "flood"))
		if took := time.Since(began); took != 3*time.Second || failure == nil || sent < 10 {
			t.Errorf("got %v after %v and %d messages, want a failure after 3 s", failure, took, sent)
		}
		h.Close()
	})
}

// deaf hides what a middleware's ResponseWriter without Unwrap hides.
type deaf struct{ http.ResponseWriter }

func TestWriterWithoutFlushStillAnswers(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	h := NewHandler(newTestCore(plainTools), &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer h.Close()
	w := httptest.NewRecorder()
	h.ServeHTTP(deaf{w}, modernRequest(t.Context(), t, "talk"))
	if !strings.Contains(w.Body.String(), "said") {
		t.Errorf("got body %q, want the reply", w.Body)
	}
	if n := strings.Count(log.String(), "Unwrap"); n != 1 {
		t.Errorf("got %d warnings, want 1:\n%s", n, log.String())
	}
}

func TestCallSeesItsHTTPRequest(t *testing.T) {
	t.Parallel()
	type key struct{}
	core := newTestCore(map[string]tool{"x": func(ctx context.Context, in *exchange.Inbound) (any, error) {
		return text(in.HTTP.Header.Get("X-Tenant") + ctx.Value(key{}).(string)), nil
	}})
	h := NewHandler(core, nil)
	defer h.Close()
	ctx := context.WithValue(t.Context(), key{}, "-value")
	r := modernRequest(ctx, t, "x")
	r.Header.Set("X-Tenant", "blue")
	if w := serveRecorded(h, r); !strings.Contains(w.Body.String(), "blue-value") {
		t.Errorf("stateless: got body %s, want the header and the value", w.Body)
	}
	id := serveRecorded(h, request(ctx, t, "POST", "http://localhost/", initialize)).Header().Get(httpheader.SessionID)
	r = request(ctx, t, "POST", "http://localhost/", callTool(1, "x"), httpheader.SessionID, id, "X-Tenant", "red")
	if w := serveRecorded(h, r); !strings.Contains(w.Body.String(), "red-value") {
		t.Errorf("session: got body %s, want the header and the value", w.Body)
	}
}
