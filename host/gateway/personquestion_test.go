package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// personAtHost answers the questions of servers at the host.
type personAtHost struct {
	answer func(*host.ServerQuestion) (*host.ServerAnswer, error)
	mu     sync.Mutex
	asked  []host.ServerQuestion
}

func (p *personAtHost) ask(_ context.Context, q *host.ServerQuestion) (*host.ServerAnswer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, *q)
	p.mu.Unlock()
	return p.answer(q)
}

// questions returns what was asked.
func (p *personAtHost) questions() (lines []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.asked {
		line := q.Server + " for " + q.Principal.String() + " by " + q.Client
		if q.Elicit != nil {
			line += ": " + string(q.Elicit.Mode) + " " + q.Elicit.Message + q.Elicit.URL
		}
		lines = append(lines, line)
	}
	return lines
}

func accepts(content string) func(*host.ServerQuestion) (*host.ServerAnswer, error) {
	return func(*host.ServerQuestion) (*host.ServerAnswer, error) {
		a := &host.ServerAnswer{Action: mcp.ElicitAccept}
		if content != "" {
			a.Content = jsontext.Value(content)
		}
		return a, nil
	}
}

// hotel is a server that asks in its calls, by a form, for an address, and for more.
func hotel(revision mcp.Revision) *mcpserver.Server {
	srv := mcpserver.New("hotel", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet, Ask: &mcpserver.AskOptions{MaxRounds: 30}})
	srv.Tool("stay", "Stay", func(ctx context.Context, _ struct{}) (string, error) {
		var stay struct {
			Nights int `json:"nights"`
		}
		err := mcpserver.AskAll(ctx, mcpserver.ElicitForm("nights", "How many\u202e nights?", &stay))
		return fmt.Sprintf("%d nights", stay.Nights), err
	})
	srv.Tool("pay", "Pay", func(ctx context.Context, _ struct{}) (string, error) {
		return "paid", mcpserver.AskAll(ctx, mcpserver.ElicitURL("pay", "Please pay.", signInURL))
	})
	srv.Tool("browse", "Browse", func(ctx context.Context, _ struct{}) (string, error) {
		return "paid", mcpserver.AskAll(ctx, mcpserver.ElicitURL("pay", "Please pay.", "https://pay.example/a   host  bank.example"))
	})
	srv.Tool("refer", "Refer", func(ctx context.Context, _ struct{}) (string, error) {
		var answer mcp.ElicitResult
		err := mcpserver.AskAll(ctx, mcpserver.ElicitQuestion("a", &mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "What?", RequestedSchema: jsontext.Value(
			`{"type":"object","properties":{"a":{"type":"string","title":"A","$ref":"#/$defs/b","allOf":[{"description":"C"}]}},"$defs":{"b":{"description":"B"}}}`)}, &answer))
		return string(answer.Content), err
	})
	srv.Tool("plan", "Plan", func(ctx context.Context, _ struct{}) (string, error) {
		var stay struct {
			Nights int `json:"nights"`
		}
		var roots []mcp.Root
		err := mcpserver.AskAll(ctx, mcpserver.ElicitForm("nights", "How many nights?", &stay), mcpserver.ListRoots("roots", &roots))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d nights, %s", stay.Nights, roots[0].URI), nil
	})
	srv.Tool("pester", "Pester", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 20 {
			var stay struct {
				Nights int `json:"nights"`
			}
			if err := mcpserver.AskAll(ctx, mcpserver.ElicitForm(fmt.Sprint("nights", i), "How many nights?", &stay)); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	srv.Tool("unlock", "Unlock", func(ctx context.Context, _ struct{}) (string, error) {
		var secret struct {
			Password string `json:"password"`
		}
		return "unlocked", mcpserver.AskAll(ctx, mcpserver.ElicitForm("password", "Your password?", &secret))
	})
	return srv
}

// eachHotelPair runs a test with a server and a client of each pair of revisions that can ask.
func eachHotelPair(t *testing.T, test func(t *testing.T, up, down mcp.Revision)) {
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
			t.Run(up.String()+" behind for "+down.String(), func(t *testing.T) { test(t, up, down) })
		}
	}
}

