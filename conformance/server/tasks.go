package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// addTasks adds tools whose calls become tasks for clients that support tasks, and one
// that never does.
func addTasks(srv *mcpserver.Server) {
	work := tasks.Enable(srv, nil)
	srv.Tool("greet", "Greets at once", greet, mcpserver.ReadOnly())
	srv.Tool("slow_compute", "Computes for some seconds", slowCompute, work.AsTask(), mcpserver.ReadOnly())
	srv.Tool("failing_job", "Fails after a second", failingJob, work.AsTask(tasks.Required))
	srv.Tool("protocol_error_job", "Ends in a protocol error", protocolErrorJob, work.AsTask())
	srv.Tool("confirm_delete", "Deletes a file, if the user agrees", confirmDelete, work.AsTask())
	srv.Tool("multi_input", "Asks the user two things at once", multiInput, work.AsTask())
	srv.Tool("test_tool_with_task", "Asks the user first, and becomes a task then", askThenWork, work.AsTask(tasks.Required, tasks.Late))
}

func greet(_ context.Context, in Named) (string, error) {
	return fmt.Sprintf("Hello, %s!", in.Name), nil
}

// Computation is what to compute.
type Computation struct {
	Seconds float64 `json:"seconds" doc:"how long it takes" min:"0" max:"3600"`
	Label   string  `json:"label" doc:"name of the computation" default:"computation"`
}

func slowCompute(ctx context.Context, in Computation) (string, error) {
	if err := pause(ctx, time.Duration(in.Seconds*float64(time.Second))); err != nil {
		return "", err
	}
	return fmt.Sprintf("Computed %s in %g seconds.", in.Label, in.Seconds), nil
}

func failingJob(ctx context.Context, _ none) (string, error) {
	if err := pause(ctx, time.Second); err != nil {
		return "", err
	}
	return "", errors.New("the job has failed, as it always does")
}

func protocolErrorJob(context.Context, none) (string, error) {
	return "", mcp.Errorf(mcp.CodeInternal, "the job ends in a protocol error, as it always does")
}

// File has the name of a file.
type File struct {
	Filename string `json:"filename" doc:"name of the file"`
}

// Consent is an elicitation form.
type Consent struct {
	Confirm bool `json:"confirm"`
}

func confirmDelete(ctx context.Context, in File) (string, error) {
	consent, err := mcpserver.Ask[Consent](ctx, "confirm", fmt.Sprintf("Delete %s?", in.Filename))
	switch {
	case err != nil:
		return "", err
	case !consent.Confirm:
		return "Nothing was deleted.", nil
	}
	return fmt.Sprintf("Deleted %s.", in.Filename), nil
}

func multiInput(ctx context.Context, _ none) (string, error) {
	var user, friend Named
	err := mcpserver.AskAll(
		ctx,
		mcpserver.ElicitForm("user_name", "What is your name?", &user),
		mcpserver.ElicitForm("friend_name", "What is your friend's name?", &friend),
	)
	return fmt.Sprintf("Hello, %s and %s!", user.Name, friend.Name), err
}

func askThenWork(ctx context.Context, _ none) (string, error) {
	user, err := mcpserver.Ask[Named](ctx, "user_name", "What is your name?")
	if err != nil {
		return "", err
	}
	if ctx, err = tasks.Begin(ctx); err != nil {
		return "", err
	}
	if err := pause(ctx, time.Second); err != nil {
		return "", err
	}
	return fmt.Sprintf("Hello, %s!", user.Name), nil
}
