package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// memoServer has a tool that links to a resource that is not listed and whose handler asks, a
// prompt whose completion asks, and a tool that runs until it is released.
func memoServer(o *mcpserver.Options, running chan<- struct{}, release <-chan struct{}) *mcpserver.Server {
	var memo *mcpserver.FeatureSet
	o.RequestFeatures = func(*mcpserver.Request) (_, unlisted []*mcpserver.FeatureSet) {
		return nil, []*mcpserver.FeatureSet{memo}
	}
	o.Dynamic = true
	srv := mcpserver.New("memo", "1", o)
	memo = srv.NewFeatureSet()
	_ = memo.AddResource(mcp.Resource{URI: "memo://1", Name: "memo"}, func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		who, err := mcpserver.Ask[greeting](ctx, "who", "Who reads?")
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: who.Name}}}, err
	})
	srv.Tool("link", "Link", func(context.Context, struct{}) (mcp.Contents, error) {
		return mcp.Contents{mcp.ResourceLink{URI: "memo://1", Name: "memo"}}, nil
	})
	srv.Tool("hold", "Hold", func(ctx context.Context, _ struct{}) (string, error) {
		running <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return "released", nil
	})
	srv.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who"}, {Name: "plain"}}}, func(context.Context, *mcp.GetPromptParams) (mcp.Result, error) {
		return &mcp.GetPromptResult{}, nil
	}, mcpserver.CompleteArg("who", func(ctx context.Context, _ mcpserver.CompletionRequest) ([]string, error) {
		var answer mcp.ElicitResult
		err := mcpserver.From(ctx).Call(ctx, mcp.MethodElicit, &mcp.ElicitParams{Message: "Who completes?", RequestedSchema: jsonValue(`{"type":"object","properties":{}}`)}, &answer)
		return []string{"answered"}, err
	}), mcpserver.CompleteArg("plain", mcpserver.Prefix("Ada")))
	return srv
}

// A question that a server asks in a read or a completion reaches no other client, although that
// has a call under way. In a completion nobody can be asked.
func TestQuestionOfARequestWithoutQuestionsReachesNobodyElse(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-342b")
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		running, release := make(chan struct{}, 1), make(chan struct{})
		f := &sessionTarget{revision: up, make: func(o *mcpserver.Options) *mcpserver.Server { return memoServer(o, running, release) }}
		g := start(t, host.Upstream{Key: "m", Target: mcpclient.InProcess(f)})
		var mu sync.Mutex
		var asked []string
		client := func(name string) *mcpclient.Client {
			o := answering(mcp.V20260728, nil)
			o.ElicitForm = func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, name+": "+p.Message)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsonValue(`{"name":"` + name + `"}`)}, nil
			}
			return mcptest.Connect(t, g.Server(), o)
		}
		ada, bob := client("ada"), client("bob")
		if _, err := bob.CallTool(t.Context(), "m__link", nil); err != nil {
			t.Fatal(err)
		}
		var call sync.WaitGroup
		call.Go(func() {
			if result, err := ada.CallTool(t.Context(), "m__hold", nil); err != nil || result.Content.Text() != "released" {
				t.Errorf("%s: got %+v, %v, want the call undisturbed", up, result, err)
			}
		})
		<-running
		if result, err := bob.ReadResource(t.Context(), "memo://1"); err != nil || result.Contents[0].Text != "bob" {
			t.Errorf("%s: got %+v, %v, want what the reader's own answer gives", up, result, err)
		}
		if _, err := bob.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("m__greet"), Argument: mcp.CompleteArgument{Name: "who"}}); err == nil {
			t.Errorf("%s: got a completion, want an error because it needs an answer", up)
		}
		close(release)
		call.Wait()
		mu.Lock()
		if len(asked) != 1 || !strings.HasPrefix(asked[0], "bob: ") {
			t.Errorf("%s: got questions %q, want that of the read alone", up, asked)
		}
		mu.Unlock()
	}
}

