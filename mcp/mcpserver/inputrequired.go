package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/backoff"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// The pauses before a handler that has returned only state, and no questions, runs again.
const (
	minStatePause = 100 * time.Millisecond
	maxStatePause = 5 * time.Second
)

// pauseRaw waits before a handler that has returned only state runs again. Meanwhile the
// call does not count as running.
func (r *Request) pauseRaw(ctx context.Context, round int) error {
	defer r.pauseSlots(ctx)()
	timer := time.NewTimer(backoff.Pause(round+1, minStatePause, maxStatePause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// answerRaw asks the questions of one round concurrently and returns the answers.
func (r *Request) answerRaw(ctx context.Context, in *mcp.InputRequiredResult) (mcp.InputResponseParams, error) {
	next := mcp.InputResponseParams{RequestState: in.RequestState}
	if err := r.mayAskAll(in); err != nil {
		return next, err
	}
	ctx, cancel := r.withAskDeadline(ctx)
	defer cancel()
	keys := slices.Sorted(maps.Keys(in.InputRequests))
	answers, errs := make([]jsontext.Value, len(keys)), make([]error, len(keys))
	var waiting sync.WaitGroup
	for i, key := range keys {
		waiting.Go(func() {
			defer usercode.Contain(&errs[i])
			answers[i], errs[i] = r.askRaw(ctx, key, in.InputRequests[key])
		})
	}
	waiting.Wait()
	next.InputResponses = make(map[string]jsontext.Value, len(keys))
	for i, key := range keys {
		if errs[i] != nil {
			return next, fmt.Errorf("input %q: %w", key, answerError(errs[i]))
		}
		next.InputResponses[key] = answers[i]
	}
	return next, nil
}

// askRaw asks one question. An error of the client in an elicitation becomes the answer
// "cancel". Other errors cannot be expressed as an answer.
func (r *Request) askRaw(ctx context.Context, key string, q mcp.InputRequest) (jsontext.Value, error) {
	params, err := q.DecodeParams()
	if err != nil {
		return nil, err
	}
	raw, err := r.send(ctx, key, q.Method, params)
	if e, ok := errors.AsType[*mcp.Error](err); ok && e.Remote && q.Method == mcp.MethodElicit {
		return jsontext.Value(`{"action":"cancel"}`), nil
	}
	return raw, err
}
