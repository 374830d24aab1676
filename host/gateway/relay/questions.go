package relay

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/url"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// questions decides what an upstream may ask, and how its questions are shown.
type questions struct {
	*host.Upstream
	otherKeys func() []string // the keys of the other upstreams, which no question must imitate
	asksUser  bool            // the user of the host can be asked
}

// relayedQuestion returns the params of a question of the upstream as they are sent to a client:
// with the name of the upstream in front of its text. The text cannot pass for that of
// another server or of the host: it follows the name, its lines are quoted, and characters that are not
// shown are made visible. The error says why the upstream must not ask.
func (q *questions) relayedQuestion(method string, params any) (any, error) {
	if err := q.mayAsk(method, params); err != nil {
		return nil, err
	}
	params = withoutHopFields(params)
	switch p := params.(type) {
	case *mcp.ElicitParams:
		form, err := shownForm(p.RequestedSchema)
		if err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", method, err)
		}
		p.RequestedSchema = form
		p.Message = q.withName(p.Message, p.RequestedSchema)
	case *mcp.CreateMessageParams:
		p.SystemPrompt = q.withPromptName(p)
		if err := showSampling(p); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", method, err)
		}
	case *mcp.EmptyParams: // which has no text
		p.Meta = make(mcp.Meta)
		return p, p.Meta.Set(host.MetaServer, q.Key)
	}
	return params, nil
}

// relayedRequirement returns the error "URL elicitation required" with the name of the upstream in
// front of its messages.
func (q *questions) relayedRequirement(e *mcp.Error) (*mcp.Error, error) {
	var required mcp.URLElicitationRequiredData
	if json.Unmarshal(e.Data, &required) != nil {
		return e, nil // it has no questions that a client could read
	}
	for i := range required.Elicitations {
		if _, err := q.relayedQuestion(mcp.MethodElicit, &required.Elicitations[i]); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(required)
	return &mcp.Error{Code: e.Code, Message: q.withName(e.Message, nil), Data: data}, err
}

// mayAsk returns an error if the settings of the upstream do not allow a question.
func (q *questions) mayAsk(method string, params any) error {
	may := q.Questions()
	refused := func(what, setting string) error {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: the server %q must not ask for %s; %s in its settings allows it", method, q.Key, what, setting)
	}
	switch p := params.(type) {
	case *mcp.ElicitParams:
		if !may.Elicitation {
			return refused("answers of the user", `"elicitation": true`)
		}
		if p.Mode == mcp.ElicitURL && !isWebPage(p) {
			return mcp.Errorf(mcp.CodeInvalidParams, "%s: url of the server %q: want https, or http on this machine, with a host in ASCII, and without a user name and spaces", method, q.Key)
		}
		if field := host.SecretField(p); field != "" && !may.Secrets {
			return refused(fmt.Sprintf("a secret, as the field %q of its form does; URL elicitation is for secrets", host.CutText(host.EscapeUnprintable(field), 64)), `"secrets": true`)
		}
	case *mcp.CreateMessageParams:
		switch {
		case may.Sampling == host.SamplingDeny:
			return refused("answers of the model", `"sampling": "relay" or "ask"`)
		case may.Sampling == host.SamplingAsk && !q.asksUser:
			return refused("answers of the model, because the user has to be asked before, and this host has no way to", `"sampling": "relay"`)
		}
	case *mcp.EmptyParams:
		if method == mcp.MethodRootsList && !may.Roots {
			return refused("the roots of the client", `"roots": true`)
		}
	}
	return nil
}

// isWebPage reports whether the URL of an elicitation is the address of a web page that a person can
// read. A client may open it as it is.
//
// Spec: 2026-07-28 client/elicitation#url-mode-security
func isWebPage(p *mcp.ElicitParams) bool {
	at, err := url.Parse(p.URL)
	return err == nil && at.User == nil && mcpclient.URLHost(p) != "" && host.EscapeUnprintable(p.URL) == p.URL && !strings.Contains(p.URL, " ") &&
		(at.Scheme == "https" || at.Scheme == "http" && host.IsLoopbackHost(at.Host))
}

// relayed returns those of a caller's capabilities that the upstream may use.
func (q *questions) relayed(have link.Capabilities) link.Capabilities {
	may := q.Questions()
	if !may.Elicitation {
		have.Form, have.URL = false, false
	}
	if may.Sampling == host.SamplingDeny || may.Sampling == host.SamplingAsk && !q.asksUser {
		have.Sample, have.Tools = false, false
	}
	if !may.Roots {
		have.Roots, have.RootChanges = false, false
	}
	return have
}

// withName returns the message of a question with the name of the upstream in front, and with a
// remark if the question imitates another server.
func (q *questions) withName(message string, schema jsontext.Value) string {
	front := fmt.Sprintf("The server %q asks", q.Key)
	if other := q.imitated(message, schema); other != "" {
		front += fmt.Sprintf(" (it is not %s, which its text imitates)", host.Imitation(other))
	}
	message = strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(message))
	if !strings.Contains(message, "\n") {
		return front + ": " + shownText(message)
	}
	return front + ":\n> " + strings.ReplaceAll(shownText(message), "\n", "\n> ")
}

// withPromptName returns the system prompt of a sampling request, which says first who has written it, and that it is
// not another server that the request imitates.
func (q *questions) withPromptName(p *mcp.CreateMessageParams) string {
	front := fmt.Sprintf("This request is from the MCP server %q", q.Key)
	if other := q.imitatedBySampling(p); other != "" {
		front += fmt.Sprintf(" (not from %s, which its text imitates)", host.Imitation(other))
	}
	if p.SystemPrompt == "" {
		return front + "."
	}
	return front + ", which has written all that follows.\n\n" + shownText(p.SystemPrompt)
}

// imitated returns the key of another upstream or of the host that a question imitates in its message or in
// the texts of its form, or "".
func (q *questions) imitated(message string, schema jsontext.Value) string {
	texts := []string{message}
	_, _ = mapStrings(schema, isText, func(text string) string {
		texts = append(texts, text)
		return text
	})
	return q.imitatedIn(texts)
}

// imitatedBySampling returns the key of another upstream or of the host that a sampling request imitates in its system
// prompt, the texts of its messages or of its tools, or "".
func (q *questions) imitatedBySampling(p *mcp.CreateMessageParams) string {
	texts := []string{p.SystemPrompt}
	for _, m := range p.Messages {
		texts = append(texts, textsOf(m.Content)...)
	}
	for _, t := range p.Tools {
		texts = append(texts, t.Title, t.Description)
	}
	return q.imitatedIn(texts)
}

// textsOf returns the texts of contents that a person reads.
func textsOf(contents mcp.Contents) (texts []string) {
	for _, content := range contents {
		switch c := content.(type) {
		case mcp.TextContent:
			texts = append(texts, c.Text)
		case mcp.EmbeddedResource:
			texts = append(texts, c.Resource.Text)
		case mcp.ResourceLink:
			texts = append(texts, c.Title, c.Description)
		case mcp.ToolResultContent:
			texts = append(texts, textsOf(c.Content)...)
		}
	}
	return texts
}

// imitatedIn returns the key of another upstream, or that of the host, which some texts imitate, or "".
func (q *questions) imitatedIn(texts []string) string {
	others := q.otherKeys()
	if q.Key != host.ImitatesHost {
		others = append(others, host.ImitatesHost)
	}
	for _, text := range texts {
		if key := host.ImitatedTitle(text, others); key != "" {
			return key
		}
	}
	return ""
}
