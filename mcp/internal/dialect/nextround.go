package dialect

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// InputRequired is a result that requires input. It shares memory with the response.
type InputRequired struct {
	// Questions are in the order of their keys.
	Questions []KeyedQuestion
	// State is the server's state as a JSON string, or nil if it has none.
	State jsontext.Value

	raw jsontext.Value // the whole result
}

// KeyedQuestion is one question of a result and its key.
type KeyedQuestion struct {
	Key string
	mcp.InputRequest
}

// Result returns the whole result.
func (in *InputRequired) Result() (*mcp.InputRequiredResult, error) {
	result := new(mcp.InputRequiredResult)
	if err := json.Unmarshal(in.raw, result); err != nil {
		return nil, err
	}
	return result, nil
}

// decodeInputRequired decodes a result of strict JSON.
func decodeInputRequired(raw jsontext.Value) (*InputRequired, error) {
	in, ok := readInputRequired(raw)
	if !ok {
		result, err := in.Result()
		if err != nil {
			return nil, err
		}
		in.Questions, in.State = in.Questions[:0], nil
		for key, q := range result.InputRequests {
			in.Questions = append(in.Questions, KeyedQuestion{key, q})
		}
		if result.RequestState != nil {
			in.State = rawjson.AppendString(nil, *result.RequestState)
		}
	}
	slices.SortFunc(in.Questions, func(a, b KeyedQuestion) int { return cmp.Compare(a.Key, b.Key) })
	return in, nil
}

// readInputRequired decodes a result in its usual form.
func readInputRequired(raw jsontext.Value) (in *InputRequired, ok bool) {
	in = &InputRequired{raw: raw}
	for name, value := range rawjson.Members(raw) {
		ok := true
		switch string(name) {
		case "resultType":
		case "_meta":
			ok = value.Kind() == '{'
		case "inputRequests":
			in.Questions, ok = readQuestions(value)
		case "requestState":
			ok = value.Kind() == '"'
			in.State = value
		default:
			ok = false
		}
		if !ok {
			return in, false
		}
	}
	return in, true
}

func readQuestions(object jsontext.Value) (questions []KeyedQuestion, ok bool) {
	for key, request := range rawjson.Members(object) {
		q := KeyedQuestion{Key: string(key)}
		if request.Kind() != '{' {
			return nil, false
		}
		for name, value := range rawjson.Members(request) {
			switch string(name) {
			case "method":
				if value.Kind() != '"' {
					return nil, false
				}
				q.Method = methodName(rawjson.Unquote(value))
			case "params":
				q.Params = value
			default:
				return nil, false
			}
		}
		questions = append(questions, q)
	}
	return questions, object.Kind() == '{'
}

// methodName returns the name of a method without a copy if it is that of a question.
func methodName(name []byte) string {
	for _, known := range [...]string{mcp.MethodElicit, mcp.MethodCreateMessage, mcp.MethodRootsList} {
		if known == string(name) {
			return known
		}
	}
	return string(name)
}

// Next returns the request of the next round, after it was answered with input_required:
// with an answer to each question, which answer returns, and the unchanged state of the
// server. In later rounds call it on the first request, too.
//
// Spec: 2026-07-28 basic/patterns/mrtr
func (r *Request) Next(in *InputRequired, answer func(KeyedQuestion) (result any, err error)) (*Request, error) {
	const around, perAnswer = len(`"inputResponses":{},"requestState":`), 96
	dst := make([]byte, 0, around+perAnswer*len(in.Questions)+len(in.State))
	if len(in.Questions) > 0 {
		dst = append(appendName(dst, "inputResponses"), '{')
		for _, q := range in.Questions {
			result, err := answer(q)
			if err == nil {
				dst, err = r.client.appendInputResponse(appendKey(dst, q.Key), result)
			}
			if err != nil { // the protocol cannot express a failed answer
				return nil, fmt.Errorf("input %.64q: %w", q.Key, err)
			}
		}
		dst = append(dst, '}')
	}
	if in.State != nil {
		dst = appendValue(dst, "requestState", in.State)
	}
	return r.withResponses(dst), nil
}

// withResponses returns a copy of the request with the members that a later round adds.
func (r *Request) withResponses(members []byte) *Request {
	again := *r
	again.responses = members
	return &again
}
