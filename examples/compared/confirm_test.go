package compared_test

import (
	"context"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// useConfirm calls tools that ask, in the era with sessions and in that without.
func useConfirm(t *testing.T, file string) (answers []string) {
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c := connect(t, mcpclient.Command(file), &mcpclient.Options{
			Revisions: []mcp.Revision{revision},
			ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				if strings.Contains(p.Message, "Family") {
					return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
				}
				agreed := "false"
				if strings.Contains(p.Message, "Oslo") {
					agreed = "true"
				}
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"delete":` + agreed + `}`)}, nil
			},
			Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				text := mcp.Contents{mcp.Text("Short: " + p.Messages[0].Content.Text())}
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: text, Model: "m", StopReason: mcp.StopEndTurn}, nil
			},
		})
		answers = append(answers,
			call(t, c, "delete_album", object{"name": "Oslo"}),
			call(t, c, "delete_album", object{"name": "Turin"}),
			call(t, c, "delete_album", object{"name": "Family"}),
			call(t, c, "delete_album", object{}),
			call(t, c, "summarise", object{"text": "It was a good year."}),
		)
	}
	return answers
}

var wantConfirm = []string{
	`The album "Oslo" is deleted.`, "Nothing was deleted.", "failed", "failed", "Short: It was a good year.",
	`The album "Oslo" is deleted.`, "Nothing was deleted.", "failed", "failed", "Short: It was a good year.",
}

// TestAnswersThatNobodyAskedForAreUsedAsTheREADMESays sends the answer to a question with the
// first request of a call.
func TestAnswersThatNobodyAskedForAreUsedAsTheREADMESays(t *testing.T) {
	t.Parallel()
	for _, sdk := range sdks {
		c := connect(t, mcpclient.Command(program(sdk, "confirm")), &mcpclient.Options{
			ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			},
		})
		agreed := mcp.InputResponseParams{InputResponses: map[string]jsontext.Value{"consent": jsontext.Value(`{"action":"accept","content":{"delete":true}}`)}}
		r, err := c.CallTool(t.Context(), "delete_album", object{"name": "Oslo"}, mcpclient.WithInput(agreed))
		if used := err == nil && !r.IsError; used != (sdk != ours) {
			t.Errorf("%s: got %+v, %v", sdk, r, err)
		}
	}
}
