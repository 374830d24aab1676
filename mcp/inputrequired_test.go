package mcp_test

import (
	"encoding/json/jsontext"
	"reflect"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestParamsOfAQuestionFollowItsMethod(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, params string
		want           any
	}{
		{mcp.MethodElicit, `{"message":"Where to?"}`, &mcp.ElicitParams{Message: "Where to?"}},
		{mcp.MethodCreateMessage, `{"messages":[],"maxTokens":7}`, &mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{}, MaxTokens: 7}},
		{mcp.MethodRootsList, `{}`, &mcp.EmptyParams{}},
		{mcp.MethodRootsList, ``, &mcp.EmptyParams{}},
		{mcp.MethodElicit, `null`, &mcp.ElicitParams{}},
	} {
		got, err := mcp.InputRequest{Method: tt.method, Params: jsontext.Value(tt.params)}.DecodeParams()
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s %s: got %#v, %v, want %#v", tt.method, tt.params, got, err, tt.want)
		}
	}
}

func TestParamsOfAQuestionThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ method, params, want string }{
		{mcp.MethodToolsCall, `{}`, `method "tools/call": want elicitation/create, sampling/createMessage or roots/list`},
		{mcp.MethodElicit, `7`, `elicitation/create: params: `},
		{mcp.MethodRootsList, `[]`, `roots/list: params: `},
	} {
		got, err := mcp.InputRequest{Method: tt.method, Params: jsontext.Value(tt.params)}.DecodeParams()
		if got != nil || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s %s: got %v, %v, want error %q", tt.method, tt.params, got, err, tt.want)
		}
	}
}
