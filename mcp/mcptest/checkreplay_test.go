package mcptest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

type meal struct {
	Dish string `json:"dish"`
}

// failures is a testing.TB that keeps what would fail.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}
func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func TestCheckReplayFindsWhatIsNotRepeatable(t *testing.T) {
	t.Parallel()
	use := func(c *mcpclient.Client) (any, error) {
		mcptest.Answer(c, "name", meal{Dish: "soup"})
		return c.CallTool(t.Context(), "order", nil)
	}
	for name, test := range map[string]struct {
		count func(ctx context.Context, n *int) (int, error)
		want  string
	}{
		"once": {func(ctx context.Context, n *int) (int, error) {
			return mcpserver.Once(ctx, "count", func() (int, error) { *n++; return *n, nil })
		}, ""},
		"every time": {func(_ context.Context, n *int) (int, error) { *n++; return *n, nil }, `/outcome/content/0/text: got "2", want "1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &failures{TB: t}
			mcptest.CheckReplay(f, func() mcpclient.Server {
				srv, orders := mcpserver.New("kitchen", "1", nil), 0
				srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
					n, err := test.count(ctx, &orders)
					if err != nil {
						return "", err
					}
					_, err = mcpserver.Ask[meal](ctx, "name", "What?")
					return fmt.Sprint(n), err
				})
				return srv
			}, use)
			if got := strings.Join(f.said, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestCheckReplayTakesQuestionsThatAreAskedTogetherInAnyOrder(t *testing.T) {
	t.Parallel()
	newServer := func() mcpclient.Server {
		srv := mcpserver.New("kitchen", "1", nil)
		srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
			var dish meal
			var roots []mcp.Root
			var answer mcp.CreateMessageResult
			err := mcpserver.AskAll(
				ctx, mcpserver.ElicitForm("dish", "What?", &dish), mcpserver.ListRoots("roots", &roots),
				mcpserver.SampleQuestion("advice", &mcp.CreateMessageParams{MaxTokens: 1}, &answer),
			)
			return dish.Dish, err
		})
		return srv
	}
	for range 20 { // requests that are sent side by side arrive in any order
		mcptest.CheckReplay(t, newServer, func(c *mcpclient.Client) (any, error) {
			mcptest.Answer(c, "dish", meal{Dish: "soup"})
			mcptest.Answer(c, "roots", []mcp.Root{{URI: "file:///home/ada"}})
			mcptest.Answer(c, "advice", &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("ok")}})
			return c.Call[string](t.Context(), "order", nil)
		})
	}
}

func TestCheckReplayNamesTheQuestionThatChanged(t *testing.T) {
	t.Parallel()
	f, price := &failures{TB: t}, 0
	mcptest.CheckReplay(f, func() mcpclient.Server {
		srv := mcpserver.New("kitchen", "1", nil)
		srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
			price++
			_, err := mcpserver.Ask[meal](ctx, "dish", fmt.Sprintf("What for %d?", price))
			return "", err
		})
		return srv
	}, func(c *mcpclient.Client) (any, error) {
		for range 3 {
			mcptest.Answer(c, "dish", meal{Dish: "soup"})
		}
		return c.CallTool(t.Context(), "order", nil)
	})
	if len(f.said) != 1 || !strings.Contains(f.said[0], `question "dish" changed between two rounds`) {
		t.Errorf("got %q, want the key of the question and nothing else", f.said)
	}
}

func TestQuestionWithoutAnAnswerSaysWhyNoneFits(t *testing.T) {
	t.Parallel()
	type guests struct {
		Number int `json:"number" max:"4"`
	}
	for revision, want := range map[mcp.Revision][]string{
		mcp.V20251125: {`answer "guests" does not fit: /number: `, `answer "meal" does not fit: `, `answer "home" does not fit: its type is []mcp.Root`},
		mcp.V20260728: {`answer "guests" does not fit: /number: `, `answer "meal" does not fit: it has another key`, `answer "home" does not fit: it has another key`},
	} {
		srv := mcpserver.New("kitchen", "1", nil)
		srv.Tool("order", "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := mcpserver.Ask[guests](ctx, "guests", "How many?")
			return "", err
		})
		var said error
		c := mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{revision}})
		c.Use(func(next mcpclient.Handler) mcpclient.Handler {
			return func(ctx context.Context, r *mcpclient.Request) (any, error) {
				result, err := next(ctx, r)
				if err != nil && said == nil {
					said = err
				}
				return result, err
			}
		})
		mcptest.Answer(c, "guests", guests{9})
		mcptest.Answer(c, "meal", meal{Dish: "soup"})
		mcptest.Answer(c, "home", []mcp.Root{{URI: "file:///home/ada"}})
		_, _ = c.CallTool(t.Context(), "order", nil)
		for _, line := range want {
			if !strings.Contains(fmt.Sprint(said), line) {
				t.Errorf("%s: got %v, want %q", revision, said, line)
			}
		}
	}
}
