package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// askingServer asks for a name, and records how its calls end.
type askingServer struct {
	revision mcp.Revision
	runs     int
	ended    chan error
}

func newAskingServer(revision mcp.Revision) *askingServer {
	return &askingServer{revision: revision, ended: make(chan error, 100)}
}

func (i *askingServer) Serve(ctx context.Context, conn mcp.Conn) error {
	srv := mcpserver.New("inn", "1", &mcpserver.Options{Revisions: []mcp.Revision{i.revision}, Logger: quiet})
	srv.Tool("stay", "Stay", func(ctx context.Context, _ struct{}) (string, error) {
		i.runs++
		guest, err := mcpserver.Ask[greeting](ctx, "who", "Who?")
		i.ended <- err
		return "Welcome " + guest.Name, err
	})
	srv.Tool("sing", "Sing", func(ctx context.Context, _ struct{}) (string, error) {
		var said mcp.CreateMessageResult
		err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion("song", &mcp.CreateMessageParams{
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Sing")}}}, MaxTokens: 9,
		}, &said))
		i.ended <- err
		return said.Content.Text(), err
	})
	return srv.Serve(ctx, conn)
}

func (i *askingServer) open(t *testing.T) (*gateway.Gateway, *decisions) {
	t.Helper()
	seen := new(decisions)
	g := gateway.New([]host.Upstream{{Key: "a", Target: mcpclient.InProcess(i)}}, &gateway.Options{Logger: quiet, OnDecision: seen.add})
	t.Cleanup(g.Close)
	t.Cleanup(func() { _ = g.Server().Shutdown(context.Background()) })
	g.Start(t.Context())
	return g, seen
}

// answering returns options of a client with one answer to all forms.
func answering(revision mcp.Revision, answer func(context.Context) (*mcp.ElicitResult, error)) *mcpclient.Options {
	return &mcpclient.Options{
		Revisions: []mcp.Revision{revision}, Logger: quiet,
		ElicitForm: func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) { return answer(ctx) },
	}
}

func TestDecisionOfTheUserReachesTheUpstream(t *testing.T) {
	t.Parallel()
	for action, want := range map[mcp.ElicitAction]error{mcp.ElicitDecline: mcpserver.ErrDeclined, mcp.ElicitCancel: mcpserver.ErrDismissed} {
		eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
			i := newAskingServer(up)
			g, seen := i.open(t)
			c := mcptest.Connect(t, g.Server(), answering(down, func(context.Context) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: action}, nil
			}))
			result, err := c.CallTool(t.Context(), "a__stay", nil)
			if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), want.Error()) {
				t.Errorf("got %+v, %v, want %v", result, err, want)
			}
			if got := seen.of(host.ActionCall); !slices.Equal(got, []string{"stay failed"}) {
				t.Errorf("got decisions %q, want the call once", got)
			}
		})
	}
}

// In the stateless era a failed question has no answer: the client sends no further
// round.
func TestRefusalOfTheUserReachesAnUpstreamOfTheSessionEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-07")
	for _, up := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125} {
		for _, down := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125} {
			srv := mcpserver.New("a", "1", &mcpserver.Options{Revisions: []mcp.Revision{up}, Logger: quiet})
			var got *mcp.Error
			srv.AddTool(mcp.Tool{Name: "sing"}, func(ctx context.Context, _ *mcp.CallToolParams) (mcp.Result, error) {
				err := mcpserver.From(ctx).Call(ctx, mcp.MethodCreateMessage, &mcp.CreateMessageParams{
					Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Sing")}}}, MaxTokens: 9,
				}, nil)
				got, _ = errors.AsType[*mcp.Error](err)
				return nil, &mcp.Error{Code: mcp.CodeRejected, Message: "no song"}
			})
			g := start(t, upstream("a", srv))
			c := mcptest.Connect(t, g.Server(), &mcpclient.Options{
				Revisions: []mcp.Revision{down}, Logger: quiet,
				Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					return nil, mcpclient.ErrRejected
				},
			})
			_, err := c.CallTool(t.Context(), "a__sing", nil)
			if got == nil || got.Number != -1 || got.Message != "User rejected sampling request" {
				t.Errorf("%s behind for %s: the upstream got %v, want the refusal", up, down, got)
			}
			if e, _ := errors.AsType[*mcp.Error](err); e == nil || e.Number != -1 || e.Message != "no song" {
				t.Errorf("%s behind for %s: got %v, want the upstream's refusal", up, down, err)
			}
		}
	}
}

func TestFailureOfTheClientReachesAnUpstreamOfTheSessionEra(t *testing.T) {
	t.Parallel()
	for _, down := range []mcp.Revision{mcp.V20250618, mcp.V20251125} {
		i := newAskingServer(mcp.V20251125)
		g, _ := i.open(t)
		c := mcptest.Connect(t, g.Server(), answering(down, func(context.Context) (*mcp.ElicitResult, error) {
			return nil, mcp.Errorf(mcp.CodeInternal, "the display is broken")
		}))
		if _, err := c.CallTool(t.Context(), "a__stay", nil); err != nil {
			t.Error(err)
		}
		if err := <-i.ended; err == nil || !strings.Contains(err.Error(), "the display is broken") {
			t.Errorf("%s: got %v, want what the client says", down, err)
		}
	}
}

