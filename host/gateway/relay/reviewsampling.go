package relay

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
)

// reviews reports whether the user of the host sees sampling requests before the model of a client gets
// them, and answers of the model before the upstream gets them.
func (rl *Relay) reviews() bool { return rl.questions.person().Sample }

// reviewedSampleFunc is askCallerFunc for sampling requests that the user of the host reviews.
func reviewedSampleFunc(rl *Relay, conn func() *link.Conn) func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	relay := askCallerFunc[mcp.CreateMessageParams, mcp.CreateMessageResult](rl, conn, mcp.MethodCreateMessage)
	return func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		ask := rl.askPersonOn(conn(), mcp.MethodCreateMessage)
		if err := rl.reviewRequest(ctx, ask, p); err != nil {
			return new(mcp.CreateMessageResult), personError(mcp.MethodCreateMessage, err)
		}
		reply, err := relay(ctx, p)
		if err == nil {
			err = personError(mcp.MethodCreateMessage, rl.reviewReply(ctx, ask, reply))
		}
		return reply, err
	}
}

// reviewRequest shows a sampling request to the user of the host, who may change its texts. The error says
// that it must not be sent.
func (rl *Relay) reviewRequest(ctx context.Context, ask personFunc, p *mcp.CreateMessageParams) error {
	asked, err := rl.questions.personQuestion(mcp.MethodCreateMessage, p)
	if err != nil {
		return err
	}
	asked.Review = host.ReviewRequest
	given, err := ask(ctx, asked)
	switch {
	case err != nil:
		return err
	case given.Action != mcp.ElicitAccept:
		return errRefusedSampling
	}
	if given.SystemPrompt != nil {
		p.SystemPrompt = *given.SystemPrompt
	}
	replaceTexts(p, given.Texts)
	return nil
}

// replaceTexts replaces the texts of the messages of a sampling request, in their order.
func replaceTexts(p *mcp.CreateMessageParams, texts []string) {
	for _, m := range p.Messages {
		for i, content := range m.Content {
			if text, ok := content.(mcp.TextContent); ok && len(texts) > 0 {
				text.Text, texts = texts[0], texts[1:]
				m.Content[i] = text
			}
		}
	}
}

// reviewReply shows what the model of a client has answered to the user of the host, who may replace its
// text. The error says that the upstream must not get it.
func (rl *Relay) reviewReply(ctx context.Context, ask personFunc, reply *mcp.CreateMessageResult) error {
	given, err := ask(ctx, &host.ServerQuestion{Server: rl.Key, Sampling: new(mcp.CreateMessageParams), Review: host.ReviewReply, Reply: reply})
	switch {
	case err != nil:
		return err
	case given.Action != mcp.ElicitAccept:
		return errRefusedSampling
	}
	if given.Text != nil && *given.Text != reply.Content.Text() {
		reply.Content = slices.DeleteFunc(slices.Clone(reply.Content), func(content mcp.Content) bool {
			_, ok := content.(mcp.TextContent)
			return ok
		})
		reply.Content = append(mcp.Contents{mcp.Text(*given.Text)}, reply.Content...)
	}
	return nil
}

// reviewReplies is reviewReply for the answers of a caller to an upstream of the stateless era. keys are
// those of sampling requests.
func (rl *Relay) reviewReplies(c *call, keys []string, answers map[string]jsontext.Value) error {
	for _, key := range keys {
		raw, ok := answers[key]
		if !ok {
			continue
		}
		reply := new(mcp.CreateMessageResult)
		err := json.Unmarshal(raw, reply)
		if err == nil {
			err = rl.reviewReply(c.Context, rl.askPersonIn(c, mcp.MethodCreateMessage), reply)
		}
		if err == nil {
			answers[key], err = json.Marshal(reply)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
