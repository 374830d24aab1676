package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// poet is a server that asks a model for a poem.
func poet(revision mcp.Revision) *mcpserver.Server {
	srv := mcpserver.New("poet", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet, Ask: &mcpserver.AskOptions{MaxRounds: 200}})
	srv.Tool("write", "Write", func(ctx context.Context, _ struct{}) (string, error) {
		var said mcp.CreateMessageResult
		err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion("poem", &mcp.CreateMessageParams{
			SystemPrompt: "Be brief\u202e", MaxTokens: 9, ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "small"}}},
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("About the sea")}}, {Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("And the sky")}}},
		}, &said))
		return said.Content.Text(), err
	})
	srv.Tool("poems", "Write several", func(ctx context.Context, _ struct{}) (string, error) {
		var said [12]mcp.CreateMessageResult
		var questions []mcpserver.Question
		for i := range said {
			questions = append(questions, mcpserver.SampleQuestion(fmt.Sprintf("poem%02d", i), &mcp.CreateMessageParams{
				MaxTokens: 9, ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "small"}}},
				Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text(fmt.Sprint("Poem ", i))}}},
			}, &said[i]))
		}
		return "done", mcpserver.AskAll(ctx, questions...)
	})
	srv.Tool("flood", "Flood", func(ctx context.Context, _ struct{}) (string, error) {
		answered := 0
		for i := range 150 {
			var said mcp.CreateMessageResult
			err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion(fmt.Sprint("poem", i), &mcp.CreateMessageParams{
				MaxTokens: 9, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("About the sea")}}},
			}, &said))
			if errors.Is(err, mcpserver.ErrInputRequired) {
				return "", err
			}
			if err == nil {
				answered++
			}
		}
		return fmt.Sprint(answered), nil
	})
	return srv
}

// model is a client with a model, or without one.
type model struct {
	answers string // empty if there is none

	mu  sync.Mutex
	got []string // what the model got
}

func (m *model) client(revision mcp.Revision) *mcpclient.Options {
	o := &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: quiet}
	if m.answers != "" {
		o.Sample = func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			got := p.SystemPrompt
			for _, message := range p.Messages {
				got += "|" + message.Content.Text()
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.got = append(m.got, got)
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text(m.answers)}, Model: "m"}, nil
		}
	}
	return o
}

// askPoet calls the poet, and returns the text of the result.
func askPoet(t *testing.T, p *personAtHost, u host.Upstream, up, down mcp.Revision, m *model) string {
	t.Helper()
	return callPoet(t, p, u, up, down, m, "write")
}

// callPoet is askPoet for a tool.
func callPoet(t *testing.T, p *personAtHost, u host.Upstream, up, down mcp.Revision, m *model, tool string) string {
	t.Helper()
	u.Key, u.Target = "poet", mcpclient.InProcess(poet(up))
	options := new(gateway.Options)
	if p != nil {
		options.AskPerson = p.ask
	}
	g := startWith(t, options, u)
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(g.Server()), m.client(down))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	result, err := c.CallTool(t.Context(), "poet__"+tool, nil)
	if err != nil {
		return "failed: " + err.Error()
	}
	if result.IsError {
		return "failed: " + result.Content.Text()
	}
	return result.Content.Text()
}

func samplingBy(rule host.SamplingRule, project string) host.Upstream {
	u := host.Upstream{Settings: host.Settings{Questions: host.QuestionRules{Sampling: rule}}}
	u.Origin.Project = project
	return u
}

// reviewer answers the reviews of a sampling request.
func reviewer(request, reply host.ServerAnswer, seen *[]string) *personAtHost {
	return &personAtHost{answer: func(q *host.ServerQuestion) (*host.ServerAnswer, error) {
		switch q.Review {
		case host.ReviewRequest:
			*seen = append(*seen, fmt.Sprintf("request %s|%s|%s", q.Sampling.SystemPrompt, strings.Join(q.Texts(), "|"), q.Sampling.ModelPreferences.Hints[0].Name))
			return &request, nil
		case host.ReviewReply:
			*seen = append(*seen, "reply "+q.Reply.Content.Text())
			return &reply, nil
		}
		*seen = append(*seen, "answer "+q.Sampling.SystemPrompt)
		return &request, nil
	}}
}