// askHotel calls a tool of a hotel by a client, and returns the text of the result.
func askHotel(t *testing.T, p *personAtHost, settings host.Settings, up mcp.Revision, o *mcpclient.Options, tool string) string {
	t.Helper()
	options := new(gateway.Options)
	if p != nil {
		options.AskPerson = p.ask
	}
	g := startWith(t, options, host.Upstream{Key: "hotel", Target: mcpclient.InProcess(hotel(up)), Settings: settings})
	o.Logger = quiet
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	result, err := c.CallTool(t.Context(), "hotel__"+tool, nil)
	if err != nil {
		return "failed: " + err.Error()
	}
	if result.IsError {
		return "failed: " + result.Content.Text()
	}
	return result.Content.Text()
}

func TestPersonAtTheHostFillsInTheFormOfACallerThatCannotShowIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337a")
	eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
		p := &personAtHost{answer: accepts(`{"nights":3}`)}
		if got := askHotel(t, p, host.Settings{}, up, &mcpclient.Options{Revisions: []mcp.Revision{down}, Info: mcp.Implementation{Name: "editor", Version: "1"}}, "stay"); got != "3 nights" {
			t.Errorf("got %q, want the answer of the person", got)
		}
		got := strings.Join(p.questions(), "\n")
		if !strings.HasPrefix(got, "hotel for local") || !strings.HasSuffix(got, `by editor 1: form How many\u202e nights?`) && !strings.HasSuffix(got, `by editor 1:  How many\u202e nights?`) {
			t.Errorf("got the questions %q, want one with who asks, for whom, and with what is not shown made visible", got)
		}
	})
}

func TestPersonAtTheHostSeesOfAFormWhatTheProtocolAllows(t *testing.T) {
	t.Parallel()
	eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
		p := &personAtHost{answer: accepts(`{"a":"b"}`)}
		if got := askHotel(t, p, host.Settings{}, up, &mcpclient.Options{Revisions: []mcp.Revision{down}}, "refer"); got != `{"a":"b"}` || len(p.asked) == 0 {
			t.Fatalf("got %q, want the answer of the person", got)
		}
		if got, want := string(p.asked[0].Elicit.RequestedSchema), `{"type":"object","properties":{"a":{"type":"string","title":"A"}}}`; got != want {
			t.Errorf("got the form %s, want %s", got, want)
		}
	})
}

func TestAddressWithSpacesIsRefused(t *testing.T) {
	t.Parallel()
	eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
		p := &personAtHost{answer: accepts("")}
		if got := askHotel(t, p, host.Settings{}, up, &mcpclient.Options{Revisions: []mcp.Revision{down}}, "browse"); !strings.Contains(got, "failed: ") || p.questions() != nil {
			t.Errorf("got %q and the questions %q, want it refused", got, p.questions())
		}
	})
}

func TestPersonAtTheHostOpensTheAddressForACallerThatCannotShowIt(t *testing.T) {
	t.Parallel()
	eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
		p := &personAtHost{answer: accepts("")}
		if got := askHotel(t, p, host.Settings{}, up, &mcpclient.Options{Revisions: []mcp.Revision{down}}, "pay"); got != "paid" {
			t.Errorf("got %q, want the consent of the person", got)
		}
		if got := strings.Join(p.questions(), "\n"); !strings.HasSuffix(got, "url Please pay."+signInURL) {
			t.Errorf("got the questions %q, want the whole address", got)
		}
	})
}

