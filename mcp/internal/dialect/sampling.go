package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// samples reports whether the revision has a form for a sampling request.
func (f *Facts) samples(p *mcp.CreateMessageParams) bool {
	if !f.SamplingTools && (len(p.Tools) > 0 || p.ToolChoice != nil) {
		return false
	}
	for _, m := range p.Messages {
		if !f.converses(m.Content) {
			return false
		}
	}
	return true
}

// converses reports whether the revision can express the blocks in one sampling
// message. Older revisions have one block per message, so several texts are
// joined.
func (f *Facts) converses(cs mcp.Contents) bool {
	for _, c := range cs {
		switch c.(type) {
		case mcp.TextContent:
		case mcp.ImageContent:
			if len(cs) > 1 && !f.SamplingTools {
				return false
			}
		case mcp.AudioContent:
			if !f.Audio || len(cs) > 1 && !f.SamplingTools {
				return false
			}
		default:
			if !f.SamplingTools {
				return false
			}
		}
	}
	return true
}

// MaxToolTurns is the maximum number of times that tool results are sent to the
// model in one conversation.
const MaxToolTurns = 10

// CheckConversation returns an error for an invalid sampling request: MaxTokens
// is not positive, or tool uses and tool results do not match.
//
// Spec: 2026-07-28 client/sampling#tool-use
func CheckConversation(p *mcp.CreateMessageParams) error {
	if p.MaxTokens <= 0 {
		return fmt.Errorf("maxTokens %d: want a positive number", p.MaxTokens)
	}
	var open map[string]bool // ids of uses without an output
	turns := 0
	for i, m := range p.Messages {
		t, err := turnOf(m)
		if err == nil {
			err = t.answers(open)
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		if open = t.uses; len(t.outputs) > 0 {
			turns++
		}
	}
	switch {
	case len(open) > 0:
		return errors.New("the last message has tool uses: want a message with their results after it")
	case turns > MaxToolTurns:
		return fmt.Errorf("tool results are sent to the model %d times, want at most %d", turns, MaxToolTurns)
	}
	return nil
}

// turn holds the tool uses and tool results of one message, by their ids.
type turn struct {
	uses, outputs map[string]bool
}

func turnOf(m mcp.SamplingMessage) (turn, error) {
	t := turn{make(map[string]bool), make(map[string]bool)}
	if m.Role != mcp.RoleUser && m.Role != mcp.RoleAssistant {
		return t, fmt.Errorf("role %.32q: want user or assistant", m.Role)
	}
	for _, c := range m.Content {
		switch c := c.(type) {
		case mcp.ToolUseContent:
			if m.Role != mcp.RoleAssistant || t.uses[c.ID] {
				return t, fmt.Errorf("tool use %.64q: want it in a message of the assistant, and once", c.ID)
			}
			t.uses[c.ID] = true
		case mcp.ToolResultContent:
			if m.Role != mcp.RoleUser || t.outputs[c.ToolUseID] {
				return t, fmt.Errorf("tool result for %.64q: want it in a message of the user, and once", c.ToolUseID)
			}
			t.outputs[c.ToolUseID] = true
		}
	}
	if n := len(t.outputs); n > 0 && n < len(m.Content) {
		return t, errors.New("tool results and other content in one message: want tool results only")
	}
	return t, nil
}

// answers checks that the turn has a result for each use of the turn before it,
// and no other.
func (t turn) answers(open map[string]bool) error {
	for id := range open {
		if !t.outputs[id] {
			return fmt.Errorf("want the result of tool use %.64q first", id)
		}
	}
	for id := range t.outputs {
		if !open[id] {
			return fmt.Errorf("tool result for %.64q: the message before has no such tool use", id)
		}
	}
	return nil
}

// createMessage converts a sampling request to the revision. Older ones have no
// tools.
func (f *Facts) createMessage(v *mcp.CreateMessageParams) any {
	out := *v
	if !f.SamplingTools {
		out.Tools, out.ToolChoice = nil, nil
		return &out
	}
	if v.Tools != nil {
		out.Tools = each(v.Tools, f.tool)
	}
	return &out
}

// marshal encodes v in the shape of the revision.
func (f *Facts) marshal(v any) ([]byte, error) {
	depth := 0 // of a message, which is the object around the content
	switch v := v.(type) {
	default:
		return json.Marshal(f.convert(v))
	case *mcp.ElicitParams:
		if f.Era == StatelessEra {
			if plain := plainElicitation(v); plain != nil {
				return plain, nil
			}
		}
		return json.Marshal(f.convert(v))
	case *mcp.ElicitResult:
		return appendElicitResult(nil, v)
	case *mcp.CreateMessageParams:
		depth = 3
	case *mcp.CreateMessageResult:
		depth = 1
	}
	return json.Marshal(f.convert(v), json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, cs mcp.Contents) error {
		if enc.StackDepth() != depth { // the output of a tool, which is always a list
			return json.MarshalEncode(enc, []mcp.Content(cs))
		}
		return f.samplingContent(enc, cs)
	})))
}

// samplingContent encodes the content of a sampling message: a single block as
// an object, which every revision reads; several blocks as a list if the
// revision has lists, otherwise several texts as one block.
func (f *Facts) samplingContent(enc *jsontext.Encoder, cs mcp.Contents) error {
	if !f.converses(cs) {
		return fmt.Errorf("sampling message: %d blocks that %s cannot express; want only texts, or one block", len(cs), f.Revision)
	}
	switch {
	case len(cs) == 1:
		return json.MarshalEncode(enc, f.block(cs[0]))
	case f.SamplingTools:
		return json.MarshalEncode(enc, []mcp.Content(f.content(cs)))
	}
	return json.MarshalEncode(enc, mcp.Text(cs.Text()))
}