func TestUserSeesASamplingRequestAndItsAnswerBeforeTheyAreSent(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-362")
	yes, no := host.ServerAnswer{Action: mcp.ElicitAccept}, host.ServerAnswer{Action: mcp.ElicitDecline}
	system, text := "Be kind", "Waves"
	edited := host.ServerAnswer{Action: mcp.ElicitAccept, SystemPrompt: &system, Texts: []string{"About a lake", "And the sky"}}
	for name, test := range map[string]struct {
		request, reply host.ServerAnswer
		got, want      string // of the model, and of the call
		seen           int
	}{
		"as it is":       {yes, yes, `Be brief\u202e|About the sea|And the sky`, "blue", 2},
		"edited request": {edited, yes, "Be kind|About a lake|And the sky", "blue", 2},
		"edited reply":   {yes, host.ServerAnswer{Action: mcp.ElicitAccept, Text: &text}, `Be brief\u202e|About the sea|And the sky`, "Waves", 2},
		"no request":     {no, yes, "", "failed: ", 1},
		"no reply":       {yes, no, `Be brief\u202e|About the sea|And the sky`, "failed: ", 2},
	} {
		for _, u := range []host.Upstream{samplingBy(host.SamplingAsk, ""), samplingBy("", "/project"), samplingBy(host.SamplingRelay, "/project")} {
			for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
				for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
					var seen []string
					m := &model{answers: "blue"}
					got := askPoet(t, reviewer(test.request, test.reply, &seen), u, up, down, m)
					if !strings.HasPrefix(got, test.want) || strings.Contains(got, "blue") && test.want != "blue" {
						t.Errorf("%s: %s behind for %s: got %q, want %q", name, up, down, got, test.want)
					}
					if sent := strings.Join(m.got, "\n"); !strings.HasSuffix(sent, test.got) || (test.got == "") != (sent == "") {
						t.Errorf("%s: %s behind for %s: the model got %q, want %q", name, up, down, sent, test.got)
					}
					if len(seen) != test.seen || seen[0] != `request Be brief\u202e|About the sea|And the sky|small` || test.seen == 2 && seen[1] != "reply blue" {
						t.Errorf("%s: %s behind for %s: the user saw %q, want the request and the answer", name, up, down, seen)
					}
				}
			}
		}
	}
}

func TestUserReviewsTheSamplingRequestsOfARoundInTheirOrder(t *testing.T) {
	t.Parallel()
	var seen []string
	yes := host.ServerAnswer{Action: mcp.ElicitAccept}
	got := callPoet(t, reviewer(yes, yes, &seen), samplingBy(host.SamplingAsk, ""), mcp.V20260728, mcp.V20260728, &model{answers: "blue"}, "poems")
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf("request |Poem %d|small", i))
	}
	if len(seen) < len(want) || !slices.Equal(seen[:len(want)], want) || got != "done" {
		t.Errorf("got %q and %q, want %q first", got, seen, want)
	}
}

func TestUserAnswersASamplingRequestWhereTheClientHasNoModel(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-362")
	text := "Waves"
	for _, test := range []struct {
		answer host.ServerAnswer
		want   string
	}{
		{host.ServerAnswer{Action: mcp.ElicitAccept, Text: &text}, "Waves"},
		{host.ServerAnswer{Action: mcp.ElicitDecline}, "failed: "},
		{host.ServerAnswer{Action: mcp.ElicitCancel}, "failed: "},
	} {
		eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
			var seen []string
			got := askPoet(t, reviewer(test.answer, host.ServerAnswer{}, &seen), samplingBy(host.SamplingAsk, ""), up, down, new(model))
			if !strings.Contains(got, test.want) || len(seen) != 1 || seen[0] != `answer Be brief\u202e` {
				t.Errorf("got %q and %q, want %q after the question", got, seen, test.want)
			}
		})
	}
}

func TestSamplingIsRelayedUnasked(t *testing.T) {
	t.Parallel()
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			var seen []string
			if got := askPoet(t, reviewer(host.ServerAnswer{}, host.ServerAnswer{}, &seen), host.Upstream{}, up, down, &model{answers: "blue"}); got != "blue" || seen != nil {
				t.Errorf("%s behind for %s: got %q and the questions %q, want the request relayed", up, down, got, seen)
			}
			// A client without a model is not offered, and nobody is asked in its place.
			if got := askPoet(t, reviewer(host.ServerAnswer{}, host.ServerAnswer{}, &seen), host.Upstream{}, up, down, new(model)); !strings.HasPrefix(got, "failed: ") || seen != nil {
				t.Errorf("%s behind for %s: got %q and the questions %q, want no request", up, down, got, seen)
			}
		}
	}
}

// A server cannot make a client pay for any number of requests to its model, however fast it asks.
func TestSamplingRequestsOfAnUpstreamAreLimited(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-327b")
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			synctest.Test(t, func(t *testing.T) {
				m := &model{answers: "blue"}
				got := callPoet(t, nil, host.Upstream{}, up, down, m, "flood")
				if len(m.got) == 0 || len(m.got) > 100 {
					t.Errorf("%s behind for %s: got %d requests to the model, want at most 100 at once; the call: %s", up, down, len(m.got), got)
				}
			})
		}
	}
}
