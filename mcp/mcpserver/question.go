package mcpserver

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/internal/replay"
	"github.com/fondaco/fondaco/mcp/schema"
)

// Question is a question for [AskAll]: a request for elicitation, sampling or roots.
// ElicitForm, ElicitURL, ElicitQuestion, SampleQuestion and ListRoots return one.
type Question struct {
	key    string
	method string
	params any
	answerDecoder
	err error // of creating the question; AskAll returns it
}

// answerDecoder decodes the answers to a question.
type answerDecoder interface {
	// decode decodes the client's answer, which an earlier round may have validated against the
	// form. Its error is ErrDeclined, ErrDismissed or an *invalidAnswerError.
	decode(raw jsontext.Value, checked bool) error
}

// decodeAnswer is an answerDecoder for questions without a form.
type decodeAnswer func(raw jsontext.Value) error

func (d decodeAnswer) decode(raw jsontext.Value, _ bool) error { return d(raw) }

// invalidAnswerError reports an answer that is not valid for the question. The question is
// asked again once.
type invalidAnswerError struct{ err error }

func (e *invalidAnswerError) Error() string { return e.err.Error() }
func (e *invalidAnswerError) Unwrap() error { return e.err }

func invalidAnswer(err error) error {
	if err == nil {
		return nil
	}
	return &invalidAnswerError{err}
}

// ElicitForm returns an elicitation by a form (elicitation/create), as a question for
// [AskAll]. The fields of the form are those of T: a flat struct of strings, numbers,
// booleans and choices, with the same tags as arguments of tools. The answer is stored in
// out; a field that it leaves out has its default. A form must not ask for secrets; use ElicitURL for them.
//
// Spec: 2026-07-28 client/elicitation
func ElicitForm[T any](key, message string, out *T) Question {
	return newFormQuestion(message, out).question(key)
}

// formQuestion is a question by a form. The answer is stored in out, too, unless that is nil.
type formQuestion[T any] struct {
	params mcp.ElicitParams
	form   *form
	answer T
	out    *T
}

func newFormQuestion[T any](message string, out *T) *formQuestion[T] {
	q := &formQuestion[T]{form: formOf(reflect.TypeFor[T]()), out: out}
	q.params = mcp.ElicitParams{Mode: mcp.ElicitForm, Message: message, RequestedSchema: q.form.text}
	return q
}

func (q *formQuestion[T]) question(key string) Question {
	return Question{key: key, method: mcp.MethodElicit, params: &q.params, answerDecoder: q, err: q.form.err}
}

func (q *formQuestion[T]) decode(raw jsontext.Value, checked bool) error {
	content, err := acceptedContent(raw)
	if err != nil {
		return err
	}
	if len(content) == 0 {
		content = jsontext.Value("{}")
	}
	if !checked {
		if err := validate(q.form.validator, "answer", content); err != nil {
			return invalidAnswer(err)
		}
	}
	if len(q.form.missing.defaults) > 0 {
		content = q.form.missing.add(content)
	}
	if err := decodeValid("answer", content, &q.answer); err != nil {
		q.answer = *new(T)
		return invalidAnswer(err)
	}
	if q.out != nil {
		*q.out = q.answer
	}
	return nil
}

// ElicitQuestion returns an elicitation (elicitation/create) with given params, as a question
// for [AskAll], for code that has the schema of a form as JSON. Other code uses [ElicitForm]
// or [ElicitURL]. What the user chose is stored in out: to decline or to dismiss the question
// is no error here. The content of a form that was accepted is valid under its schema.
//
// Spec: 2026-07-28 client/elicitation
func ElicitQuestion(key string, p *mcp.ElicitParams, out *mcp.ElicitResult) Question {
	q := Question{key: key, method: mcp.MethodElicit, params: p}
	if p == nil {
		q.err = errors.New("elicitation: the params are nil, want a message and a schema or URL")
		return q
	}
	if p.Mode == mcp.ElicitURL {
		q.err = checkAddress(p.URL)
	}
	d := decodeElicit{out: out}
	if len(p.RequestedSchema) > 0 && q.err == nil {
		if d.form, q.err = jsonschema.Compile(p.RequestedSchema, nil); q.err != nil {
			q.err = fmt.Errorf("elicitation: requested schema: %w", q.err)
		}
	}
	q.answerDecoder = d
	return q
}

// decodeElicit is the answerDecoder of ElicitQuestion. The form is nil for a URL.
type decodeElicit struct {
	form *jsonschema.Validator
	out  *mcp.ElicitResult
}

func (d decodeElicit) decode(raw jsontext.Value, checked bool) error {
	content, err := acceptedContent(raw)
	if _, bad := errors.AsType[*invalidAnswerError](err); bad {
		return err
	}
	if err == nil && d.form != nil && !checked {
		if len(content) == 0 {
			content = jsontext.Value("{}")
		}
		if err := validate(d.form, "answer", content); err != nil {
			return invalidAnswer(err)
		}
	}
	answer, err := dialect.DecodeElicitResult(raw)
	if err == nil {
		*d.out = answer
	}
	return invalidAnswer(err)
}

