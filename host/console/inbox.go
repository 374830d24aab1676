package console

import (
	"context"
	"encoding/json/jsontext"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/host"
)

// Inbox is what waits for the user, each in the order in which it came.
type Inbox struct {
	Questions []Question
	Approvals []Approval
	// SignIns are the servers that wait for a sign-in or a key.
	SignIns []Server
	// CodesShown: a host shows codes on its terminal or on the desktop, without which nothing is
	// approved.
	CodesShown bool
	// Codes are those for commands that want one while they are shown here alone.
	Codes []CommandCode
	// Problem says what of it is not known; empty if all is.
	Problem string
}

// Len is the number of what waits.
func (i *Inbox) Len() int { return len(i.Questions) + len(i.Approvals) + len(i.SignIns) }

// Question is a call that needs the consent of the user, or what a server asks in a call.
type Question struct {
	ID, Text         string
	Details          []Detail
	Client           string
	Principal        string
	Created, Expires time.Time
	// NeedsCode: the answer needs the code that a host shows with the question.
	NeedsCode bool
	// Code is what "fondaco answer" needs while the question is shown here alone; empty if it is shown elsewhere.
	Code string
	// ReadOnly: the answer may allow all read-only tools of the server.
	ReadOnly bool
	// Files are the images and sounds of the question, which its details only name.
	Files []File
	// Server is what a server asks, or nil for a call.
	Server *ServerQuestion
}

// File is an image or a sound of a question.
type File struct {
	Name, MIMEType string
	Bytes          int
	// Kept: InboxSource.File returns the content.
	Kept bool
}

// ServerQuestion is what the user gives as the answer to a question of a server.
type ServerQuestion struct {
	// Form is the schema of a form, nil if the server asks for none, and Secrets are the names of its fields that ask for
	// a secret.
	Form    jsontext.Value
	Secrets []string
	// URL is the address to open, which has the host Host. It is empty if there is none.
	URL, Host string
	// Prompt is a sampling request that the model of a client gets, which the user may change.
	Prompt *Prompt
	// Answers: the user writes what the server gets in place of a model's answer, or changes Reply,
	// which a model has answered.
	Answers bool
	Reply   string
}

// Prompt are the texts of a sampling request.
type Prompt struct {
	System string
	Texts  []string
}

// CommandCode is a code for a command of the user.
type CommandCode struct {
	// About is what the command is about to do, in its words.
	About, Code string
}

// Detail is a fact that a person has to know for the answer.
type Detail struct{ Name, Text string }

// Approval is a server, or what one lists, that waits for an approval.
type Approval struct {
	// ID identifies exactly what is shown: with other content it is another one.
	ID string
	// Title names the server or the servers.
	Title string
	// Covers is what the approval of a program or a remote server covers, as the terminal shows it.
	Covers string
	// Version is that of the server, and Before that when something was approved last.
	Version, Before string
	// Changes are the definitions that wait.
	Changes []Change
	// Command approves it on a terminal.
	Command string
}

// Change is a definition that waits.
type Change struct {
	Kind, Change, Name, OldName string
	// Claims are what the server says that a tool does.
	Claims   []string
	Findings []string
	// Diff has the changed lines, with "-" before those of the approved definition and "+" before
	// those of the new one.
	Diff string
}

// Answer is the answer to a question.
type Answer struct {
	Allow bool
	// For is how long a yes holds: once, session, a duration, always or read-only.
	For string
	// Code is the one that a host shows with the question, if that needs one.
	Code string
	// Server is the answer to a question of a server. It is nil for a call.
	Server *host.ServerAnswer
}

// InboxSource is what the inbox needs of a host.
type InboxSource interface {
	// Inbox returns what waits. It is called about once a second while pages are open.
	Inbox(context.Context) Inbox
	// File returns the content of a file of a question that waits.
	File(ctx context.Context, question string, n int) ([]byte, error)
	// Answer answers a question, with the rules of "fondaco answer".
	Answer(ctx context.Context, id string, a Answer) error
	// ShowCode makes a host show a code for an approval.
	ShowCode(ctx context.Context, approval string) error
	// Approve approves what waits under an ID. It always needs the code.
	Approve(ctx context.Context, approval, code string) error
}

// done are the messages after an action, by its name in the query.
var done = map[string]string{
	"answered": "Your answer was given.",
	"code":     "The host shows a code on its terminal or on the desktop. Type it here.",
	"approved": "It is approved.",
	"root":     "The configuration is changed.",
}

// inbox shows what waits.
func (c *Console) inbox(w http.ResponseWriter, r *http.Request, s *session) {
	c.showInbox(w, r, s, &view{Message: done[r.URL.Query().Get("did")]})
}

func (c *Console) showInbox(w http.ResponseWriter, r *http.Request, s *session, v *view) {
	inbox := c.source.Inbox(r.Context())
	v.Title, v.Section, v.Data = "Inbox", "inbox", &inbox
	c.show(w, s, "inbox", v)
}

// after shows the inbox after an action.
func (c *Console) after(w http.ResponseWriter, r *http.Request, s *session, did string, err error) {
	if err != nil {
		c.showInbox(w, r, s, &view{Message: "Nothing was changed: " + shown(err.Error()), Failed: true})
		return
	}
	http.Redirect(w, r, s.path()+"inbox?did="+did, http.StatusSeeOther)
}

// answer answers a question.
func (c *Console) answer(w http.ResponseWriter, r *http.Request, s *session) {
	id := r.PathValue("id")
	if asked := c.questionOf(r.Context(), id); asked != nil && asked.Server != nil {
		c.answerServer(w, r, s, newQuestionView(asked))
		return
	}
	a := Answer{Allow: r.PostForm.Get("answer") == "allow", For: r.PostForm.Get("for"), Code: r.PostForm.Get("code")}
	if !a.Allow {
		a.For = ""
	}
	c.after(w, r, s, "answered", c.source.Answer(r.Context(), id, a))
}

// approve approves what waits, or asks for the code that this needs.
func (c *Console) approve(w http.ResponseWriter, r *http.Request, s *session) {
	id := r.PathValue("id")
	if r.PostForm.Get("do") == "code" {
		c.after(w, r, s, "code", c.source.ShowCode(r.Context(), id))
		return
	}
	c.after(w, r, s, "approved", c.source.Approve(r.Context(), id, r.PostForm.Get("code")))
}
