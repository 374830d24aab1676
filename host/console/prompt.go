package console

import (
	"encoding/json/v2"
	"net/http"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// prompt shows the form of a prompt and, for a POST, gets it.
func (c *Console) prompt(w http.ResponseWriter, r *http.Request, s *session) {
	name := r.URL.Query().Get("name")
	surface, err := c.source.Surface(r.Context())
	if err != nil {
		surface = new(mcp.Surface)
	}
	i := slices.IndexFunc(surface.Prompts, func(p mcp.Prompt) bool { return p.Name == name })
	if i < 0 {
		c.showTry(w, r, s, &view{Message: "There is no prompt \"" + shown(host.DisplayName(name)) + "\" now.", Failed: true})
		return
	}
	t := &tryView{Name: name, Verb: "Get", Description: surface.Prompts[i].Description, HasForm: true}
	for _, a := range surface.Prompts[i].Arguments {
		t.Fields = append(t.Fields, suggestField(a.Name, a.Description, a.Required))
	}
	t.chooseRevision(r)
	v := &view{Title: host.DisplayName(name), Section: "try", Still: true, Data: t}
	if r.Method == http.MethodPost && !c.assist(r, t, mcp.PromptRef(name), v) {
		c.getPrompt(r, s, v)
	}
	c.show(w, s, "tool", v)
}

func (c *Console) getPrompt(r *http.Request, s *session, v *view) {
	t := v.Data.(*tryView)
	request := &Request{Prompt: t.Name, PromptArguments: valuesOf(t.Fields), Revision: t.Revision}
	started := time.Now()
	result, err := c.source.Prompt(r.Context(), request)
	if err != nil {
		v.Message, v.Failed = shown(err.Error()), true
		return
	}
	t.Result = c.newResult(r.Context(), request, started)
	var contents []mcp.Content
	for _, m := range result.Messages {
		contents = append(contents, m.Content)
	}
	t.Result.Blocks = c.resultOf(s, contents)
	for i := range min(len(t.Result.Blocks), len(result.Messages)) {
		t.Result.Blocks[i].Title = string(result.Messages[i].Role)
	}
}

// suggestField is a field for a text that the server completes.
func suggestField(name, help string, required bool) *field {
	return &field{Name: "/" + name, Label: name, Help: help, Required: required, Input: suggestInput}
}

// valuesOf returns the texts of a form by their names.
func valuesOf(fields []*field) map[string]string {
	values := make(map[string]string)
	for _, f := range fields {
		if f.Value != "" {
			values[f.Label] = f.Value
		}
	}
	return values
}

// suggestion is a value that the server suggests. Take is what its button sends: the field and the value, as JSON.
type suggestion struct{ Text, Take string }

// assist fills the form of a prompt or a template with what the user has sent, and reports whether that asks for
// suggestions or takes one, so that the form is shown again and nothing is sent.
func (c *Console) assist(r *http.Request, t *tryView, ref mcp.Reference, v *view) bool {
	fill(t.Fields, r.PostForm)
	var taken [2]string
	if json.Unmarshal([]byte(r.PostForm.Get("take")), &taken) == nil {
		if f := fieldOf(t.Fields, taken[0]); f != nil {
			f.Value = taken[1]
			return true
		}
	}
	f := fieldOf(t.Fields, r.PostForm.Get("suggest"))
	if f == nil {
		return false
	}
	params := &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: f.Label, Value: f.Value}}
	others := valuesOf(t.Fields)
	if delete(others, f.Label); len(others) > 0 {
		params.Context = &mcp.CompleteContext{Arguments: others}
	}
	completion, err := c.source.Complete(r.Context(), params)
	if err != nil {
		v.Message, v.Failed = "There are no suggestions: "+shown(err.Error()), true
		return true
	}
	f.IsSuggested, f.HasMore = true, completion.HasMore
	for _, value := range completion.Values {
		take, err := json.Marshal([2]string{f.Name, value})
		if err == nil {
			f.Suggestions = append(f.Suggestions, suggestion{host.CutText(value, maxSuggestion), string(take)})
		}
	}
	return true
}

// maxSuggestion limits the text of a suggestion on a page, in bytes. All of it is taken.
const maxSuggestion = 200

func fieldOf(fields []*field, name string) *field {
	if i := slices.IndexFunc(fields, func(f *field) bool { return f.Name == name }); i >= 0 {
		return fields[i]
	}
	return nil
}
