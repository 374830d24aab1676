package console

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// TrySource makes requests as a client of the host: with its rules, consents and records.
type TrySource interface {
	// Surface returns what clients see.
	Surface(context.Context) (*mcp.Surface, error)
	// Call calls a tool, whose arguments it checks.
	Call(context.Context, *Request) (*mcp.CallToolResult, error)
	// Prompt gets a prompt.
	Prompt(context.Context, *Request) (*mcp.GetPromptResult, error)
	// Complete returns values for an argument of a prompt or a variable of a resource template.
	Complete(context.Context, *mcp.CompleteParams) (*mcp.Completion, error)
	// TemplateVariables returns the variables of a resource template, and ExpandTemplate the URI for values of them.
	TemplateVariables(uriTemplate string) ([]string, error)
	ExpandTemplate(uriTemplate string, values map[string]string) (uri string, err error)
	// Watch calls onUpdate after each change of a resource, until ctx ends or an error. It calls it first when changes
	// are known from then on.
	Watch(ctx context.Context, uri string, onUpdate func()) error
	// Read reads a resource.
	Read(context.Context, *Request) (*mcp.ReadResourceResult, error)
	// HTTPRequest returns a request as a client of the stateless era sends it over HTTP. Nothing is sent.
	HTTPRequest(context.Context, *Request) (*HTTPRequest, error)
}

// tryView is the data of the page of a tool or a prompt.
type tryView struct {
	Name, Description string
	// Verb is what the button of the form does.
	Verb string
	// Claims are what the server says about a tool.
	Claims []string
	Fields []*field
	// Raw: the arguments are written as JSON, in Text. HasForm: there is a form, too.
	Raw, HasForm bool
	Text         string
	// HasFile: a field is a file.
	HasFile bool
	// Schema is that of the arguments.
	Schema string
	// Revisions are those that the client can have, the newest first, and Revision is the chosen one.
	Revisions []mcp.Revision
	Revision  mcp.Revision
	Result    *resultView
	// URI is that of the resource of a template.
	URI string
}

// revisions are those of the protocol, the newest first, which a client has that wants no other.
var revisions = newestFirst(mcp.Revisions())

func newestFirst(all []mcp.Revision) []mcp.Revision {
	slices.Reverse(all)
	return all
}

// chooseRevision makes the client that of the revision in the form.
func (t *tryView) chooseRevision(r *http.Request) {
	t.Revisions, t.Revision = revisions, revisions[0]
	if chosen, ok := mcp.ParseRevision(r.PostForm.Get("revision")); ok && slices.Contains(revisions, chosen) {
		t.Revision = chosen
	}
}

// listView is the data of the page with what can be tried.
type listView struct {
	// Filter has words that all have to be in what is listed.
	Filter    string
	Tools     []mcp.Tool
	Prompts   []mcp.Prompt
	Resources *branch // nil without resources
	Templates []mcp.ResourceTemplate
	Watches   []*watch
}

// IsEmpty reports whether nothing is listed.
func (l *listView) IsEmpty() bool {
	return len(l.Tools)+len(l.Prompts)+len(l.Templates) == 0 && l.Resources == nil
}

// try lists what can be tried.
func (c *Console) try(w http.ResponseWriter, r *http.Request, s *session) {
	c.showTry(w, r, s, new(view))
}

func (c *Console) showTry(w http.ResponseWriter, r *http.Request, s *session, v *view) {
	surface, err := c.source.Surface(r.Context())
	if err != nil {
		v.Message, v.Failed, surface = "The lists could not be read: "+shown(err.Error()), true, new(mcp.Surface)
	}
	v.Title, v.Section, v.Still, v.Data = "Try it", "try", true, c.listOf(surface, s, r.URL.Query().Get("filter"))
	c.show(w, s, "try", v)
}

// listOf returns what has all words of a filter, as the script of the page filters it.
func (c *Console) listOf(all *mcp.Surface, s *session, filter string) *listView {
	words := strings.Fields(strings.ToLower(filter))
	has := func(texts ...string) bool {
		text := strings.ToLower(strings.Join(texts, " "))
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	}
	l := &listView{Filter: filter, Watches: c.watchesOf(s)}
	for _, t := range all.Tools {
		if has(host.DisplayName(t.Name), brief(t.Description)) {
			l.Tools = append(l.Tools, t)
		}
	}
	for _, p := range all.Prompts {
		if has(host.DisplayName(p.Name), brief(p.Description)) {
			l.Prompts = append(l.Prompts, p)
		}
	}
	for _, t := range all.Templates {
		if has(t.URITemplate, brief(t.Description)) {
			l.Templates = append(l.Templates, t)
		}
	}
	var resources []mcp.Resource
	for _, one := range all.Resources {
		if has(one.URI, brief(one.Name)) {
			resources = append(resources, one)
		}
	}
	l.Resources = newTreeOfResources(resources)
	return l
}

