package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
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

type seat struct {
	Seat string   `json:"seat" title:"Seat"`
	With []string `json:"with,omitzero" enum:"meal|bag"`
}

// bookingServer asks for a seat, reserves it, asks the model, asks again and lists the
// roots. It records its reservations.
type bookingServer struct {
	revision mcp.Revision
	mu       sync.Mutex
	runs     int // of the tool
	reserved []string
}

func (a *bookingServer) server() *mcpserver.Server {
	srv := mcpserver.New("agency", "1", &mcpserver.Options{Revisions: []mcp.Revision{a.revision}, Logger: quiet})
	srv.Tool("book", "Book", a.book)
	srv.Prompt("advice", "Advice", func(ctx context.Context, _ struct{}) ([]mcp.PromptMessage, error) {
		s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
		return []mcp.PromptMessage{mcpserver.UserMessage("Take " + s.Seat)}, err
	})
	srv.Resource("plan://seats", "Seats", "text/plain", func(ctx context.Context) ([]byte, error) {
		s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat?")
		return []byte("You have " + s.Seat), err
	})
	return srv
}

// Serve creates a server for each connection, as a process per connection does.
func (a *bookingServer) Serve(ctx context.Context, conn mcp.Conn) error {
	return a.server().Serve(ctx, conn)
}

func (a *bookingServer) upstream(s host.Settings) host.Upstream {
	return host.Upstream{Key: "a", Target: mcpclient.InProcess(a), Settings: s}
}

func (a *bookingServer) book(ctx context.Context, in struct {
	Trip string `json:"trip"`
},
) (string, error) {
	a.mu.Lock()
	a.runs++
	a.mu.Unlock()
	mcpserver.Progress(ctx, 1, 4, "asking")
	s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat for "+in.Trip+"?")
	if err != nil {
		return "", err
	}
	ref, err := mcpserver.Once(ctx, "reserve", func() (string, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reserved = append(a.reserved, in.Trip)
		return "R" + in.Trip, nil
	})
	if err != nil {
		return "", err
	}
	mcpserver.Progress(ctx, 2, 4, "reserved")
	var said mcp.CreateMessageResult
	if err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion("praise", &mcp.CreateMessageParams{
		Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Praise " + in.Trip)}}}, MaxTokens: 100,
	}, &said)); err != nil {
		return "", err
	}
	mcpserver.Progress(ctx, 3, 4, "praised")
	var roots []mcp.Root
	var meal struct {
		Meal string `json:"meal" enum:"soup|salad"`
	}
	if err := mcpserver.AskAll(ctx, mcpserver.ElicitForm("meal", "Which meal for "+in.Trip+"?", &meal), mcpserver.ListRoots("roots", &roots)); err != nil {
		return "", err
	}
	mcpserver.Progress(ctx, 4, 4, "done")
	return fmt.Sprintf("%s: %s with %s, %s, %s, %s", ref, s.Seat, strings.Join(s.With, "+"), said.Content.Text(), meal.Meal, roots[0].URI), nil
}

// answeringClient is a client whose answers depend on the question and its own name.
type answeringClient struct {
	name string
	mu   sync.Mutex
	seen []string // methods of the questions
}

func (tr *answeringClient) saw(method string) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.seen = append(tr.seen, method)
}

func (tr *answeringClient) options(revision mcp.Revision) *mcpclient.Options {
	return &mcpclient.Options{
		Revisions: []mcp.Revision{revision}, Logger: quiet, Ask: mcpclient.AskOptions{RootsInterval: -1},
		ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			tr.saw(mcp.MethodElicit)
			content := `{"meal":"soup"}`
			if strings.Contains(p.Message, "seat") {
				content = `{"seat":"` + tr.name + `-12","with":["meal","bag"]}`
			}
			if strings.Contains(string(p.RequestedSchema), `"with.meal"`) {
				content = `{"seat":"` + tr.name + `-12","with.meal":true,"with.bag":true}`
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(content)}, nil
		},
		Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			tr.saw(mcp.MethodCreateMessage)
			return &mcp.CreateMessageResult{
				Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text(tr.name + " says " + p.Messages[0].Content.Text())},
			}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) {
			tr.saw(mcp.MethodRootsList)
			return []mcp.Root{{URI: "file:///" + tr.name}}, nil
		},
	}
}