func TestLateAnswerIsNotUsed(t *testing.T) {
	t.Parallel()
	for _, up := range asking {
		for _, down := range []mcp.Revision{mcp.V20250618, mcp.V20251125} {
			synctest.Test(t, func(t *testing.T) {
				i := newAskingServer(up)
				g, _ := i.open(t)
				o := answering(down, func(context.Context) (*mcp.ElicitResult, error) {
					time.Sleep(11 * time.Minute)
					return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
				})
				o.Timeouts.MaxCall = time.Hour
				c := mcptest.Connect(t, g.Server(), o)
				begun := time.Now()
				result, err := c.CallTool(t.Context(), "a__stay", nil)
				if took := time.Since(begun); err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "no answer came in time") || took < 10*time.Minute || took > 10*time.Minute+time.Second {
					t.Errorf("%s behind for %s: got %+v, %v after %v, want an end after 10 minutes", up, down, result, err, took)
				}
				time.Sleep(2 * time.Minute)
			})
		}
	}
}

// round makes one round of a call and returns its questions.
func round(t *testing.T, c *mcpclient.Client, name string, opts ...mcpclient.CallOption) *mcp.InputRequiredResult {
	t.Helper()
	result, err := c.CallTool(t.Context(), name, nil, append(opts, mcpclient.ManualInput())...)
	asks, ok := errors.AsType[*mcpclient.InputRequiredError](err)
	if !ok {
		t.Fatalf("got %+v, %v, want questions", result, err)
	}
	return asks.Result
}

// with answers all questions of a round with a name.
func with(in *mcp.InputRequiredResult, answer string) mcpclient.CallOption {
	given := make(map[string]jsontext.Value)
	for key := range in.InputRequests {
		given[key] = jsontext.Value(answer)
	}
	return mcpclient.WithInput(mcp.InputResponseParams{InputResponses: given, RequestState: in.RequestState})
}

const adaAnswers = `{"action":"accept","content":{"name":"Ada"}}`

// noAnswer is for tests that answer by hand.
func noAnswer(context.Context) (*mcp.ElicitResult, error) { return nil, errors.New("asked") }

func TestCallEndsIfTheCallerDoesNotRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newAskingServer(mcp.V20251125)
		g, seen := i.open(t)
		c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer))
		asks := round(t, c, "a__stay")
		time.Sleep(9 * time.Minute)
		if len(i.ended) != 0 {
			t.Error("the call has ended, want it to wait")
		}
		time.Sleep(time.Minute + time.Second)
		if err := <-i.ended; err == nil {
			t.Error("the upstream got an answer, want none")
		}
		if got := seen.of(host.ActionCall); !slices.Equal(got, []string{"stay cancelled: the client sent no answer in time"}) {
			t.Errorf("got decisions %q, want what became of it", got)
		}
		_, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks, adaAnswers))
		if mcp.CodeOf(err) != mcp.CodeInvalidParams || i.runs != 1 {
			t.Errorf("got %v after %d runs, want a late answer refused, and nothing done again", err, i.runs)
		}
	})
}

func TestOneOfTwoConcurrentRetriesGetsTheCall(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-411")
	i := newAskingServer(mcp.V20251125)
	g, _ := i.open(t)
	c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer))
	asks := round(t, c, "a__stay")
	var mu sync.Mutex
	var texts []string
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			result, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks, adaAnswers))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			texts = append(texts, fmt.Sprint(result.IsError, " ", result.Content.Text()))
		})
	}
	work.Wait()
	slices.Sort(texts)
	if len(texts) != 3 || texts[0] != "false Welcome Ada" || !strings.Contains(texts[1], "interaction expired, call again") || texts[1] != texts[2] || i.runs != 1 {
		t.Errorf("got %q after %d runs, want one to have the call", texts, i.runs)
	}
}

// A state is bound to its principal and its request, and is encrypted.
func TestStateIsBoundToItsPrincipalAndRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-411")
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		i := newAskingServer(up)
		g, _ := i.open(t)
		c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer))
		bob := mcptest.Connect(t, serveAs{g.Server(), mcp.Principal{Subject: "bob"}}, answering(mcp.V20260728, noAnswer))
		asks := round(t, c, "a__stay")
		if asks.RequestState == nil || strings.Contains(*asks.RequestState, "parked") || strings.Contains(*asks.RequestState, "inner") {
			t.Errorf("%s: got state %v, want it sealed", up, asks.RequestState)
		}
		forged := *asks
		forged.RequestState = new(*asks.RequestState + "A")
		if _, err := c.CallTool(t.Context(), "a__stay", nil, with(&forged, adaAnswers)); mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("%s: forged: got %v, want it refused", up, err)
		}
		if _, err := bob.CallTool(t.Context(), "a__stay", nil, with(asks, adaAnswers)); mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("%s: of another: got %v, want it refused", up, err)
		}
		if _, err := c.CallTool(t.Context(), "a__sing", nil, with(asks, adaAnswers)); mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("%s: for another call: got %v, want it refused", up, err)
		}
		result, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks, adaAnswers))
		if err != nil || result.Content.Text() != "Welcome Ada" {
			t.Errorf("%s: got %+v, %v, want it to hold for its own", up, result, err)
		}
	}
}