// tool shows the form of a tool and, for a POST, calls it.
func (c *Console) tool(w http.ResponseWriter, r *http.Request, s *session) {
	name := r.URL.Query().Get("name")
	surface, err := c.source.Surface(r.Context())
	if err != nil {
		surface = new(mcp.Surface)
	}
	i := slices.IndexFunc(surface.Tools, func(t mcp.Tool) bool { return t.Name == name })
	if i < 0 {
		c.showTry(w, r, s, &view{Message: "There is no tool \"" + shown(host.DisplayName(name)) + "\" now.", Failed: true})
		return
	}
	tool := &surface.Tools[i]
	t := &tryView{Name: name, Verb: "Call", Description: tool.Description, Claims: claimsOf(tool.Annotations), Text: "{}", Schema: indented(tool.InputSchema)}
	v := &view{Title: host.DisplayName(name), Section: "try", Still: true, Data: t}
	t.chooseRevision(r)
	resized := t.makeForm(tool.InputSchema, r)
	if resized && !t.HasForm {
		v.Message, v.Failed = fmt.Sprintf("A form has at most %d fields: no item was added.", maxFields), true
		r.PostForm.Set("fewer", r.PostForm.Get("more"))
		r.PostForm.Del("more")
		t.makeForm(tool.InputSchema, r)
	}
	switch {
	case resized:
		fill(t.Fields, r.PostForm)
	case r.Method == http.MethodPost:
		c.callTool(r, s, tool, v)
	}
	c.show(w, s, "tool", v)
}

// makeForm makes the form for a schema, with as many items in its lists as the user wants, and reports whether that has
// changed.
func (t *tryView) makeForm(schema jsontext.Value, r *http.Request) (resized bool) {
	resized = resize(r.PostForm)
	t.Fields, t.HasForm = newForm(schema, r.PostForm)
	t.HasFile = hasFile(t.Fields)
	t.Raw = !t.HasForm || r.URL.Query().Get("raw") != ""
	return resized
}

// callTool calls a tool with what the form has, and adds the result to the page.
func (c *Console) callTool(r *http.Request, s *session, tool *mcp.Tool, v *view) {
	t := v.Data.(*tryView)
	arguments := jsontext.Value(r.PostForm.Get("json"))
	var err error
	if t.Raw {
		t.Text = string(arguments)
		if !arguments.IsValid() || arguments.Kind() != '{' {
			err = fmt.Errorf("found %.40q, want a JSON object", arguments)
		}
	} else {
		fill(t.Fields, r.PostForm)
		arguments, err = encodeForm(t.Fields)
	}
	if err != nil {
		v.Message, v.Failed = "Nothing was sent. "+shown(err.Error()), true
		return
	}
	request := &Request{Tool: tool, Arguments: arguments, Revision: t.Revision}
	started := time.Now()
	result, err := c.source.Call(r.Context(), request)
	if mcp.CodeOf(err) == mcp.CodeMissingCapability {
		v.Message, v.Failed = "The server asks a question during the call, which this page cannot show. A terminal can: "+shown(c.terminalLine(request)), true
		return
	}
	if err != nil {
		v.Message, v.Failed = shown(err.Error()), true
		return
	}
	t.Result = c.newResult(r.Context(), request, started)
	t.Result.Failed = result.IsError
	content, structured := result.Content, jsontext.Value(result.StructuredContent)
	if structured != nil { // its text often says the same
		content = slices.DeleteFunc(slices.Clone(content), func(one mcp.Content) bool {
			text, ok := one.(mcp.TextContent)
			return ok && sameJSON(text.Text, structured)
		})
	}
	t.Result.Blocks = c.resultOf(s, content)
	if structured != nil {
		t.Result.Blocks = append(t.Result.Blocks, textBlock("Structured content", string(structured)))
	}
}

func claimsOf(a *mcp.ToolAnnotations) (claims []string) {
	switch {
	case a.ReadOnly():
		claims = append(claims, "Its server claims that it changes nothing.")
	case a.Destructive():
		claims = append(claims, "It may destroy or overwrite something.")
	}
	return claims
}

// still is a page whose only content is the navigation, which the live stream of a page without
// other live parts compares.
func (c *Console) still(w http.ResponseWriter, _ *http.Request, s *session) {
	c.show(w, s, "entered", &view{Title: "Fondaco", Still: true})
}
