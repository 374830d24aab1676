package control

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"net/url"
)

// maxAnswerBytes limits the body of an answer.
const maxAnswerBytes = 64 << 10

// ErrCode reports that an answer was refused because its code is missing or wrong.
var ErrCode = errors.New("want the code that the host shows in its terminal or notification")

// Answer is the answer to a question, given by a command.
type Answer struct {
	// ID is the number of the question.
	ID string `json:"id"`
	// Content is as the schema of the question requires.
	Content jsontext.Value `json:"content"`
	// Code is the one that the host shows beside the question.
	Code string `json:"code,omitzero"`
}

// QuestionFunctions are what the socket gives access to about questions to a person. All
// functions have to be set.
type QuestionFunctions struct {
	// Answer answers a question. Its error wraps ErrCode if the code is not right.
	Answer func(context.Context, Answer) error
	// ShowCode shows a person a code for what another command is about to do, which a text
	// describes. It returns an error if the host cannot show it.
	ShowCode func(about string) error
	// CheckCode checks such a code. Its error wraps ErrCode if it is not right.
	CheckCode func(about, code string) error
}

// serve adds the routes.
func (f *QuestionFunctions) serve(mux *http.ServeMux) {
	mux.HandleFunc("POST /answer", func(w http.ResponseWriter, r *http.Request) {
		var a Answer
		if err := json.UnmarshalRead(io.LimitReader(r.Body, maxAnswerBytes), &a); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		writeError(w, f.Answer(r.Context(), a))
	})
	mux.HandleFunc("POST /code", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, f.ShowCode(r.URL.Query().Get("about")))
	})
	mux.HandleFunc("POST /code/check", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, f.CheckCode(r.URL.Query().Get("about"), r.Header.Get(codeHeader)))
	})
}

// codeHeader has the code to check.
const codeHeader = "Fondaco-Code"

func writeError(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, ErrCode):
		http.Error(w, err.Error(), http.StatusForbidden)
	default:
		http.Error(w, err.Error(), http.StatusConflict)
	}
}

// Answer answers a question. The error wraps ErrCode if the host shows a code and the answer
// does not have it.
func (c *Client) Answer(ctx context.Context, a Answer) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/answer", bytes.NewReader(body))
	if err != nil {
		return err
	}
	return c.send(request, nil)
}

// ShowCode makes the host show a code for what the caller is about to do.
func (c *Client) ShowCode(ctx context.Context, about string) error {
	return c.do(ctx, http.MethodPost, "/code?about="+url.QueryEscape(about), nil)
}

// CheckCode checks a code that ShowCode has made the host show. The error wraps ErrCode if it
// is not right.
func (c *Client) CheckCode(ctx context.Context, about, code string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/code/check?about="+url.QueryEscape(about), nil)
	if err != nil {
		return err
	}
	request.Header.Set(codeHeader, code)
	return c.send(request, nil)
}

// codeError is the text of a host about a code.
type codeError struct{ text string }

func (e *codeError) Error() string { return e.text }
func (e *codeError) Unwrap() error { return ErrCode }
