package mcpserver_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// samplingServer has a tool that samples with the given params and reports what it got.
func samplingServer(p *mcp.CreateMessageParams) *mcpserver.Server {
	srv := mcpserver.New("newspaper", "1.0.0", nil)
	srv.Tool("headline", "Finds a headline", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcpserver.Sample(ctx, "headline", p)
		if (answer == nil) != (err != nil) {
			return "", fmt.Errorf("got %v and %v, want one of them", answer, err)
		}
		if err != nil {
			return "", err
		}
		return answer.Model + ": " + answer.Content.Text(), nil
	})
	return srv
}

func TestSampleReturnsTheMessageOfTheModelInEachRevision(t *testing.T) {
	t.Parallel()
	srv := samplingServer(&mcp.CreateMessageParams{
		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("rain")}}},
		MaxTokens: 20,
	})
	mcptest.EachRevision(t, srv, func(t *testing.T, c *mcpclient.Client) {
		mcptest.Answer(c, "headline", &mcp.CreateMessageResult{
			Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text("It rains")}, Model: "small",
		})
		if got, err := c.Call[string](t.Context(), "headline", nil); err != nil || got != "small: It rains" {
			t.Errorf("got %q, %v, want the message and the name of the model", got, err)
		}
	})
}

func TestSampleSaysWhatIsWrongWithItsParams(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]*mcp.CreateMessageParams{
		"the params are nil": nil,
		"maxTokens":          {},
	} {
		c := mcptest.Connect(t, samplingServer(p), nil)
		_, err := c.Call[string](t.Context(), "headline", nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error that says %q", err, want)
		}
	}
}

func TestSampleOfAClientWithoutAModelIsAMissingCapability(t *testing.T) {
	t.Parallel()
	srv := samplingServer(&mcp.CreateMessageParams{MaxTokens: 20})
	roots := func(context.Context) ([]mcp.Root, error) { return nil, nil }
	c := mcptest.Connect(t, srv, &mcpclient.Options{Roots: roots})
	_, err := c.Call[string](t.Context(), "headline", nil)
	if mcp.CodeOf(err) != mcp.CodeMissingCapability {
		t.Errorf("got %v, want %s", err, mcp.CodeMissingCapability)
	}
}

// The tool asks the model of its client and returns what it wrote.
func ExampleSample() {
	srv := mcpserver.New("newspaper", "1.0.0", nil)
	srv.Tool("headline", "Finds a headline", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcpserver.Sample(ctx, "headline", &mcp.CreateMessageParams{
			Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("A headline for: it rains in Rome.")}}},
			MaxTokens: 20,
		})
		if err != nil {
			return "", err
		}
		return answer.Content.Text(), nil
	})
	model := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text("Rome gets wet")}, Model: "small"}, nil
	}
	c, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(srv), &mcpclient.Options{Sample: model})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	headline, err := c.Call[string](context.Background(), "headline", nil)
	fmt.Println(headline, err)
	// Output: Rome gets wet <nil>
}
