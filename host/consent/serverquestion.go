package consent

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The kinds of questions of servers. The content of their answers is a host.ServerAnswer.
const (
	KindForm            Kind = "form"             // an elicitation with a form
	KindURL             Kind = "url"              // an elicitation with an address to open
	KindSampling        Kind = "sampling"         // a sampling request that the user answers
	KindSamplingRequest Kind = "sampling-request" // one that the model of a client gets after a yes
	KindSamplingReply   Kind = "sampling-reply"   // what that model has answered, for the server
)

const (
	// maxServerQuestions limits the open questions of one server for one caller, and
	// maxServerGroup those of one server.
	maxServerQuestions = 4
	maxServerGroup     = 32
)

// expiryGrace is for how long a question is kept after the wait for it has ended, and removes it.
const expiryGrace = time.Second

// The details of a question of a server.
const (
	DetailWarning      = "warning"
	DetailMessage      = "message"
	DetailHost         = "host"
	DetailAddress      = "address"
	DetailSystemPrompt = "system prompt"
	DetailModel        = "model"
	DetailMetadata     = "metadata"
	DetailReply        = "answer"
	DetailStopped      = "stopped by"
	DetailServerSees   = "server sees"
)

// AskPerson asks a person a question of a server, and waits for the answer. Nobody is asked, and the
// error is a *host.UnansweredError, if nobody looks at the questions now: an answer that comes later is
// of no use, unlike the consent to a call, which is made again. The question is removed when the wait ends.
func (c *Calls) AskPerson(ctx context.Context, asked *host.ServerQuestion) (*host.ServerAnswer, error) {
	unanswered := func(format string, args ...any) error {
		return &host.UnansweredError{Server: asked.Server, Reason: fmt.Sprintf(format, args...)}
	}
	watched := c.options.Watched(ctx)
	if !watched && !c.options.Listed() {
		return nil, unanswered("nobody looks at its terminal, notifications or inbox")
	}
	q, err := serverQuestion(asked)
	if err != nil {
		return nil, err
	}
	q.NeedsCode, q.Expires = watched, time.Now().Add(c.options.Wait+expiryGrace).UTC()
	if q, err = c.Queue.Ask(ctx, q); err != nil {
		if errors.Is(err, ErrTooMany) || errors.Is(err, ErrTooLarge) {
			return nil, unanswered("%v", err)
		}
		return nil, err
	}
	defer func() { _ = c.Queue.withdraw(context.WithoutCancel(ctx), &q) }() // otherwise it expires
	if asked.OnQuestion != nil {
		asked.OnQuestion(q.ID)
	}
	waiting, stop := context.WithTimeout(ctx, c.options.Wait)
	defer stop()
	switch a, err := c.Queue.Wait(waiting, q.ID); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case waiting.Err() != nil:
		return nil, unanswered("question %s waited for %v", q.ID, c.options.Wait)
	case errors.Is(err, ErrUnknown):
		return nil, unanswered("question %s was removed", q.ID)
	case err != nil:
		return nil, err
	default:
		return decode[host.ServerAnswer](a.Content)
	}
}

