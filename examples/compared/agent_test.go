package compared_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/examples/compared/app/model"
)

// useAgent gives an agent one server of each SDK, and a model that uses a tool of each, one of
// which asks the user, and then repeats the results.
func useAgent(t *testing.T, file string) []string {
	api := httptest.NewServer(http.HandlerFunc(answerAsModel))
	t.Cleanup(api.Close)
	cmd := exec.CommandContext(t.Context(), file, "What is the weather?",
		"office="+program(ours, "mount"), "media="+program("gosdk", "media"), "albums="+program("mcpgo", "confirm"))
	cmd.Env = append(os.Environ(), "MODEL_URL="+api.URL)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Error(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

var wantAgent = []string{
	"albums__delete_album albums__summarise media__chart media__table media__tone office__calendar__next office__weather__next",
	"1: Rain in Oslo",
	"2: value 1.5, tables://all",
	"3 failed",
}

// facts are texts that results of tools contain, as the model repeats them.
var facts = []struct{ text, repeated string }{
	{"Rain in Oslo", "Rain in Oslo"},
	{"value\n1.5", "value 1.5"},
	{"tables://all", "tables://all"},
}

// toolResult is the block of a result, whose content is a text or blocks.
type toolResult struct {
	ToolUseID string         `json:"tool_use_id"`
	Content   jsontext.Value `json:"content"`
	IsError   bool           `json:"is_error"`
}

// repeat returns what the model says about a result.
func (r toolResult) repeat() string {
	if r.IsError {
		return r.ToolUseID + " failed"
	}
	var known []string
	for _, f := range facts {
		if text, _ := json.Marshal(f.text); strings.Contains(string(r.Content), strings.Trim(string(text), `"`)) {
			known = append(known, f.repeated)
		}
	}
	return r.ToolUseID + ": " + strings.Join(known, ", ")
}

// answerAsModel uses tools for a question, and repeats the names and results of tools for results.
func answerAsModel(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Tools    []model.Tool `json:"tools"`
		Messages []struct {
			Content jsontext.Value `json:"content"`
		} `json:"messages"`
	}
	if err := json.UnmarshalRead(r.Body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := model.Message{Role: "assistant", Content: []model.Block{
		{Type: "tool_use", ID: "1", Name: "office__weather__next", Input: []byte(`{"place":"Oslo"}`)},
		{Type: "tool_use", ID: "2", Name: "media__table", Input: []byte(`{"values":[1.5]}`)},
		{Type: "tool_use", ID: "3", Name: "albums__delete_album", Input: []byte(`{"name":"Oslo"}`)},
	}}
	if len(in.Messages) > 1 {
		var names []string
		for _, t := range in.Tools {
			names = append(names, t.Name)
		}
		slices.Sort(names)
		text := strings.Join(names, " ")
		var results []toolResult
		if err := json.Unmarshal(in.Messages[2].Content, &results); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		for _, r := range results {
			text += "\n" + r.repeat()
		}
		answer.Content = []model.Block{{Type: "text", Text: text}}
	}
	_ = json.MarshalWrite(w, answer)
}