func (tr *answeringClient) connect(t *testing.T, g *mcpserver.Server, revision mcp.Revision) *mcpclient.Client {
	t.Helper()
	return mcptest.Connect(t, g, tr.options(revision))
}

func bookingOf(name, trip string) string {
	return fmt.Sprintf("R%s: %s-12 with meal+bag, %s says Praise %s, soup, file:///%s", trip, name, name, trip, name)
}

// asking are the revisions with elicitation.
var asking = []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728}

func eachAskingPair(t *testing.T, test func(t *testing.T, up, down mcp.Revision)) {
	t.Helper()
	for _, up := range asking {
		for _, down := range asking {
			t.Run(fmt.Sprintf("%s behind for %s", up, down), func(t *testing.T) {
				t.Parallel()
				test(t, up, down)
			})
		}
	}
}

// wantRuns is how often a handler runs that asks in three rounds.
func wantRuns(up mcp.Revision) int {
	if up == mcp.V20260728 {
		return 4
	}
	return 1
}

func TestUpstreamAsksTheCallerInEveryPairOfRevisions(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-410")
	eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
		for _, rules := range []host.Rules{{}, {Confirm: []host.ConfirmRule{{Tools: "*", When: host.Always}}}} {
			a := &bookingServer{revision: up}
			user := &person{allow: true}
			g := startWith(t, &gateway.Options{Consent: user.consent}, a.upstream(host.Settings{Rules: rules}))
			tr := &answeringClient{name: "ada"}
			c := mcptest.Connect(t, g.Server(), tr.options(down))
			var progress []float64
			result, err := c.CallTool(t.Context(), "a__book", map[string]string{"trip": "rome"}, mcpclient.WithProgress(func(p mcp.ProgressParams) {
				progress = append(progress, p.Progress)
			}))
			if err != nil || result.IsError || result.Content.Text() != bookingOf("ada", "rome") {
				t.Fatalf("got %+v, %v, want %s", result, err, bookingOf("ada", "rome"))
			}
			if a.runs != wantRuns(up) || !slices.Equal(a.reserved, []string{"rome"}) || len(user.asked) != len(rules.Confirm) {
				t.Errorf("got %d runs, reserved %v, %d consents, want %d, once, and as the rules say", a.runs, a.reserved, len(user.asked), wantRuns(up))
			}
			slices.Sort(tr.seen)
			if !slices.Equal(tr.seen, []string{mcp.MethodElicit, mcp.MethodElicit, mcp.MethodRootsList, mcp.MethodCreateMessage}) {
				t.Errorf("was asked %q, want each question once", tr.seen)
			}
			if !slices.Equal(progress, []float64{1, 2, 3, 4}) {
				t.Errorf("got progress %v, want it to rise over the rounds", progress)
			}
		}
	})
}

func TestPromptsAndResourcesOfUpstreamsAsk(t *testing.T) {
	t.Parallel()
	eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
		a := &bookingServer{revision: up}
		c := (&answeringClient{name: "ada"}).connect(t, start(t, a.upstream(host.Settings{})).Server(), down)
		prompt, err := c.GetPrompt(t.Context(), "a__advice", nil)
		if err != nil || (mcp.Contents{prompt.Messages[0].Content}).Text() != "Take ada-12" {
			t.Errorf("got %+v, %v, want the prompt for the seat", prompt, err)
		}
		contents, err := c.ReadResource(t.Context(), "plan://seats")
		if err != nil || contents.Contents[0].Text != "You have ada-12" {
			t.Errorf("got %+v, %v, want the text for the seat", contents, err)
		}
	})
}

// Sampling and roots exist since the first revision.
func TestUpstreamAsksTheModelInAllPairsOfRevisions(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		srv := mcpserver.New("a", "1", up)
		srv.Tool("praise", "Praise", func(ctx context.Context, _ struct{}) (string, error) {
			var said mcp.CreateMessageResult
			var roots []mcp.Root
			err := mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &roots), mcpserver.SampleQuestion("praise", &mcp.CreateMessageParams{
				Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Praise")}}}, MaxTokens: 100,
			}, &said))
			return said.Content.Text(), err
		})
		c := (&answeringClient{name: "ada"}).connect(t, start(t, upstream("a", srv)).Server(), down.Revisions[0])
		if got, err := c.Call[string](t.Context(), "a__praise", nil); err != nil || got != "ada says Praise" {
			t.Errorf("got %q, %v, want what the model says", got, err)
		}
	})
}