// serverQuestion returns what is stored of a question of a server.
func serverQuestion(asked *host.ServerQuestion) (Question, error) {
	stored, files := withoutFiles(asked)
	subject, err := json.Marshal(stored, json.Deterministic(true))
	if err != nil {
		return Question{}, fmt.Errorf("question of the server %q: %w", asked.Server, err)
	}
	q := Question{
		Files: files,
		Owner: "server " + asked.Server + " for " + asked.Caller(), Group: "server " + asked.Server,
		Principal: asked.Principal.String(), Client: asked.Client, Subject: subject,
	}
	content := ""
	if asked.Imitates != "" {
		q.add(DetailWarning, "its text imitates %s, which does not ask", host.Imitation(asked.Imitates))
	}
	switch asks := fmt.Sprintf("The server %q ", asked.Server); {
	case asked.Elicit == nil:
		q.Kind, q.Text = samplingKind(asked), asks+samplingText(asked)
		q.addSampling(asked)
	case asked.Elicit.Mode == mcp.ElicitURL:
		q.Kind, q.Text = KindURL, asks+"asks you to open an address"
		q.add(DetailMessage, "%s", asked.Elicit.Message)
		q.add(DetailHost, "%s", mcpclient.URLHost(asked.Elicit))
		if warning := host.AddressWarning(asked.Elicit.URL); warning != "" {
			q.add(DetailWarning, "%s", warning)
		}
		q.add(DetailAddress, "%s", asked.Elicit.URL)
	default:
		q.Kind, q.Text = KindForm, asks+"asks you to fill in a form"
		q.add(DetailMessage, "%s", asked.Elicit.Message)
		q.add(DetailServerSees, "what you fill in; nothing if you decline or cancel")
		form, err := formSchema(asked.Elicit)
		if err != nil {
			return q, fmt.Errorf("question of the server %q: %w", asked.Server, err)
		}
		content = `,"content":` + string(form)
	}
	q.Schema = jsontext.Value(`{"type":"object","properties":{"action":{"enum":["accept","decline","cancel"]},"text":{"type":"string"},` +
		`"systemPrompt":{"type":"string"},"texts":{"type":"array","items":{"type":"string"}}` + content + `},"required":["action"],"additionalProperties":false}`)
	return q, nil
}

// formSchema returns the schema of a form with what the protocol allows in it, and nothing else.
func formSchema(p *mcp.ElicitParams) (jsontext.Value, error) {
	var form mcp.ElicitSchema
	if err := json.Unmarshal(p.RequestedSchema, &form); err != nil {
		return nil, fmt.Errorf("the form: %w", err)
	}
	return json.Marshal(form)
}

// DetailsOf returns what a person has to know to answer a question of a server.
func DetailsOf(asked *host.ServerQuestion) ([]Detail, error) {
	q, err := serverQuestion(asked)
	return q.Details, err
}

func (q *Question) add(name, format string, args ...any) {
	q.Details = append(q.Details, Detail{name, fmt.Sprintf(format, args...)})
}

func samplingKind(asked *host.ServerQuestion) Kind {
	switch asked.Review {
	case host.ReviewRequest:
		return KindSamplingRequest
	case host.ReviewReply:
		return KindSamplingReply
	}
	return KindSampling
}

func samplingText(asked *host.ServerQuestion) string {
	switch asked.Review {
	case host.ReviewRequest:
		return "asks the model of the client: may the model get this?"
	case host.ReviewReply:
		return "gets this answer of the client's model: may it?"
	}
	return "asks for the answer of a model, and you can give it"
}

// addSampling adds the details of a sampling request.
func (q *Question) addSampling(asked *host.ServerQuestion) {
	p := asked.Sampling
	if asked.Review == host.ReviewReply {
		for _, content := range asked.Reply.Content {
			q.add(DetailReply, "%s", contentText(content))
			q.addMetadata("answer", contentMetadata(content))
		}
		q.add(DetailModel, "%s", asked.Reply.Model)
		if asked.Reply.StopReason != "" {
			q.add(DetailStopped, "%s", asked.Reply.StopReason)
		}
		q.add(DetailServerSees, "this answer, or what you write in its place; nothing if you decline")
		return
	}
	if p.SystemPrompt != "" {
		q.add(DetailSystemPrompt, "%s", p.SystemPrompt)
	}
	for i, m := range p.Messages {
		for _, content := range m.Content {
			q.add(messageDetail(i, &m), "%s", contentText(content))
			q.addMetadata(messageDetail(i, &m), contentMetadata(content))
		}
		q.addMetadata(messageDetail(i, &m), metadata{Meta: m.Meta, Extra: m.Extra})
	}
	if text := preferences(p); text != "" {
		q.add(DetailModel, "%s", text)
	}
	for i := range p.Tools { // the model reads all of it
		t := &p.Tools[i]
		q.add(DetailTool, "%s", toolText(t))
		q.addMetadata(DetailTool+" "+t.Name, metadata{Annotations: t.Annotations, Meta: t.Meta, Extra: t.Extra})
	}
	if p.Metadata != nil {
		q.add(DetailMetadata, "%s", host.EscapeUnprintable(string(p.Metadata)))
	}
	if asked.Review == host.ReviewRequest {
		q.add(DetailServerSees, "the answer of the model, which you see first; nothing if you decline")
	} else {
		q.add(DetailServerSees, "what you write; nothing if you decline")
	}
}

