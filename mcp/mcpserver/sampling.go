package mcpserver

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// Sample asks the client's model (sampling/createMessage) and returns its message:
//
//	answer, err := mcpserver.Sample(ctx, "summary", &mcp.CreateMessageParams{
//		Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text(text)}}},
//		MaxTokens: 200,
//	})
//	if err != nil {
//		return "", err
//	}
//	return answer.Content.Text(), nil
//
// MaxTokens must be positive, each use of a tool must be followed by its result, and a
// conversation may contain at most 10 messages with results of tools. The result is nil if
// and only if the error is not. The rules of [Ask] for keys, repeated runs, waiting and
// concurrent use apply. A client that did not declare the capability gets an error of
// CodeMissingCapability.
//
// Spec: 2026-07-28 client/sampling
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
func Sample(ctx context.Context, key string, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	answer := new(mcp.CreateMessageResult)
	if err := AskAll(ctx, SampleQuestion(key, p, answer)); err != nil {
		return nil, err
	}
	return answer, nil
}

// SampleQuestion returns the question of [Sample], to ask it together with others by
// [AskAll]. The answer is stored in out.
//
// Spec: 2026-07-28 client/sampling
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
func SampleQuestion(key string, p *mcp.CreateMessageParams, out *mcp.CreateMessageResult) Question {
	return Question{key: key, method: mcp.MethodCreateMessage, params: p, err: checkSample(p), answerDecoder: decodeAnswer(func(raw jsontext.Value) error {
		var answer mcp.CreateMessageResult
		if err := json.Unmarshal(raw, &answer); err != nil {
			return invalidAnswer(err)
		}
		if answer.Role == "" || len(answer.Content) == 0 {
			return invalidAnswer(errors.New("message of the model: want a role and content"))
		}
		*out = answer
		return nil
	})}
}

// checkSample returns what is wrong with a sampling request before it is sent.
func checkSample(p *mcp.CreateMessageParams) error {
	if p == nil {
		return errors.New("sampling: the params are nil, want messages and a positive MaxTokens")
	}
	if err := dialect.CheckConversation(p); err != nil {
		return fmt.Errorf("sampling: %w", err)
	}
	return nil
}
