package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// samplingServer is a hand-written server of the stateless era that asks a model twice
// and restarts its progress in each round. It records the calls.
type samplingServer struct{ calls []string }

func (p *samplingServer) Serve(ctx context.Context, conn mcp.Conn) error {
	for {
		raw, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				Meta struct {
					Token jsontext.Value `json:"progressToken"`
				} `json:"_meta"`
				Responses jsontext.Value `json:"inputResponses"`
				State     *string        `json:"requestState"`
			} `json:"params"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		result := `{"resultType":"complete"}`
		switch m.Method {
		case mcp.MethodDiscover:
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
		case mcp.MethodToolsList:
			result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"write","inputSchema":{"type":"object"}}]}`
		case mcp.MethodToolsCall:
			state := "none"
			if m.Params.State != nil {
				state = *m.Params.State
			}
			p.calls = append(p.calls, state+" "+string(m.Params.Responses))
			for i := range 2 {
				note := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":2}}`, m.Params.Meta.Token, i+1)
				if err := conn.Write(ctx, []byte(note)); err != nil {
					return err
				}
			}
			result = `{"resultType":"complete","content":[{"type":"text","text":"written"}]}`
			if n := len(p.calls); n < 3 {
				result = fmt.Sprintf(`{"resultType":"input_required","requestState":" s%d\u00e9","inputRequests":{"io.github.fondaco.consent":{"method":"sampling/createMessage",`+
					`"params":{"messages":[{"role":"user","content":{"type":"text","text":"verse %d"}}],"maxTokens":9,"includeContext":"allServers","_meta":{"io.modelcontextprotocol/x":1,"com.example/y":2}}}}}`, n, n)
			}
		}
		if len(m.ID) > 0 {
			err = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`))
		}
		if err != nil {
			return err
		}
	}
}

// The upstream asks under the same key as the host's own question. Neither is taken for
// the other.
func TestQuestionsOfTheHostAndOfAnUpstreamAreLayered(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-411")
	for _, down := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		p := new(samplingServer)
		trusted := func(*host.ConsentRequest) bool { return true }
		g := startWith(t, &gateway.Options{ClientMayConsent: trusted}, host.Upstream{Key: "a", Target: mcpclient.InProcess(p), Settings: host.Settings{
			Rules: host.Rules{Confirm: []host.ConfirmRule{{Tools: "*", When: host.Always}}},
		}})
		o := answering(down, func(context.Context) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"allow":true}`)}, nil
		})
		var asked []string
		o.Sample = func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			asked = append(asked, fmt.Sprint(p.Messages[0].Content.Text(), " ", p.IncludeContext, p.Meta))
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("la")}}, nil
		}
		c := mcptest.Connect(t, g.Server(), o)
		var progress []float64
		result, err := c.CallTool(t.Context(), "a__write", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { progress = append(progress, p.Progress) }))
		if err != nil || result.Content.Text() != "written" {
			t.Fatalf("%s: got %+v, %v, want the verses written", down, result, err)
		}
		const answer = `{"io.github.fondaco.consent":{"role":"assistant","content":{"type":"text","text":"la"},"model":"m"}}`
		for i, want := range []string{"none ", " s1é " + answer, " s2é " + answer} {
			if got := p.calls[i]; got != want {
				t.Errorf("%s: round %d: the upstream got %s, want its own state and answers alone: %s", down, i, got, want)
			}
		}
		if want := []string{"verse 1 map[]", "verse 2 map[]"}; !slices.Equal(asked, want) {
			t.Errorf("%s: the model was asked %q, want %q", down, asked, want)
		}
		if !slices.Equal(progress, []float64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s: got progress %v, want it to rise over the rounds", down, progress)
		}
	}
}

// The answers of a caller reach only the upstream that asked.
func TestAnswersReachTheUpstreamThatAskedAlone(t *testing.T) {
	t.Parallel()
	const canary = "canary-9c1e"
	eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
		wires := make(map[string]*wire)
		var upstreams []host.Upstream
		for _, key := range []string{"a", "b"} {
			wires[key] = &wire{server: (&bookingServer{revision: up}).server()}
			upstreams = append(upstreams, host.Upstream{Key: key, Target: mcpclient.InProcess(wires[key])})
		}
		g := start(t, upstreams...)
		others := &wire{server: g.Server()}
		var work sync.WaitGroup
		work.Go(func() {
			c := mcptest.Connect(t, others, (&answeringClient{name: "bob"}).options(down))
			for _, key := range []string{"a", "b"} {
				if _, err := c.CallTool(t.Context(), key+"__book", map[string]string{"trip": "rome"}); err != nil {
					t.Error(err)
				}
			}
		})
		c := (&answeringClient{name: canary}).connect(t, g.Server(), down)
		got, err := c.Call[string](t.Context(), "a__book", map[string]string{"trip": "paris"})
		work.Wait()
		if err != nil || !strings.Contains(got, canary) || !wires["a"].saw(canary) {
			t.Errorf("got %q, %v, want the booking of the one that asked", got, err)
		}
		if wires["b"].saw(canary) || others.saw(canary) {
			t.Error("the canary was on another's wire")
		}
	})
}

// A resource that is not listed, but named by a result, is read outside of the rounds of
// the server.
func TestLinkedResourceCannotAsk(t *testing.T) {
	t.Parallel()
	for _, up := range asking {
		for _, down := range asking {
			target := mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
				srv := mcpserver.New("a", "1", &mcpserver.Options{Revisions: []mcp.Revision{up}, Logger: quiet})
				srv.Resource("made://y", "y", "text/plain", func(context.Context) ([]byte, error) { return nil, nil })
				srv.AddTool(mcp.Tool{Name: "make"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
					srv.Resource("made://x", "x", "text/plain", func(ctx context.Context) ([]byte, error) {
						_, err := mcpserver.Ask[greeting](ctx, "who", "Who?")
						return []byte("x"), err
					})
					return &mcp.CallToolResult{Content: mcp.Contents{mcp.Link("made://x", "x")}}, nil
				})
				return srv.Serve(ctx, conn)
			}))
			c := mcptest.Connect(t, start(t, host.Upstream{Key: "a", Target: target}).Server(), answering(down, noAnswer))
			if _, err := c.CallTool(t.Context(), "a__make", nil); err != nil {
				t.Fatal(err)
			}
			if got, err := c.ReadResource(t.Context(), "made://x"); err == nil {
				t.Errorf("%s behind for %s: got %+v, want an error", up, down, got)
			}
		}
	}
}