// metadata is what stands beside the text of a part of a sampling request. A client may show its model all of it.
type metadata struct {
	Annotations any            `json:"annotations,omitempty"`
	Meta        mcp.Meta       `json:"_meta,omitempty"`
	Extra       jsontext.Value `json:",embed"`
}

// contentMetadata returns the metadata of a content block that contentText leaves out.
func contentMetadata(content mcp.Content) metadata {
	switch c := content.(type) {
	case mcp.TextContent:
		return metadata{c.Annotations, c.Meta, c.Extra}
	case mcp.ImageContent:
		return metadata{c.Annotations, c.Meta, c.Extra}
	case mcp.AudioContent:
		return metadata{c.Annotations, c.Meta, c.Extra}
	}
	return metadata{}
}

// addMetadata adds the metadata of a part of a sampling request, if it has any.
func (q *Question) addMetadata(part string, m metadata) {
	raw, err := json.Marshal(m, json.Deterministic(true))
	if text := string(raw); err == nil && text != "{}" {
		q.add(DetailMetadata, "of %s: %s", host.EscapeUnprintable(part), host.EscapeUnprintable(text))
	}
}

// messageDetail is the name of the details of a message.
func messageDetail(i int, m *mcp.SamplingMessage) string {
	return fmt.Sprintf("%d %s", i+1, host.EscapeUnprintable(string(m.Role)))
}

// contentText describes a content block of a message in words.
func contentText(content mcp.Content) string {
	switch c := content.(type) {
	case mcp.TextContent:
		return host.EscapeUnprintable(c.Text, '\n', '\t')
	case mcp.ImageContent:
		return fmt.Sprintf("(an image, %s, %d bytes)", host.EscapeUnprintable(c.MIMEType), len(c.Data))
	case mcp.AudioContent:
		return fmt.Sprintf("(audio, %s, %d bytes)", host.EscapeUnprintable(c.MIMEType), len(c.Data))
	case mcp.ToolResultContent:
		result := c
		result.Content = new(fileTaker).take("", c.Content)
		text := rawText(result)
		for _, one := range c.Content {
			switch one.(type) {
			case mcp.ImageContent, mcp.AudioContent:
				text += "\n" + contentText(one)
			}
		}
		return text
	}
	return rawText(content)
}

// rawText returns content as JSON.
func rawText(content mcp.Content) string {
	raw, err := json.Marshal(content)
	if err != nil {
		return "(content that cannot be shown)"
	}
	return host.EscapeUnprintable(string(raw), '\n', '\t')
}

// toolText describes a tool of a sampling request: its name, its texts, and the rest of its definition.
func toolText(t *mcp.Tool) string {
	lines := []string{t.Name}
	for _, text := range []string{t.Title, t.Description, string(t.InputSchema), string(t.OutputSchema)} {
		if text != "" {
			lines = append(lines, text)
		}
	}
	return host.EscapeUnprintable(strings.Join(lines, "\n"), '\n', '\t')
}

