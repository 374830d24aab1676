package mcpwire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// answeredForm are the messages of a form with the field f1 and its answer: in each era, over HTTP, where the answer has another
// connection, and for tasks.
func answeredForm(message, field string) map[string][]mcp.WireMessage {
	params := fmt.Sprintf(`{"message":%q,"requestedSchema":{"type":"object","properties":{"f1":%s,"town":{"type":"string","title":"Town"}}}}`, message, field)
	const answer = `{"action":"accept","content":{"f1":"hunter2","town":"Rome"}}`
	ask := []byte(`{"id":7,"method":"elicitation/create","params":` + params + `}`)
	return map[string][]mcp.WireMessage{
		"session": {{Conn: 1, Data: ask}, {Conn: 1, Sent: true, Data: []byte(`{"id":7,"result":` + answer + `}`)}},
		"HTTP":    {{Conn: 1, Data: ask}, {Conn: 2, Sent: true, Data: []byte(`{"id":7,"result":` + answer + `}`)}},
		"stateless": {
			{Conn: 1, Data: []byte(`{"id":1,"result":{"resultType":"input_required","inputRequests":{"a/b":{"method":"elicitation/create","params":` + params + `}}}}`)},
			{Conn: 2, Sent: true, Data: []byte(`{"id":2,"method":"tools/call","params":{"name":"t","inputResponses":{"a/b":` + answer + `}}}`)},
		},
		"task": {
			{Conn: 1, Data: []byte(`{"id":1,"result":{"resultType":"complete","taskId":"t","status":"input_required","inputRequests":{"a/b":{"method":"elicitation/create","params":` + params + `}}}}`)},
			{Conn: 2, Sent: true, Data: []byte(`{"id":2,"method":"tasks/update","params":{"taskId":"t","inputResponses":{"a/b":` + answer + `}}}`)},
		},
		"notification of a task": {
			{Conn: 1, Data: []byte(`{"method":"notifications/tasks","params":{"taskId":"t","status":"input_required","inputRequests":{"a/b":{"method":"elicitation/create","params":` + params + `}}}}`)},
			{Conn: 2, Sent: true, Data: []byte(`{"id":2,"method":"tasks/update","params":{"taskId":"t","inputResponses":{"a/b":` + answer + `}}}`)},
		},
		"inside of another object": {
			{Conn: 1, Data: []byte(`{"id":1,"result":{"tasks":[{"taskId":"t","inputRequests":{"a/b":{"method":"elicitation/create","params":` + params + `}}}]}}`)},
			{Conn: 2, Sent: true, Data: []byte(`{"id":2,"method":"tasks/update","params":{"taskId":"t","inputResponses":{"a/b":` + answer + `}}}`)},
		},
		"task of the client": {
			{Conn: 1, Data: []byte(`{"id":7,"method":"elicitation/create","params":` + strings.TrimSuffix(params, "}") + `,"task":{}}}`)},
			{Conn: 2, Sent: true, Data: []byte(`{"id":7,"result":{"task":{"taskId":"t","status":"working"}}}`)},
			{Conn: 3, Data: []byte(`{"id":107,"method":"tasks/result","params":{"taskId":"t"}}`)},
			{Conn: 4, Sent: true, Data: []byte(`{"id":107,"result":` + answer + `}`)},
		},
	}
}

func TestAnswersToFieldsThatMeanASecretAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		message, field string
		secret         bool
	}{
		{"Sign in", `{"type":"string","title":"Your password"}`, true},
		{"Sign in", `{"type":"string","title":"API key"}`, true},
		{"Sign in", `{"type":"string","title":"Passwort"}`, true},
		{"Sign in", `{"type":"string","title":"Contraseña"}`, true},
		{"Sign in", `{"type":"string","title":"パスワード"}`, true},
		{"Sign in", `{"type":"string","description":"The access token of your account"}`, true},
		{"Sign in", `{"type":"string","format":"password"}`, true},
		{"Sign in", `{"type":"string","writeOnly":true}`, true},
		{"Sign in", `{"type":"string","description":"Enter your PIN"}`, true},
		{"Sign in", `{"type":"string","description":"Type your token here"}`, true},
		{"Sign in", `{"type":"string","default":"<your password>"}`, true},
		{"Enter your PIN", `{"type":"string"}`, true},
		{"Sign in", `{"type":"string","description":"The colour of the pin"}`, false},
		{"Please enter your password", `{"type":"string"}`, true},
		{"Sign in", `{"type":"string","title":"Name"}`, false},
		{"Sign in", `{"type":"string","title":7}`, false},
		{"Sign in", `{"type":"string","title":7,"description":"Your password"}`, true},
	} {
		for era, messages := range answeredForm(test.message, test.field) {
			for _, o := range []*mcpwire.LogOptions{nil, {JSON: true}, {MaxText: 16}} {
				got := logged(o, messages...)
				if strings.Contains(got, "hunter2") == test.secret || !strings.Contains(got, `"f1"`) {
					t.Errorf("%s, %s, %s: got %s, want the answer left out: %t", era, test.message, test.field, got, test.secret)
				}
				if all := strings.Contains(test.message, "nter your"); strings.Contains(got, "Rome") == all {
					t.Errorf("%s, %s, %s: got %s, want the other field shown", era, test.message, test.field, got)
				}
			}
		}
	}
}