// A server of the session era does not say in which call it asks.
func TestAnswersOfCallersAreNeverMixed(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-412")
	eachAskingPair(t, func(t *testing.T, up, down mcp.Revision) {
		a := &bookingServer{revision: up}
		g := start(t, a.upstream(host.Settings{}))
		var work sync.WaitGroup
		for i := range 4 {
			name := fmt.Sprintf("caller%d", i)
			c := (&answeringClient{name: name}).connect(t, g.Server(), down)
			for n := range 2 { // concurrent calls of each client
				work.Go(func() {
					trip := fmt.Sprintf("%s-%d", name, n)
					got, err := c.Call[string](t.Context(), "a__book", map[string]string{"trip": trip})
					if err != nil || got != bookingOf(name, trip) {
						t.Errorf("got %q, %v, want %s", got, err, bookingOf(name, trip))
					}
				})
			}
		}
		work.Wait()
		if a.runs != 8*wantRuns(up) || len(a.reserved) != 8 {
			t.Errorf("got %d runs and %d reservations, want %d and 8", a.runs, len(a.reserved), 8*wantRuns(up))
		}
	})
}

func TestUpstreamGetsTheCapabilitiesOfItsCaller(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-410")
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		var caps mcp.ClientCapabilities
		srv := mcpserver.New("a", "1", up)
		srv.Tool("look", "Look", func(ctx context.Context, _ struct{}) (string, error) {
			caps = mcpserver.From(ctx).Capabilities()
			return "", nil
		})
		g := start(t, upstream("a", srv))
		shared := upstream("a", srv)
		shared.Settings.Share = true
		look := func(g *mcpserver.Server, o *mcpclient.Options) string {
			t.Helper()
			o.Revisions = down.Revisions
			o.Capabilities.Experimental = map[string]jsontext.Value{"secret": jsontext.Value("{}")}
			o.Capabilities.Extensions = map[string]jsontext.Value{"com.example/x": jsontext.Value("{}")}
			c := mcptest.Connect(t, g, o)
			if _, err := c.CallTool(t.Context(), "a__look", nil); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(caps, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		tr := &answeringClient{}
		all, sampling := tr.options(mcp.Revision{}), tr.options(mcp.Revision{})
		all.ElicitURL = all.ElicitForm
		all.Capabilities.Sampling = &mcp.SamplingCapability{Tools: new(mcp.Capability), Context: new(mcp.Capability)}
		sampling.ElicitForm, sampling.Roots = nil, nil
		want := fmt.Sprintf("%s behind for %s", up.Revisions[0], down.Revisions[0])
		if got, want := look(g.Server(), all), declared[want]; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := look(g.Server(), sampling); got != `{"sampling":{}}` {
			t.Errorf("got %s, want the model alone", got)
		}
		if got := look(g.Server(), &mcpclient.Options{Logger: quiet, ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("asked")
		}}); strings.Contains(got, "sampling") {
			t.Errorf("got %s, want nothing of another caller", got)
		}
		if got := look(start(t, shared).Server(), tr.options(mcp.Revision{})); got != `{}` {
			t.Errorf("shared: got %s, want nothing", got)
		}
	})
}

// declared are the capabilities that an upstream sees of a client with all capabilities.
// They are sent before the revision is known.
var declared = map[string]string{
	"2024-11-05 behind for 2024-11-05": `{"sampling":{},"roots":{"listChanged":true}}`,
	"2024-11-05 behind for 2025-11-25": `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}`,
	"2024-11-05 behind for 2026-07-28": `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
	"2025-11-25 behind for 2024-11-05": `{"sampling":{},"roots":{"listChanged":true}}`,
	"2025-11-25 behind for 2025-11-25": `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}}`,
	"2025-11-25 behind for 2026-07-28": `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
	"2026-07-28 behind for 2024-11-05": `{"sampling":{},"roots":{}}`,
	"2026-07-28 behind for 2025-11-25": `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
	"2026-07-28 behind for 2026-07-28": `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
}
