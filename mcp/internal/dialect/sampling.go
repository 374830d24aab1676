package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// samples reports whether the revision has words for a request to the model.
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

// converses reports whether the blocks can be said in one message to or from a
// model. Older revisions have one block for each message, so several texts become
// one.
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

// createMessage brings a request to the model into the revision. Older ones
// have no tools.
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
	switch v.(type) {
	default:
		return json.Marshal(f.shape(v))
	case *mcp.CreateMessageParams:
		depth = 3
	case *mcp.CreateMessageResult:
		depth = 1
	}
	return json.Marshal(f.shape(v), json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, cs mcp.Contents) error {
		if enc.StackDepth() != depth { // the output of a tool, which is always a list
			return json.MarshalEncode(enc, []mcp.Content(cs))
		}
		return f.samplingContent(enc, cs)
	})))
}

// samplingContent encodes the content of a message to or from a model: one
// block as itself, which every revision reads, several as a list where the
// revision has lists, and several texts as one where it has not.
func (f *Facts) samplingContent(enc *jsontext.Encoder, cs mcp.Contents) error {
	if !f.converses(cs) {
		return fmt.Errorf("sampling message: %d blocks that %s has no words for; want texts, or one block that it knows", len(cs), f.Revision)
	}
	switch {
	case len(cs) == 1:
		return json.MarshalEncode(enc, f.block(cs[0]))
	case f.SamplingTools:
		return json.MarshalEncode(enc, []mcp.Content(f.content(cs)))
	}
	return json.MarshalEncode(enc, mcp.Text(cs.Text()))
}