// What a client completes during its own call, and what it calls meanwhile, needs no further
// connection to the server, which may keep state for the client.
func TestCompletionDuringAnOwnCallUsesItsConnection(t *testing.T) {
	t.Parallel()
	running, release := make(chan struct{}, 1), make(chan struct{})
	f := &sessionTarget{revision: mcp.V20251125, make: func(o *mcpserver.Options) *mcpserver.Server { return memoServer(o, running, release) }}
	g := start(t, host.Upstream{Key: "m", Target: mcpclient.InProcess(f)})
	ada := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, nil))
	var call sync.WaitGroup
	call.Go(func() {
		if _, err := ada.CallTool(t.Context(), "m__hold", nil); err != nil {
			t.Error(err)
		}
	})
	<-running
	before, _ := f.counts()
	completed, err := ada.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("m__greet"), Argument: mcp.CompleteArgument{Name: "plain", Value: "A"}})
	if now, _ := f.counts(); err != nil || len(completed.Values) != 1 || now != before {
		t.Errorf("got %+v, %v and %d connections, want a completion over the %d as before", completed, err, now, before)
	}
	close(release)
	call.Wait()
}

// A server that had named the calls of its questions, and does so no more, asks in no call if
// calls of several clients have begun on one connection meanwhile.
func TestQuestionOnAConnectionOfSeveralClientsReachesNobody(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-342b")
	synctest.Test(t, func(t *testing.T) {
		var downgraded atomic.Bool
		release := make(chan struct{})
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
			revision := mcp.V20260728
			if downgraded.Load() {
				revision = mcp.V20251125
				<-release
			}
			return hangingDiary(&mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet}).Serve(ctx, conn)
		}))})
		var asked atomic.Int32
		client := func() *mcpclient.Client {
			return mcptest.Connect(t, g.Server(), answering(mcp.V20260728, func(context.Context) (*mcp.ElicitResult, error) {
				asked.Add(1)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsonValue(`{"name":"Ada"}`)}, nil
			}))
		}
		ada, bob := client(), client()
		for _, c := range []*mcpclient.Client{ada, bob} {
			for _, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		downgraded.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() { _, _ = ada.CallTool(ctx, "d__hang", nil) })
		synctest.Wait()
		calls.Go(func() {
			if result, err := bob.CallTool(t.Context(), "d__ask", nil); err != nil || !result.IsError {
				t.Errorf("got %+v, %v, want the question refused", result, err)
			}
			cancel()
		})
		synctest.Wait()
		close(release)
		calls.Wait()
		if asked.Load() > 0 {
			t.Error("a question reached a client, although it may be one to another client")
		}
	})
}

// A log message of a call that was cancelled is not sent to another client, which completes.
func TestLogOfACancelledCallReachesNoOtherClient(t *testing.T) {
	t.Parallel()
	slow := func(ctx context.Context, conn mcp.Conn) error {
		running := false
		return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
			switch m.Method {
			case mcp.MethodInitialize:
				return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"completions":{},"logging":{}},"serverInfo":{"name":"raw","version":"1"}}`
			case mcp.MethodToolsList:
				return oneRawTool
			case mcp.MethodPromptsList:
				return `"result":{"prompts":[{"name":"greet","arguments":[{"name":"who"}]}]}`
			case mcp.MethodSetLevel:
				return emptyResult
			case mcp.MethodToolsCall:
				running = true
			case mcp.MethodComplete:
				if running {
					c.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"of the call"}}`)
				}
				return `"result":{"completion":{"values":["Ada"]}}`
			}
			return ""
		})
	}
	synctest.Test(t, func(t *testing.T) {
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(serverFunc(slow))})
		client := func(name string) *mcpclient.Client {
			o := answering(mcp.V20260728, nil)
			o.Info = mcp.Implementation{Name: name, Version: "1"}
			return mcptest.Connect(t, g.Server(), o)
		}
		ada, bob := client("ada"), client("bob")
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, _ = ada.CallTool(ctx, "a__go", nil)
		cancel()
		synctest.Wait()
		var mu sync.Mutex
		var logged []string
		completed, err := bob.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("a__greet"), Argument: mcp.CompleteArgument{Name: "who"}},
			mcpclient.WithLogLevel(mcp.LevelDebug), mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
				mu.Lock()
				defer mu.Unlock()
				logged = append(logged, string(m.Data))
			}))
		if err != nil || len(completed.Values) != 1 {
			t.Errorf("got %+v, %v, want a completion", completed, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(logged) > 0 {
			t.Errorf("got log messages %q, want none of another client's call", logged)
		}
	})
}

