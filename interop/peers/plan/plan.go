// Package plan runs the steps of a plan with a client of another Go SDK, or calls without pause (Loop). step_test.go of
// interop documents the steps, and client.mjs runs them with the TypeScript SDKs.
package plan

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Step is one use of a feature.
type Step struct {
	Do        string
	Name      string
	Arguments map[string]any
	URI       string
	Kind      string
	Names     []string
	Ref       Reference
	Argument  Argument
	Lacking   bool
}

// Reference names what a completion is for.
type Reference struct{ Type, Name, URI string }

// Argument is what a completion is of.
type Argument struct{ Name, Value string }

// Call is a call of a tool. Progress and Log ask for such notifications.
type Call struct {
	Name          string
	Arguments     map[string]any
	Progress, Log bool
}

// Result is the result of a tool.
type Result struct {
	Text       string
	Structured any
	IsError    bool
}

// Notification is a notification from the server.
type Notification struct {
	Method   string
	URI      string
	Progress float64
	Data     any
}

// Session is a connected client.
type Session interface {
	Revision() string
	// List returns the names, URIs or URI templates of a list: tools, resources,
	// templates or prompts.
	List(ctx context.Context, kind string) ([]string, error)
	Call(context.Context, Call) (*Result, error)
	Read(ctx context.Context, uri string) (string, error)
	Get(ctx context.Context, prompt string, arguments map[string]string) (string, error)
	Complete(context.Context, Reference, Argument) ([]string, error)
	// Listen asks for notifications of changed lists, if uri is empty, or of a resource.
	Listen(ctx context.Context, uri string) error
	// SetLevel asks for log messages of all levels.
	SetLevel(context.Context) error
	Close() error
}

// Connect connects a client to a command, if it has several words, or to a URL. The client
// passes notifications to heard, one at a time or not.
type Connect func(ctx context.Context, target string, heard func(Notification)) (Session, error)

// Run takes the steps of a plan in JSON and prints the results as one object in JSON. What else
// an SDK prints goes to standard error: mcp-go 0.32 prints that its own Close ended a read.
func Run(connect Connect, target, steps string) {
	stdout := os.Stdout
	os.Stdout = os.Stderr
	r := runner{heard: make(chan Notification, 1000)}
	out := struct {
		Error   string `json:"error,omitzero"`
		Version string `json:"version,omitzero"`
		Results []any  `json:"results"`
	}{}
	if err := r.run(connect, target, steps); err != nil {
		out.Error = err.Error()
	} else {
		out.Version, out.Results = r.Revision(), r.results
	}
	if err := json.MarshalWrite(stdout, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type runner struct {
	Session
	heard   chan Notification
	results []any
}

func (r *runner) run(connect Connect, target, steps string) error {
	var plan []Step
	if err := json.Unmarshal([]byte(steps), &plan, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	s, err := connect(context.Background(), target, func(n Notification) { r.heard <- n })
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	r.Session = s
	for _, step := range plan {
		got, err := r.take(step)
		if err != nil {
			got = map[string]any{"error": err.Error()}
		}
		r.results = append(r.results, got)
	}
	r.close()
	return nil
}

// close gives up after a second: version 1.0 of go-sdk waits for the answer to a cancelled
// call, which the protocol does not want. Its error may be that a command has ended.
func (r *runner) close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = r.Close()
	}()
	select {
	case <-closed:
	case <-time.After(time.Second):
	}
}

func (r *runner) take(s Step) (any, error) {
	limit := 10 * time.Second
	if s.Lacking {
		limit = time.Second
	}
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	features := map[string]func(context.Context, Step) (any, error){
		"list": r.list, "call": r.call, "structured": r.structured, "read": r.read, "get": r.get, "complete": r.complete,
		"progress": r.progress, "cancel": r.cancel, "changed": r.changed, "updated": r.updated, "logged": r.logged, "asked": r.asked,
	}
	return features[s.Do](ctx, s)
}

func (r *runner) list(ctx context.Context, s Step) (any, error) {
	var listed []string
	for _, kind := range []string{"tools", "resources", "templates", "prompts"} {
		names, err := r.List(ctx, kind)
		if err != nil {
			return nil, err
		}
		listed = append(listed, names...)
	}
	missing := slices.DeleteFunc(s.Names, func(name string) bool { return slices.Contains(listed, name) })
	return append([]string{}, missing...), nil
}

func (r *runner) call(ctx context.Context, s Step) (any, error) {
	result, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments})
	if err != nil {
		return nil, err
	}
	return map[string]any{"text": result.Text, "isError": result.IsError}, nil
}