// Each request of the stateless era declares its capabilities.
func TestRetryWithFewerCapabilitiesContinuesTheSameCall(t *testing.T) {
	t.Parallel()
	i := newAskingServer(mcp.V20251125)
	g, _ := i.open(t)
	asks := round(t, mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer)), "a__stay")
	mute, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, g.Server())), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20260728}, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	result, err := mute.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks, adaAnswers))
	if err != nil || result.Content.Text() != "Welcome Ada" || i.runs != 1 {
		t.Errorf("got %+v, %v after %d runs, want a welcome by the call that was waiting", result, err, i.runs)
	}
}

func TestAnswersThatFitNoQuestionAreAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		i := newAskingServer(up)
		g, _ := i.open(t)
		c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer), mcptest.CheckOnly(mcptest.Server))
		asks := round(t, c, "a__stay")
		asks = round(t, c, "a__stay", with(asks, `{"action":"perhaps"}`))
		for _, in := range asks.InputRequests {
			if text := string(in.Params); !strings.Contains(text, "The last answer does not fit: ") || !strings.Contains(text, "perhaps") {
				t.Errorf("%s: got %s, want it to say why it is asked again", up, text)
			}
		}
		asks = round(t, c, "a__stay", mcpclient.WithInput(mcp.InputResponseParams{
			InputResponses: map[string]jsontext.Value{"nobody.asked": jsontext.Value(adaAnswers)}, RequestState: asks.RequestState,
		}))
		result, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks, adaAnswers))
		if err != nil || result.Content.Text() != "Welcome Ada" {
			t.Errorf("%s: got %+v, %v, want a welcome", up, result, err)
		}
	}
}

func TestCallEndsIfTheCallerDisconnects(t *testing.T) {
	t.Parallel()
	eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
		i := newAskingServer(up)
		g, _ := i.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := mcptest.Connect(t, g.Server(), answering(down, func(ctx context.Context) (*mcp.ElicitResult, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		if _, err := c.CallTool(ctx, "a__stay", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want it cancelled", err)
		}
		if down == mcp.V20260728 { // whose call waits, or has ended
			return
		}
		if err := <-i.ended; err == nil {
			t.Error("the upstream got an answer, want it cancelled")
		}
	})
}

// A question in a call that was given up is no question of the next call, which may be of
// another client.
func TestQuestionOfACancelledCallReachesNoOtherClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(serverFunc(serveLate))})
		first := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := first.CallTool(ctx, "a__go", nil); err == nil {
			t.Error("got a result, want the call given up")
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			second := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, func(context.Context) (*mcp.ElicitResult, error) {
				t.Error("another client was asked")
				return nil, errors.New("asked")
			}))
			_, _ = second.CallTool(ctx, "a__go", nil)
		}
	})
}

func TestLostUpstreamEndsTheCallThatWaits(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-11")
	i := newAskingServer(mcp.V20251125)
	conns := make(chan mcp.Conn, 10)
	g := gateway.New([]host.Upstream{{Key: "a", Target: mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
		conns <- conn
		return i.Serve(ctx, conn)
	}))}}, &gateway.Options{Logger: quiet})
	t.Cleanup(g.Close)
	t.Cleanup(func() { _ = g.Server().Shutdown(context.Background()) })
	g.Start(t.Context())
	c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer))
	asks := round(t, c, "a__stay")
	for range len(conns) {
		_ = (<-conns).Close()
	}
	<-i.ended
	result, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks, adaAnswers))
	if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "connection lost") || i.runs != 1 {
		t.Errorf("got %+v, %v after %d runs, want the loss told, and nothing done again", result, err, i.runs)
	}
}

type serverFunc func(context.Context, mcp.Conn) error

func (f serverFunc) Serve(ctx context.Context, conn mcp.Conn) error { return f(ctx, conn) }

// The parked calls of one principal are limited, and a refused one leaves nothing behind.
func TestWaitingCallsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newAskingServer(mcp.V20251125)
		g, _ := i.open(t)
		c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer))
		var asks []*mcp.InputRequiredResult
		for range 16 {
			asks = append(asks, round(t, c, "a__stay"))
		}
		result, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput())
		if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "16 calls that may ask their user are under way") {
			t.Errorf("got %+v, %v, want the bound told", result, err)
		}
		if _, err := c.CallTool(t.Context(), "a__stay", nil, mcpclient.ManualInput(), with(asks[7], adaAnswers)); err != nil {
			t.Error(err)
		}
		round(t, c, "a__stay")
		if i.runs != 17 {
			t.Errorf("got %d runs, want that of each call that there was room for", i.runs)
		}
		time.Sleep(15 * time.Minute)
		if s := g.Status()[0]; s.Callers != 1 {
			t.Errorf("got %d lines, want the spare ones gone", s.Callers)
		}
	})
}