// ElicitURL returns an elicitation by URL (elicitation/create in mode url), as a question
// for [AskAll]: it asks the user to open a URL, such as a sign-in page, whose contents the
// client does not see. The answer means that the user agreed to open the URL, not that
// anything was done there: the handler has to learn that from the page. The URL must be
// absolute, must not contain secrets or data that identifies the user, and should be https.
//
// Spec: 2026-07-28 client/elicitation#url-mode
func ElicitURL(key, message, address string) Question {
	q := Question{
		key: key, method: mcp.MethodElicit,
		params: &mcp.ElicitParams{Mode: mcp.ElicitURL, Message: message, URL: address},
		answerDecoder: decodeAnswer(func(raw jsontext.Value) error {
			_, err := acceptedContent(raw)
			return err
		}),
	}
	q.err = checkAddress(address)
	return q
}

// ListRoots returns a question for the client's roots (roots/list). The answer is stored in
// out.
//
// Spec: 2026-07-28 client/roots
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func ListRoots(key string, out *[]mcp.Root) Question {
	return Question{key: key, method: mcp.MethodRootsList, params: &mcp.EmptyParams{}, answerDecoder: decodeAnswer(func(raw jsontext.Value) error {
		var answer mcp.ListRootsResult
		if err := json.Unmarshal(raw, &answer); err != nil {
			return invalidAnswer(err)
		}
		for _, root := range answer.Roots {
			if !strings.HasPrefix(root.URI, "file://") {
				return invalidAnswer(fmt.Errorf("root %q: want a file URI", cleanText(root.URI, 128)))
			}
		}
		*out = answer.Roots
		return nil
	})}
}

// acceptedContent returns the content of an elicitation's answer that the user accepted.
func acceptedContent(raw jsontext.Value) (jsontext.Value, error) {
	answer, err := dialect.DecodeElicitResult(raw)
	if err != nil {
		return nil, invalidAnswer(err)
	}
	switch answer.Action {
	case mcp.ElicitAccept:
		return answer.Content, nil
	case mcp.ElicitDecline:
		return nil, ErrDeclined
	case mcp.ElicitCancel:
		return nil, ErrDismissed
	}
	return nil, invalidAnswer(fmt.Errorf("action %q: want accept, decline or cancel", cleanText(string(answer.Action), 64)))
}

// form is the form of a Go type.
type form struct {
	text      jsontext.Value
	validator *jsonschema.Validator
	missing   *missingArguments // fields of an answer
	err       error
}

// forms caches the form of each type.
var forms sync.Map // of reflect.Type to *form

func formOf(t reflect.Type) *form {
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	f := new(form)
	if f.text, f.err = schema.ForType(t, schema.Elicitation); f.err == nil {
		f.validator = jsonschema.Lazy(f.text, nil)
		f.missing, f.err = missingArgumentsOf(f.text)
	}
	kept, _ := forms.LoadOrStore(t, f)
	return kept.(*form)
}

func checkAddress(address string) error {
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.User != nil {
		return fmt.Errorf("URL %q: want an absolute one without a user, such as https://example.com/sign-in", cleanText(address, 128))
	}
	return nil
}

// openQuestion is a question of a call and what identifies it.
type openQuestion struct {
	Question
	digest  replay.Digest
	again   bool                // an answer did not fit
	refused *invalidAnswerError // which came in this run, or nil
}

// open prepares a question. It fails for one that the client cannot be asked.
func (r *Request) open(q Question) (o openQuestion, err error) {
	if err := r.call.CheckQuestion(q.method, q.params); err != nil {
		return o, err
	}
	o.Question = q
	if p, ok := q.params.(*mcp.ElicitParams); ok && p.Meta == nil {
		o.digest = replay.DigestOf(p.RequestedSchema, q.method, string(p.Mode), p.Message, p.URL)
		return o, nil
	}
	request, err := r.call.InputRequest(q.method, q.params)
	o.digest = replay.DigestOfRequest(request)
	return o, err
}

// maxRefusal limits the reason in a message, in bytes.
const maxRefusal = 512

// sentParams returns the params of the question as they are sent. After an answer that did not fit, the
// message of an elicitation says why it is asked again.
func (q *openQuestion) sentParams() any {
	p, ok := q.params.(*mcp.ElicitParams)
	if !ok || q.refused == nil {
		return q.params
	}
	again := *p
	again.Message += "\n\nThe last answer does not fit: " + cleanText(q.refused.Error(), maxRefusal)
	return &again
}

// first returns the first error.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// wrap adds the key of the question to an error.
func (q *Question) wrap(err error) error { return wrapAsk(q.key, err) }

// wrapAsk adds the key of a question to an error. ErrInputRequired ends every run that asks,
// and is not a fault of a question: it is returned as it is, without an allocation.
func wrapAsk(key string, err error) error {
	if err == nil || errors.Is(err, ErrInputRequired) {
		return err
	}
	return fmt.Errorf("ask %q: %w", key, err)
}
