package exchange

import (
	"bytes"
	"context"
	"errors"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/peer"
)

// A message that cannot be decoded ends what it belongs to, as far as its id can be
// recognized: a request is answered with the error, and the request that a response answers
// fails with it. An id is looked up in the table of the connection or session on which the
// message was received, so that no peer can end the requests of another.

// asDecodeError returns the error of a decoding, of which each has this type.
func asDecodeError(err error) *jsonrpc.DecodeError {
	bad, _ := errors.AsType[*jsonrpc.DecodeError](err)
	return bad
}

// malformed processes a frame that could not be decoded.
func (c *serving) malformed(ctx context.Context, bad *jsonrpc.DecodeError) {
	c.session.FailQuestions(bad)
	c.write(ctx, Malformed(bad).Body)
	for bad = bad.Next; bad != nil; bad = bad.Next {
		if bad.Kind != jsonrpc.Response {
			c.write(ctx, Malformed(bad).Body)
		}
	}
}

// FailQuestions fails the requests of the server to which a text that could not be decoded has
// the responses.
func (s *Session) FailQuestions(bad *jsonrpc.DecodeError) {
	for ; bad != nil; bad = bad.Next {
		if bad.Kind == jsonrpc.Response && !RefuseResponse(&s.Pending, bad) {
			s.refuseOnly(bad)
		}
	}
}

// RefuseResponse fails the request that a response that could not be decoded answers. It
// reports false if no such request waits.
func RefuseResponse(pending *peer.Pending, bad *jsonrpc.DecodeError) bool {
	return pending.Refuse(bad.ID, dialect.Invalid("%w", bad))
}

// Malformed returns the error response to a message that could not be decoded.
func Malformed(bad *jsonrpc.DecodeError) dialect.Reply {
	var id jsonrpc.ID
	if bad.Kind != jsonrpc.Response { // the id of a response is one of ours and must not be answered
		id = bad.ID
	}
	code := mcp.CodeInvalidRequest
	if bad.Code == jsonrpc.CodeParse {
		code = mcp.CodeParse
	}
	return dialect.Refuse(id, mcp.Errorf(code, "%s", bad))
}

// MalformedBatch returns the answer to a batch that could not be decoded: one error, or an
// array if it has several messages whose ids are recognized.
func MalformedBatch(bad *jsonrpc.DecodeError) dialect.Reply {
	reply := Malformed(bad)
	replies := [][]byte{reply.Body}
	for bad = bad.Next; bad != nil; bad = bad.Next {
		if bad.Kind != jsonrpc.Response {
			replies = append(replies, Malformed(bad).Body)
		}
	}
	if len(replies) > 1 {
		reply.Body = array(replies)
	}
	return reply
}

// malformed processes a message of the server that could not be decoded. What has neither a
// method nor a result is taken for a response, of which the rest is missing, if it has the
// member jsonrpc: servers that print their log on the same stream also use the name id.
func (l *connLink) malformed(bad *jsonrpc.DecodeError) {
	for ; bad != nil; bad = bad.Next {
		response := bad.Kind == jsonrpc.Response || bad.Kind == jsonrpc.Invalid && bad.JSONRPC
		if response && (RefuseResponse(&l.pending, bad) || l.refuseOnly(bad)) {
			continue
		}
		l.answerMalformed(l.inbox.Malformed(bad))
	}
}

// oversized returns the error for a message of the server that exceeds the limit on its size.
// An object that is not recognized as a request or a notification is taken for a result,
// because all else that servers send is small.
func oversized(frame *mcp.FrameError) *jsonrpc.DecodeError {
	bad := jsonrpc.Incomplete(frame.Reason, frame.Head, frame.Tail)
	unknown := bad.Kind == jsonrpc.Invalid && bad.ID.IsZero()
	if (unknown || bad.Kind == jsonrpc.Response) && bytes.HasPrefix(bytes.TrimSpace(frame.Head), []byte{'{'}) {
		bad.Kind, bad.JSONRPC, bad.Result = jsonrpc.Response, true, true
	}
	return bad
}

// IsMalformedResponse reports whether a message of a server that could not be decoded is a
// response, as far as it can be recognized.
func IsMalformedResponse(bad *jsonrpc.DecodeError) bool {
	return bad.Kind == jsonrpc.Response || bad.Kind == jsonrpc.Invalid
}