// What a server suggests as a secret is one, too, and a field of the same name in another form is none.
func TestOnlyTheFormThatAsksForASecretHasOne(t *testing.T) {
	t.Parallel()
	forms := answeredForm("Sign in", `{"type":"string","title":"Password","default":"sugg3sted"}`)
	delete(forms, "task of the client") // whose answer may be to each of its forms
	for era, messages := range forms {
		other := answeredForm("Where?", `{"type":"string"}`)[era]
		for i := range other {
			other[i].Data = []byte(strings.NewReplacer(`"id":7`, `"id":8`, `a/b`, `c`, `hunter2`, `sea`).Replace(string(other[i].Data)))
		}
		got := logged(nil, append(messages, other...)...)
		if strings.Contains(got, "hunter2") || strings.Contains(got, "sugg3sted") || !strings.Contains(got, `"f1":"sea"`) {
			t.Errorf("%s: got %s, want the secrets alone left out", era, got)
		}
	}
}

// What is not known to belong to a field may belong to each, and to what the answer has beside them.
func TestFormThatDoesNotSayWhichFieldIsSecretHasNoAnswer(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"properties":{"f1":{"$ref":"#/$defs/p","default":"sugg3sted"}},"$defs":{"p":{"title":"Password","enum":["sugg3sted"]}}}`,
		`{"properties":[{"title":"Password","default":"sugg3sted"}]}`,
		`{"properties":{"f1":{"title":"Password","title":"Town","default":"sugg3sted"}}}`,
	} {
		got := logged(nil,
			mcp.WireMessage{Conn: 1, Data: fmt.Appendf(nil, `{"id":7,"method":"elicitation/create","params":{"message":"?","requestedSchema":%s}}`, schema)},
			mcp.WireMessage{Conn: 1, Sent: true, Data: []byte(`{"id":7,"result":{"action":"accept","content":{"f1":"hunter2","f2":"hunter2"}}}`)})
		if strings.Contains(got, "hunter2") || strings.Contains(got, "sugg3sted") || !strings.Contains(got, `"title":"Password"`) {
			t.Errorf("%s: got %s, want the schema without values, and no answer", schema, got)
		}
	}
}

// A server that asks for many secrets does not get the log to forget some.
func TestWhereTooManyFormsHaveSecretsNoAnswerIsShown(t *testing.T) {
	t.Parallel()
	var messages []mcp.WireMessage
	for i := range 1100 {
		messages = append(messages, mcp.WireMessage{Conn: 1, Data: fmt.Appendf(nil, `{"id":%d,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"properties":{"f":{"title":"Password"}}}}}`, i)})
	}
	for _, i := range []int{0, 1099} {
		messages = append(messages, mcp.WireMessage{Conn: 1, Sent: true, Data: fmt.Appendf(nil, `{"id":%d,"result":{"action":"accept","content":{"f":"hunter2"}}}`, i)})
	}
	if got := logged(nil, messages...); strings.Contains(got, "hunter2") || !strings.Contains(got, `{"f":"[redacted]"}`) {
		t.Errorf("got %s, want both answers left out", got[len(got)-300:])
	}
}

func TestWhereAFormHasTooManySecretsNoAnswerIsShown(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		fields  int
		padding string
		all     bool // no answer is shown
	}{
		"many":           {1000, "", false},
		"too many":       {1100, "", true},
		"too many bytes": {1000, strings.Repeat("x", 2<<10), true},
	} {
		properties := make([]string, test.fields)
		for i := range properties {
			properties[i] = fmt.Sprintf(`"%sf%d":{"title":"Password"}`, test.padding, i)
		}
		ask := fmt.Appendf(nil, `{"id":7,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"properties":{%s}}}}`, strings.Join(properties, ","))
		answer := fmt.Appendf(nil, `{"id":7,"result":{"action":"accept","content":{"town":"Rome","%sf1":"hunter2"}}}`, test.padding)
		got := logged(nil, mcp.WireMessage{Conn: 1, Data: ask}, mcp.WireMessage{Conn: 1, Sent: true, Data: answer})
		if strings.Contains(got, "hunter2") || strings.Contains(got, "Rome") == test.all {
			t.Errorf("%s: got %s, want the secret left out, and the other answer: %t", what, got[max(0, len(got)-300):], test.all)
		}
	}
}