// preferences describes which model a server wants, and how.
func preferences(p *mcp.CreateMessageParams) string {
	var all []string
	add := func(name string, value *float64) {
		if value != nil {
			all = append(all, name+" "+strconv.FormatFloat(*value, 'g', 4, 64))
		}
	}
	if wanted := p.ModelPreferences; wanted != nil {
		for _, hint := range wanted.Hints {
			all = append(all, "such as "+host.EscapeUnprintable(host.CutText(hint.Name, 100)))
		}
		add("cost", wanted.CostPriority)
		add("speed", wanted.SpeedPriority)
		add("intelligence", wanted.IntelligencePriority)
	}
	add("temperature", p.Temperature)
	if p.MaxTokens > 0 {
		all = append(all, fmt.Sprintf("at most %d tokens", p.MaxTokens))
	}
	for _, text := range p.StopSequences {
		all = append(all, "until "+host.EscapeUnprintable(strconv.Quote(text)))
	}
	return strings.Join(all, ", ")
}

// OfServer reports whether questions of the kind are those of servers.
func (k Kind) OfServer() bool {
	return slices.Contains([]Kind{KindForm, KindURL, KindSampling, KindSamplingRequest, KindSamplingReply}, k)
}

// OfServer returns the question of a server that a question is about, or nil.
func (q *Question) OfServer() *host.ServerQuestion {
	if !q.Kind.OfServer() {
		return nil
	}
	asked, err := decode[host.ServerQuestion](q.Subject)
	if err != nil {
		return nil
	}
	return asked
}

// IsReview reports whether an answer may leave what a question shows as it is.
func (q *Question) IsReview() bool {
	return q.Kind == KindSamplingRequest || q.Kind == KindSamplingReply
}

// ServerAnswerContent returns the content of an answer to a question of a server.
func ServerAnswerContent(a *host.ServerAnswer) jsontext.Value {
	raw, err := json.Marshal(a)
	if err != nil {
		return nil // a text is not valid, so no question accepts the answer
	}
	return raw
}

// checkServerAnswer returns an error if an answer to the question of a server is not complete, or has what nobody gets.
func checkServerAnswer(q *Question, a Answer) error {
	given, err := decode[host.ServerAnswer](a.Content)
	switch {
	case err != nil:
		return err
	case given.Action != mcp.ElicitAccept:
		if given.Content != nil || given.Text != nil || given.SystemPrompt != nil || given.Texts != nil {
			return fmt.Errorf("the answer: found %q with an answer, want the answer with %q only", given.Action, mcp.ElicitAccept)
		}
		return nil
	case q.Kind == KindForm && given.Content == nil:
		return errors.New("the answer: found no content, want the fields of the form")
	case q.Kind == KindSampling && given.Text == nil:
		return errors.New("the answer: found no text, want what the server gets in place of a model's answer")
	case given.Text != nil && q.Kind != KindSampling && q.Kind != KindSamplingReply:
		return errors.New("the answer: found a text, want one only in place of a model's answer")
	case (given.SystemPrompt != nil || given.Texts != nil) && q.Kind != KindSamplingRequest:
		return errors.New("the answer: found texts of a request, want them only where a model gets the request")
	case given.Texts != nil:
		if asked := q.OfServer(); asked == nil || len(given.Texts) != len(asked.Texts()) {
			return fmt.Errorf("the answer: found %d texts, want one for each text of the messages", len(given.Texts))
		}
	}
	return nil
}

// serverDecision returns the entry in the audit log of an answer to the question of a server.
func serverDecision(q Question, a Answer) (host.Decision, error) {
	given, err := decode[host.ServerAnswer](a.Content)
	asked := q.OfServer()
	if err != nil || asked == nil {
		return host.Decision{}, errors.Join(err, errors.New("consent: the question has no valid subject"))
	}
	d := host.Decision{
		Time: time.Now(), Principal: q.Principal, Client: q.Client, Session: asked.Session, Upstream: asked.Server,
		Action: host.ActionAnswer, Name: string(q.Kind), Outcome: host.OutcomeDone, Grant: q.ID, GrantedBy: a.By, GrantedHow: a.How,
		Reason: string(given.Action),
	}
	switch {
	case given.Action != mcp.ElicitAccept:
		d.Outcome = host.OutcomeRefused
	case q.Kind == KindURL:
		d.Reason += ", " + mcpclient.URLHost(asked.Elicit)
	}
	return d, nil
}
