package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// clerkRequests are the requests in which a clerk asks, each with what it returns as a text.
func clerkRequests(c *mcpclient.Client, what string) map[string]func(context.Context) (string, error) {
	return map[string]func(context.Context) (string, error){
		mcp.MethodToolsCall: func(ctx context.Context) (string, error) {
			result, err := c.CallTool(ctx, "clerk__"+what, nil)
			if err != nil {
				return "", err
			}
			return fmt.Sprint(result.IsError, " ", result.Content.Text()), nil
		},
		mcp.MethodPromptsGet: func(ctx context.Context) (string, error) {
			_, err := c.GetPrompt(ctx, "clerk__"+what, nil)
			return "a prompt", err
		},
		mcp.MethodResourcesRead: func(ctx context.Context) (string, error) {
			_, err := c.ReadResource(ctx, "clerk://"+what)
			return "a resource", err
		},
	}
}

// checkClerk makes each request, and checks that a tool has failed with a text for the model, and all others with an
// error that has the text.
func checkClerk(t *testing.T, c *mcpclient.Client, what string, wants ...string) {
	t.Helper()
	for method, request := range clerkRequests(c, what) {
		got, err := request(t.Context())
		if method == mcp.MethodToolsCall {
			if err != nil || !strings.HasPrefix(got, "true ") {
				t.Errorf("%s: got %q, %v, want a result for the model", method, got, err)
			}
		} else {
			if mcp.CodeOf(err) != mcp.CodeInternal || strings.Contains(fmt.Sprint(err), "incident") {
				t.Errorf("%s: got %q, %v, want an error that says why", method, got, err)
			}
			got = fmt.Sprint(err)
		}
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", method, got, want)
			}
		}
	}
}

func TestEachRequestThatNobodyHasAnsweredForSaysWhatToDo(t *testing.T) {
	t.Parallel()
	eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
		_, c := askClerk(t, func(_ context.Context, q *host.ServerQuestion) (*host.ServerAnswer, error) {
			return nil, &host.UnansweredError{Server: q.Server, Reason: "nobody is there"}
		}, up, down)
		for _, what := range []string{"ask", "sample"} {
			checkClerk(t, c, what, `the server "clerk" asks the user, and nobody has answered in Fondaco: nobody is there; call again when a person can answer there`)
		}
	})
}

// A server of the session era goes on with the refusal. For one of the stateless era the request is over.
func TestRefusedSamplingEndsTheRequestWithWhoHasRefused(t *testing.T) {
	t.Parallel()
	eachHotelPair(t, func(t *testing.T, up, down mcp.Revision) {
		_, c := askClerk(t, func(context.Context, *host.ServerQuestion) (*host.ServerAnswer, error) {
			return &host.ServerAnswer{Action: mcp.ElicitDecline}, nil
		}, up, down)
		want := mcpserver.ErrDeclined.Error()
		if up.Stateless() {
			want = `upstream "clerk": it asked for the answer of a model, and the user refused it`
		}
		checkClerk(t, c, "sample", want)
	})
}