func TestDecliningAndCancellingAtTheHostDiffer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-337a")
	for action, want := range map[mcp.ElicitAction]error{mcp.ElicitDecline: mcpserver.ErrDeclined, mcp.ElicitCancel: mcpserver.ErrDismissed} {
		eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
			p := &personAtHost{answer: func(*host.ServerQuestion) (*host.ServerAnswer, error) { return &host.ServerAnswer{Action: action}, nil }}
			if got := askHotel(t, p, host.Settings{}, up, &mcpclient.Options{Revisions: []mcp.Revision{down}}, "stay"); !strings.Contains(got, want.Error()) {
				t.Errorf("got %q, want %v", got, want)
			}
		})
	}
}

func TestNobodyAtTheHostIsNotReportedAsARefusal(t *testing.T) {
	t.Parallel()
	eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
		p := &personAtHost{answer: func(q *host.ServerQuestion) (*host.ServerAnswer, error) {
			return nil, &host.UnansweredError{Server: q.Server, Reason: "nobody is there"}
		}}
		got := askHotel(t, p, host.Settings{}, up, &mcpclient.Options{Revisions: []mcp.Revision{down}}, "stay")
		if !strings.Contains(got, `the server "hotel" asks the user, and nobody has answered in Fondaco: nobody is there`) {
			t.Errorf("got %q, want why there is no answer", got)
		}
	})
}

func TestCallerThatCanShowAFormIsAskedItself(t *testing.T) {
	t.Parallel()
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			p := &personAtHost{answer: accepts(`{"nights":3}`)}
			o := answering(down, func(context.Context) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"nights":7}`)}, nil
			})
			if got := askHotel(t, p, host.Settings{}, up, o, "stay"); got != "7 nights" || p.questions() != nil {
				t.Errorf("%s behind for %s: got %q and the questions %q, want the answer of the client", up, down, got, p.questions())
			}
		}
	}
}

// A call in which the caller is asked for its roots, and the person for the rest.
func TestQuestionsOfOneRoundGoToWhomCanAnswerThem(t *testing.T) {
	t.Parallel()
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			p := &personAtHost{answer: accepts(`{"nights":3}`)}
			o := &mcpclient.Options{Revisions: []mcp.Revision{down}, Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///ada"}}, nil }}
			if got := askHotel(t, p, host.Settings{}, up, o, "plan"); got != "3 nights, file:///ada" || len(p.questions()) != 1 {
				t.Errorf("%s behind for %s: got %q and the questions %q", up, down, got, p.questions())
			}
		}
	}
}

func TestServerDoesNotAskWhereThePersonMustNotBeAsked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		settings host.Settings
		nobody   bool
		tool     string
		want     string
	}{
		"no way to ask":       {nobody: true, tool: "stay", want: "failed: "},
		"shared":              {settings: host.Settings{Share: true}, tool: "stay", want: "failed: "},
		"refused elicitation": {settings: host.Settings{Questions: host.QuestionRules{Elicitation: host.PermissionRefused}}, tool: "stay", want: "failed: "},
		"a secret":            {tool: "unlock", want: "must not ask for a secret"},
	} {
		eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
			p := &personAtHost{answer: accepts(`{"nights":3,"password":"x"}`)}
			asked := p
			if test.nobody {
				asked = nil
			}
			got := askHotel(t, asked, test.settings, up, &mcpclient.Options{Revisions: []mcp.Revision{down}}, test.tool)
			if !strings.Contains(got, test.want) || p.questions() != nil {
				t.Errorf("%s: got %q and the questions %q, want %q and none", name, got, p.questions(), test.want)
			}
		})
	}
}

func TestServerThatAsksThePersonAgainAndAgainIsEnded(t *testing.T) {
	t.Parallel()
	p := &personAtHost{answer: accepts(`{"nights":3}`)}
	got := askHotel(t, p, host.Settings{}, mcp.V20260728, &mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}}, "pester")
	if want := `upstream "hotel": it still asks the user after 8 answers`; !strings.Contains(got, want) || len(p.questions()) > 9 {
		t.Errorf("got %q after %d questions, want %q", got, len(p.questions()), want)
	}
}