func (r *runner) structured(ctx context.Context, s Step) (any, error) {
	result, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments})
	if err != nil {
		return nil, err
	}
	return result.Structured, nil
}

func (r *runner) read(ctx context.Context, s Step) (any, error) { return r.Read(ctx, s.URI) }

func (r *runner) get(ctx context.Context, s Step) (any, error) {
	arguments := make(map[string]string)
	for name, value := range s.Arguments {
		arguments[name] = fmt.Sprint(value)
	}
	return r.Get(ctx, s.Name, arguments)
}

func (r *runner) complete(ctx context.Context, s Step) (any, error) {
	return r.Complete(ctx, s.Ref, s.Argument)
}

// progress waits for the last value a little longer than for the result, because the SDKs
// handle notifications beside responses.
func (r *runner) progress(ctx context.Context, s Step) (any, error) {
	r.drain()
	result, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments, Progress: true})
	if err != nil {
		return nil, err
	}
	seen := []float64{}
	for {
		n, err := r.hear(s, 200*time.Millisecond, "notifications/progress")
		if err != nil {
			slices.Sort(seen)
			return map[string]any{"text": result.Text, "seen": seen}, nil
		}
		seen = append(seen, n.Progress)
	}
}

func (r *runner) cancel(ctx context.Context, s Step) (any, error) {
	ctx, stop := context.WithCancel(ctx)
	defer time.AfterFunc(200*time.Millisecond, stop).Stop()
	_, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments})
	switch {
	case err == nil:
		return "answered", nil
	case ctx.Err() != nil:
		return "cancelled", nil
	}
	return nil, err
}

func (r *runner) changed(ctx context.Context, s Step) (any, error) {
	if err := r.Listen(ctx, ""); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond) // most clients do not tell when their stream is open
	r.drain()
	if _, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments}); err != nil {
		return nil, err
	}
	for {
		if _, err := r.hear(s, patience(s), "notifications/"+s.Kind+"/list_changed"); err != nil {
			return nil, err
		}
		names, err := r.List(ctx, s.Kind)
		if err != nil || slices.Contains(names, s.Names[0]) {
			return "changed", err
		}
	}
}

func (r *runner) updated(ctx context.Context, s Step) (any, error) {
	if err := r.Listen(ctx, s.URI); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond)
	r.drain()
	if _, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments}); err != nil {
		return nil, err
	}
	n, err := r.hear(s, patience(s), "notifications/resources/updated")
	if err == nil && n.URI != s.URI {
		err = fmt.Errorf("notified of %q", n.URI)
	}
	return "updated", err
}

func (r *runner) logged(ctx context.Context, s Step) (any, error) {
	if err := r.SetLevel(ctx); err != nil {
		return nil, err
	}
	r.drain()
	if _, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments, Log: true}); err != nil {
		return nil, err
	}
	n, err := r.hear(s, patience(s), "notifications/message")
	if record, ok := n.Data.(map[string]any); ok && record["msg"] != nil {
		return record["msg"], err
	}
	return n.Data, err
}

func (r *runner) asked(ctx context.Context, s Step) (any, error) {
	result, err := r.Call(ctx, Call{Name: s.Name, Arguments: s.Arguments})
	if err != nil {
		return nil, err
	}
	return result.Text, nil
}

func (r *runner) drain() {
	for len(r.heard) > 0 {
		<-r.heard
	}
}

// hear waits for a notification.
func (r *runner) hear(s Step, timeout time.Duration, method string) (Notification, error) {
	limit := time.After(timeout)
	for {
		select {
		case n := <-r.heard:
			if n.Method == method {
				return n, nil
			}
		case <-limit:
			return Notification{}, errors.New("no notification within the timeout")
		}
	}
}

// patience is short for a feature that is lacking.
func patience(s Step) time.Duration {
	if s.Lacking {
		return 250 * time.Millisecond
	}
	return 5 * time.Second
}

// Command returns the words of a target that is a command.
func Command(target string) ([]string, bool) {
	command, ok := strings.CutPrefix(target, "stdio:")
	return strings.Fields(command), ok
}
