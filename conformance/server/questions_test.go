package main

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// The suite tests each tool that asks in one era only. This test runs all in both.
func TestToolsAskInBothEras(t *testing.T) {
	t.Parallel()
	model := &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("Paris")}}
	roots := []mcp.Root{{URI: "file:///home/ada"}}
	ada := Named{"Ada"}
	type answers map[string]any
	tests := []struct {
		tool    string
		args    any
		answers answers
		want    string
	}{
		{"test_sampling", Prompting{"Where?"}, answers{"answer": model}, "LLM response: Paris"},
		{"test_elicitation", Asking{"Who?"}, answers{"account": Account{"ada", "a@b.c"}}, "User response: {Username:ada Email:a@b.c}"},
		{
			"test_elicitation_sep1034_defaults", nil,
			answers{"profile": Profile{"Ada", 36, 1.5, "active", false}},
			"Elicitation completed: action=accept, content={Name:Ada Age:36 Score:1.5 Status:active Verified:false}",
		},
		{
			"test_elicitation_sep1330_enums", nil,
			answers{"choices": map[string]any{"titledMulti": []string{"value1"}}},
			`Elicitation completed: {"action":"accept","content":{"titledMulti":["value1"]}}`,
		},
		{
			"test_streaming_elicitation", nil,
			answers{"account": Account{"ada", "a@b.c"}},
			"Elicitation completed: action=accept, content={Username:ada Email:a@b.c}",
		},
		{"test_missing_capability", nil, answers{"answer": model}, "Paris"},
		{"test_input_required_result_elicitation", nil, answers{"user_name": ada}, "Hello, Ada!"},
		{"test_input_required_result_sampling", nil, answers{"capital_question": model}, "Paris"},
		{"test_input_required_result_list_roots", nil, answers{"client_roots": roots}, "1 roots"},
		{"test_input_required_result_request_state", nil, answers{"confirm": Confirmation{true}}, "state-ok, confirmed: true"},
		{"test_input_required_result_tampered_state", nil, answers{"confirm": Confirmation{true}}, "state-ok, confirmed: true"},
		{
			"test_input_required_result_multiple_inputs", nil,
			answers{"user_name": ada, "greeting": model, "client_roots": roots},
			"Paris, Ada! You share 1 roots.",
		},
		{"test_input_required_result_multi_round", nil, answers{"step1": ada, "step2": Coloured{"red"}}, "Ada likes red."},
		{"test_input_required_result_capabilities", nil, answers{"user_name": ada, "greeting": model}, "2 questions were answered."},
		{"confirm_delete", File{"a.txt"}, answers{"confirm": Consent{true}}, "Deleted a.txt."},
	}
	for _, test := range tests {
		t.Run(test.tool, func(t *testing.T) {
			t.Parallel()
			mcptest.CheckReplay(t, func() mcpclient.Server { return newServer() }, func(c *mcpclient.Client) (any, error) {
				for key, answer := range test.answers {
					mcptest.Answer(c, key, answer)
				}
				got, err := c.Call[string](t.Context(), test.tool, test.args)
				if err != nil || got != test.want {
					t.Errorf("%s: got %q, %v, want %q", c.Revision(), got, err, test.want)
				}
				return got, err
			})
		})
	}
}

func TestPromptAsksInBothEras(t *testing.T) {
	t.Parallel()
	mcptest.CheckReplay(t, func() mcpclient.Server { return newServer() }, func(c *mcpclient.Client) (any, error) {
		mcptest.Answer(c, "user_context", Setting{"a storm"})
		r, err := c.GetPrompt(t.Context(), "test_input_required_result_prompt", nil)
		if err != nil {
			return nil, err
		}
		text, _ := r.Messages[0].Content.(mcp.TextContent)
		if want := "Use this context: a storm"; text.Text != want {
			t.Errorf("%s: got %q, want %q", c.Revision(), text.Text, want)
		}
		return text.Text, nil
	})
}
