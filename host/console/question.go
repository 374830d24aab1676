package console

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// questionView is the page of a question of a server.
type questionView struct {
	*Question
	// Blocks are its images and sounds.
	Blocks []block
	// Fields are those of its form. Without them the form is written as JSON.
	Fields  []*field
	HasForm bool
	JSON    string
	// Code, Reply, System and Texts are what the user has written.
	Code, Reply, System string
	Texts               []string
}

func newQuestionView(q *Question) *questionView {
	v := &questionView{Question: q, JSON: "{}", Reply: q.Server.Reply}
	if q.Server.Form != nil {
		v.Fields, v.HasForm = newForm(q.Server.Form, nil)
		noteDefaults(v.Fields)
		maskSecrets(v.Fields, q.Server.Secrets)
	}
	if p := q.Server.Prompt; p != nil {
		v.System, v.Texts = p.System, p.Texts
	}
	return v
}

// noteDefaults says at each field that has a default what the server gets without a value. The fields have the values of
// their defaults.
func noteDefaults(fields []*field) {
	for _, f := range fields {
		if f.Value != "" || len(f.Values) > 0 {
			f.Help = sentences(f.Help, "If you leave it empty, the server gets this default.")
		}
	}
}

// maskSecrets makes the inputs of some fields show no text.
func maskSecrets(fields []*field, names []string) {
	for _, name := range names {
		path := string(jsontext.Pointer("").AppendToken(name))
		for _, f := range fields {
			if f.Name == path && (f.Input == textInput || f.Input == numberInput) {
				f.Type = "password"
			}
		}
	}
}

// questionOf returns the question with a number, or nil.
func (c *Console) questionOf(ctx context.Context, id string) *Question {
	inbox := c.source.Inbox(ctx)
	if i := slices.IndexFunc(inbox.Questions, func(q Question) bool { return q.ID == id }); i >= 0 {
		return &inbox.Questions[i]
	}
	return nil
}

// question shows a question of a server on a page of its own, on which nothing changes while the user
// writes.
func (c *Console) question(w http.ResponseWriter, r *http.Request, s *session) {
	asked := c.questionOf(r.Context(), r.PathValue("id"))
	if asked == nil || asked.Server == nil {
		c.showInbox(w, r, s, &view{Message: "The question does not wait any more.", Failed: true})
		return
	}
	c.showQuestion(w, s, newQuestionView(asked), nil)
}

// showQuestion shows the page of a question, with why the last answer was not taken.
func (c *Console) showQuestion(w http.ResponseWriter, s *session, q *questionView, err error) {
	for i, f := range q.Files {
		path := ""
		if f.Kept {
			path = s.path() + "inbox/questions/" + q.ID + "/files/" + strconv.Itoa(i)
		}
		q.Blocks = append(q.Blocks, fileBlock(f.Name+", "+f.MIMEType, f.MIMEType, f.Bytes, path))
	}
	v := &view{Title: "Question " + q.ID, Section: "inbox", Still: true, Data: q}
	if err != nil {
		v.Message, v.Failed = "Nothing was sent: "+shown(err.Error()), true
	}
	c.show(w, s, "question", v)
}

// questionFile serves an image or a sound of a question.
func (c *Console) questionFile(w http.ResponseWriter, r *http.Request, _ *session) {
	asked := c.questionOf(r.Context(), r.PathValue("id"))
	n, err := strconv.Atoi(r.PathValue("n"))
	var data []byte
	if err == nil && asked != nil && n >= 0 && n < len(asked.Files) && asked.Files[n].Kept {
		data, err = c.source.File(r.Context(), asked.ID, n)
	}
	if err != nil || data == nil {
		http.NotFound(w, r)
		return
	}
	serveFile(w, r, fmt.Sprintf("question-%s-%d", asked.ID, n+1), newFile(asked.Files[n].MIMEType, data))
}

// answerServer answers a question of a server. If the answer is not taken, the page has what the user
// has written.
func (c *Console) answerServer(w http.ResponseWriter, r *http.Request, s *session, q *questionView) {
	action := mcp.ElicitAction(r.PostForm.Get("answer"))
	q.Code = r.PostForm.Get("code")
	given, err := q.answer(r, action)
	if err == nil {
		err = c.source.Answer(r.Context(), q.ID, Answer{Server: given, Code: q.Code})
	}
	if err != nil {
		c.showQuestion(w, s, q, err)
		return
	}
	http.Redirect(w, r, s.path()+"inbox?did=answered", http.StatusSeeOther)
}

// answer returns the answer that the user has written, and keeps it for the page.
func (q *questionView) answer(r *http.Request, action mcp.ElicitAction) (*host.ServerAnswer, error) {
	a := &host.ServerAnswer{Action: action}
	text := func(name string) string { return strings.ReplaceAll(r.PostForm.Get(name), "\r\n", "\n") }
	fill(q.Fields, r.PostForm)
	if q.Server.Answers {
		q.Reply = text("text")
	}
	if q.Server.Form != nil && !q.HasForm {
		q.JSON = text("json")
	}
	if q.Server.Prompt != nil {
		q.System = text("system")
		q.Texts = slices.Clone(q.Texts)
		for i := range q.Texts {
			q.Texts[i] = text(fmt.Sprint("text", i))
		}
	}
	switch action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		return a, nil
	case mcp.ElicitAccept:
	default:
		return nil, fmt.Errorf("found the answer %.20q, want accept, decline or cancel", action)
	}
	switch {
	case q.Server.Answers:
		a.Text = &q.Reply
	case q.Server.Prompt != nil:
		a.SystemPrompt, a.Texts = &q.System, q.Texts
	case q.HasForm:
		content, err := encodeForm(q.Fields)
		if err != nil {
			return nil, err
		}
		a.Content = content
	case q.Server.Form != nil:
		if a.Content = jsontext.Value(q.JSON); !a.Content.IsValid() || a.Content.Kind() != '{' {
			return nil, fmt.Errorf("found %.40q, want a JSON object", q.JSON)
		}
	}
	return a, nil
}