// Clients without capabilities share a connection to a server of the session era, whose log
// messages do not name their call. Those that want log messages get their own alone.
func TestLogOfAClientWithoutCapabilitiesReachesNoOtherClient(t *testing.T) {
	t.Parallel()
	for _, want := range [][]string{{"ada"}, {"ada", "bob"}} {
		synctest.Test(t, func(t *testing.T) {
			srv := mcpserver.New("talker", "1", &mcpserver.Options{Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet})
			srv.Tool("talk", "Talk", func(ctx context.Context, in greeting) (string, error) {
				time.Sleep(time.Second)
				mcpserver.Log(ctx).Error("of " + in.Name)
				time.Sleep(time.Second)
				return in.Name, nil
			})
			g := start(t, upstream("a", srv))
			var mu sync.Mutex
			logged := make(map[string][]string)
			var calls sync.WaitGroup
			for _, name := range []string{"ada", "bob", "eve"} {
				c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), &mcpclient.Options{Info: mcp.Implementation{Name: name, Version: "1"}, Logger: quiet})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var opts []mcpclient.CallOption
				if slices.Contains(want, name) {
					opts = append(opts, mcpclient.WithLogLevel(mcp.LevelDebug), mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
						mu.Lock()
						defer mu.Unlock()
						logged[name] = append(logged[name], string(m.Data))
					}))
				}
				calls.Go(func() {
					for range 3 {
						if result, err := c.CallTool(t.Context(), "a__talk", greeting{name}, opts...); err != nil || result.Content.Text() != name {
							t.Errorf("%s: got %+v, %v", name, result, err)
						}
					}
				})
			}
			calls.Wait()
			mu.Lock()
			defer mu.Unlock()
			for _, name := range want {
				own := `{"msg":"of ` + name + `"}`
				if got := logged[name]; !slices.Equal(got, []string{own, own, own}) {
					t.Errorf("%s got %q, want the messages of its three calls", name, got)
				}
			}
		})
	}
}

// A server that asks while it subscribes for one client asks no other client that has a call on the
// connection.
func TestQuestionInASubscriptionReachesNoOtherClient(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-342b")
	curious := func(ctx context.Context, conn mcp.Conn) error {
		subscribing := jsontext.Value(nil)
		return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
			switch m.Method {
			case mcp.MethodInitialize:
				return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true}},"serverInfo":{"name":"raw","version":"1"}}`
			case mcp.MethodToolsList:
				return oneRawTool
			case mcp.MethodResourcesList:
				return `"result":{"resources":[{"uri":"note://a","name":"a"}]}`
			case mcp.MethodResourceTemplatesList:
				return `"result":{"resourceTemplates":[]}`
			case mcp.MethodResourcesSubscribe:
				subscribing = m.ID
				c.ask("curious")
			case "":
				c.respond(subscribing, `"result":{}`)
			}
			return ""
		})
	}
	synctest.Test(t, func(t *testing.T) {
		g := start(t, host.Upstream{Key: "a", Target: mcpclient.InProcess(serverFunc(curious))})
		var asked atomic.Int32
		client := func(name string) *mcpclient.Client {
			o := answering(mcp.V20260728, func(context.Context) (*mcp.ElicitResult, error) {
				asked.Add(1)
				return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
			})
			o.Info = mcp.Implementation{Name: name, Version: "1"}
			return mcptest.Connect(t, g.Server(), o)
		}
		ada, bob := client("ada"), client("bob")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = ada.CallTool(ctx, "a__go", nil)
		}()
		synctest.Wait()
		watching := make(chan struct{})
		go func() {
			defer close(watching)
			for range bob.Watch(ctx, "note://a") {
			}
		}()
		time.Sleep(time.Minute)
		cancel()
		<-done
		<-watching
		if n := asked.Load(); n != 0 {
			t.Errorf("%d questions reached a client, want none of a subscription", n)
		}
	})
}
