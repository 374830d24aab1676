package host_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// formsForSecrets are forms that ask for secrets, most of them in disguise, and such that do not.
var formsForSecrets = []struct {
	message, schema string
	secret          bool
}{
	{"?", `{"type":"object","properties":{"password":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"userPassword":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"USER_PASSWORD":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"db-passwd":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"token":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"githubToken":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"apiKey":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"api_key":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"APIKEY":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"pin":{"type":"integer"}}}`, true},
	{"?", `{"type":"object","properties":{"otp":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","format":"password"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","writeOnly":true}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"Your API key"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"Pass\u200bword"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"раѕѕword"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"ＰａｓｓＷｏｒｄ"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","description":"The access token of your account"}}}`, true},
	{"Please enter your GitHub password", `{"type":"object","properties":{"answer":{"type":"string"}}}`, true},
	{"Paste the token here", `{"type":"object","properties":{"answer":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"town":{"type":"object"},"card_pin":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"town":{"type":"string"}}}`, false},
	{"?", `{"type":"object","properties":{"max_tokens":{"type":"integer"}}}`, false},
	{"?", `{"type":"object","properties":{"tokens":{"type":"integer","description":"how many tokens the answer may have"}}}`, false},
	{"?", `{"type":"object","properties":{"keyword":{"type":"string"},"pinned":{"type":"boolean"},"shipping":{"type":"string"}}}`, false},
	{"Reset the password of ada?", `{"type":"object","properties":{"sure":{"type":"boolean"}}}`, false},
	{"Enter the number of tokens", `{"type":"object","properties":{"n":{"type":"integer"}}}`, false},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"Password policy"}}}`, false},
	{"?", `{"type":"object","properties":{"x":{"type":"integer","title":"Minimum password length"}}}`, false},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"PaSsWoRd"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"Password (length 8)"}}}`, true},
	{"Which account?", `{"type":"object","properties":{"email":{"type":"string","format":"email"}}}`, false},
	{"?", `{"type":"object","properties":{"password":{"type":"boolean","title":"Ask for a password"}}}`, false},
	{"?", `{"type":"object","properties":{"pin":{"type":"boolean","title":"Pin this message?"}}}`, false},
	{"?", `{"type":"object","properties":{"pin":{"type":["boolean","string"]}}}`, true},
	{"?", `{"type":"object","properties":{"a":{"type":"boolean","allOf":[{"title":"Password"}]}}}`, true},
	{"Please enter your PIN", `{"type":"object","properties":{"answer":{"type":"integer"}}}`, true},
	{"?", `{"type":"object","properties":{"answer":{"type":"number","description":"the verification code that we have sent"}}}`, true},
	{"Please enter your password", `{"type":"object","properties":{"answer":{"type":"string","format":"x"}}}`, true},
	{"Please enter your password", `{"type":"object","properties":{"answer":{"type":"string","enum":null}}}`, true},
	{"Please enter your password", `{"type":"object","properties":{"answer":{"type":["string","null"]}}}`, true},
	{"Please enter your password", `{"type":"object","properties":{"answer":{}}}`, true},
	{"Which password?", `{"type":"object","properties":{"answer":{"type":"string","oneOf":[{"const":"a","title":"the old one"}]}}}`, false},
	{"Copy the value of GITHUB_TOKEN here", `{"type":"object","properties":{"answer":{"type":"string"}}}`, true},
	{"Log in again: name and password", `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, true},
	{"Sign in with your password", `{"type":"object","properties":{"answer":{"type":"string"}}}`, true},
	{"Write your PIN below", `{"type":"object","properties":{"answer":{"type":"integer"}}}`, true},
	{"The log of the token server is full. Which day?", `{"type":"object","properties":{"day":{"type":"string"}}}`, false},
	{"Log in again", `{"type":"object","properties":{"name":{"type":"string"}}}`, false},
	{"?", `{"type":"object","properties":{"a":{"type":"string","format":"uri","description":"Enter your password, with p: in front of it"}}}`, true},
	{"?", `{"type":"object","properties":{"a":{"type":"string","format":"email","description":"Type your token, and @example.com behind it"}}}`, true},
	{"Reset the password?", `{"type":"object","properties":{"a":{"type":"string","format":"email","description":"your address"}}}`, false},
	{"?", `{"type":"object","properties":{"a":{"type":"string","format":"uri","description":"the address of the token endpoint"}}}`, false},
	{"Provide the max token count", `{"type":"object","properties":{"n":{"type":"integer"}}}`, false},
	// Messages that ask without a verb, or with another one.
	{"What's your PIN?", `{"properties":{"a":{"type":"string"}}}`, true},
	{"Your GitHub password?", `{"properties":{"a":{"type":"string"}}}`, true},
	{"May I have your API key", `{"properties":{"a":{"type":"string"}}}`, true},
	{"Password:", `{"properties":{"a":{"type":"string"}}}`, true},
	{"Password for ada@example.com:", `{"properties":{"a":{"type":"string"}}}`, true},
	{"API key required", `{"properties":{"a":{"type":"string"}}}`, true},
	{"PIN, please", `{"properties":{"a":{"type":"integer"}}}`, true},
	{"Please supply the password", `{"properties":{"a":{"type":"string"}}}`, true},
	{"The password of ada was reset. Why?", `{"properties":{"a":{"type":"string"}}}`, false},
	{"Password reset for ada: why?", `{"properties":{"a":{"type":"string"}}}`, false},
	{"What would you like to name your token?", `{"properties":{"a":{"type":"string"}}}`, false},
	{"Your street and town? The password comes by mail.", `{"properties":{"a":{"type":"string"}}}`, false},
	{"Enter your password", `{"properties":{"a":true}}`, true},
	{"Which town?", `{"properties":{"a":true}}`, false},
	{"?", `{"properties":{"a":{"type":"string","title":"Security code of the card"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","title":"Senha"},"resenha":{"type":"string"}}}`, true},
	{"?", `{"properties":{"resenha":{"type":"string","title":"Resenha"}}}`, false},
	{"?", `{"properties":{"a":{"type":"string","title":"Clave de acceso"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","title":"Social security number"}}}`, true},
	{"?", `{"properties":{"creds":{"type":"string"}}}`, true},
	{"?", `{"properties":{"error_code":{"type":"string"},"zip":{"type":"string","title":"Postal code"},"discount":{"type":"string","title":"Coupon code"}}}`, false},
	{"for", `{"properties":{"a":{"type":"string"}}}`, false},
	{"?", `{"type":"object","properties":{"login":{"type":"object","properties":{"password":{"type":"string"}}}}}`, true},
	{"?", `{"type":"object","properties":{"town":{"type":"string"}},"allOf":[{"properties":{"password":{"type":"string"}}}],"x":{}}`, true},
	{"Geben Sie Ihr Passwort ein", `{"type":"object","properties":{"answer":{"type":"string"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"Contraseña"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"Введите пароль"}}}`, true},
	{"?", `{"type":"object","properties":{"x":{"type":"string","title":"パスワード"}}}`, true},
	{"?", `{"type":"object","properties":{"密码":{"type":"string"}}}`, true},
	// What a client might show although the protocol does not allow it.
	{"?", `{"properties":[{"title":"Password","type":"string"}]}`, true},
	{"?", `{"properties":[{"title":"Town","type":"string"}]}`, false},
	{"?", strings.Repeat(`{"properties":{"a":`, 5) + `{"properties":{"password":{}}}` + strings.Repeat("}}", 5), true},
	{"?", `{"properties":{"a":{"type":"string","$ref":"#/b/c"}},"b":{"c":{"type":"string","title":"Your password"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","allOf":[{"title":"Password"}]}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","anyOf":[{"description":"Type your password"}]}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","enum":[],"description":"Type your password"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{}],"description":"Type your password"}}}`, true},
	{"?", `{"properties":{"a":{"type":"array","items":{"type":"string"},"description":"Type your password"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]}}}`, false},
	{"?", `{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"a","title":"Password"}]}}}}`, false},
	{"?", `{"title":"Reset the password","properties":{"a":{"type":"boolean"}}}`, false},
	// A choice is no secret, but its texts can ask for one in a field beside it.
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]},"b":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Enter your PIN below"}]},"b":{"type":"integer"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{"const":"a","description":"your password"}]},"b":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{"const":"your password"}]},"b":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","enum":["раѕѕword"]},"b":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","enum":["x"],"enumNames":["Pass\u200bword"]},"b":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"a","title":"API key"}]}},"b":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"array","items":{"type":"string","enum":["Type your token"]}},"b":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]},"b":{"type":"boolean"}}}`, false},
	{"?", `{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]},"b":{"type":"string","format":"date"}}}`, false},
	{"?", `{"properties":{"a":{"type":"string","enum":["Pin it","Unpin it","tokens"]},"b":{"type":"string"},"enum":{"type":"string"}}}`, false},
	// What a field begins with, and what the form says of itself.
	{"?", `{"properties":{"a":{"type":"string","default":"<your password>"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","default":"Type your PIN here"}}}`, true},
	{"?", `{"properties":{"a":{"type":"array","items":{"type":"string"},"default":["x","your API key"]}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","description":"Enter your PIN"}}}`, true},
	{"?", `{"properties":{"a":{"type":"integer","description":"Enter your PIN"}}}`, true},
	{"?", `{"title":"Enter your password","properties":{"a":{"type":"string"}}}`, true},
	{"?", `{"description":"Please give us your access token","properties":{"a":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","default":"Ada"},"b":{"type":"integer","default":7}}}`, false},
	{"?", `{"properties":{"a":{"type":"string","enum":["password","passkey"],"default":"password"}}}`, false},
	{"?", `{"title":"Reset the password of ada?","properties":{"a":{"type":"string","description":"a reason"}}}`, false},
	{"?", `{"properties":{"title":{"type":"string","title":"Title"},"description":{"type":"string"}}}`, false},
	{"?", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"string","title":"Password"}}},"c":{"type":"string"}}}`, true},
	{"Enter your password", `{"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","title":"Тоkеn"}}}`, true}, // three Cyrillic letters
	{"Еnter yоur PIN", `{"properties":{"a":{"type":"string"}}}`, true},
	{"?", `{"properties":{"a":{"type":"string","title":"A","title":"B"}}}`, true}, // it cannot be told which one a client shows
	{"?", `{"properties":{"a":{"type":"string","description":"` + strings.Repeat("x", 256<<10) + `"}}}`, true},
	{strings.Repeat("x", 256<<10+1), `{"properties":{"a":{"type":"string"}}}`, true},
}

func TestFieldsThatAskForSecretsAreFound(t *testing.T) {
	t.Parallel()
	for _, test := range formsForSecrets {
		p := &mcp.ElicitParams{Message: test.message, RequestedSchema: jsontext.Value(test.schema)}
		if got := host.SecretField(p); (got != "") != test.secret {
			t.Errorf("%.100s %.300s: got field %q, want a secret: %t", test.message, test.schema, got, test.secret)
		}
	}
	for _, schema := range []string{"", "null", "[]", `{"properties":{"password":1}}`, `{"properties":[]}`} {
		host.SecretField(&mcp.ElicitParams{Message: "Enter your password", RequestedSchema: jsontext.Value(schema)})
	}
}

// A client that refuses forms for secrets knows the same ones.
func TestClientRefusesTheFormsForSecrets(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("inquirer", "1", nil)
	err := srv.SetTool(mcp.Tool{Name: "ask", InputSchema: jsontext.Value(`{"type":"object"}`)}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
		if p.InputResponses != nil {
			return new(mcp.CallToolResult), nil
		}
		var in struct{ Form int }
		if err := json.Unmarshal(p.Arguments, &in); err != nil {
			return nil, err
		}
		asked := formsForSecrets[in.Form]
		params, err := json.Marshal(&mcp.ElicitParams{Message: asked.message, RequestedSchema: jsontext.Value(asked.schema)}, jsontext.AllowDuplicateNames(true))
		return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"q": {Method: mcp.MethodElicit, Params: params}}}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20260728}, Logger: slog.New(slog.DiscardHandler), Ask: mcpclient.AskOptions{Rate: mcp.Rate{PerSecond: 1000, Burst: 1000}},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked = true
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, test := range formsForSecrets {
		asked = false
		_, err := c.CallTool(t.Context(), "ask", jsontext.Value(fmt.Sprintf(`{"Form":%d}`, i)))
		if asked && test.secret || strings.Contains(fmt.Sprint(err), "looks like a secret") && !test.secret {
			t.Errorf("%.100s %.300s: got %v, asked %t; want it refused as a secret: %t", test.message, test.schema, err, asked, test.secret)
		}
	}
}

// A log or a recording leaves out what is filled in into the same fields.
func TestLogLeavesOutTheAnswersToTheFormsForSecrets(t *testing.T) {
	t.Parallel()
	for _, test := range formsForSecrets {
		secret := host.SecretFields(&mcp.ElicitParams{Message: test.message, RequestedSchema: jsontext.Value(test.schema)})
		message, err := json.Marshal(test.message)
		if err != nil {
			t.Fatal(err)
		}
		answers := map[string]string{"other": "hunter2"}
		for _, name := range secret {
			answers[name] = "hunter2"
		}
		content, err := json.Marshal(answers)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		w := mcpwire.NewLog(&log, nil)
		w.Record(mcp.WireMessage{Conn: 1, Data: fmt.Appendf(nil, `{"id":7,"method":"elicitation/create","params":{"message":%s,"requestedSchema":%s}}`, message, test.schema)})
		w.Record(mcp.WireMessage{Conn: 1, Sent: true, Data: fmt.Appendf(nil, `{"id":7,"result":{"action":"accept","content":%s}}`, content)})
		_, answer, _ := bytes.Cut(log.Bytes(), []byte("\n"))
		shown := bytes.Count(answer, []byte("hunter2"))
		if test.secret && shown > 1 || !test.secret && shown != 1 || bytes.Count(answer, []byte("[redacted]")) < len(secret) {
			t.Errorf("%.100s %.300s: got %s, want the answers to %q left out", test.message, test.schema, answer, secret)
		}
	}
}

func TestEachFieldThatAsksForASecretIsNamed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		message, properties string
		want                []string
	}{
		{"?", `"a":{"type":"string","title":"Password"},"b":{"type":"string"},"c":{"type":"integer","title":"PIN"}`, []string{"a", "c"}},
		{"Enter your password", `"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"integer"},"sure":{"type":"boolean"}`, []string{"a", "b"}},
		{"Enter your password", `"a":{"type":"string","title":"API key"},"b":{"type":"string"}`, []string{"a", "b"}},
		{"Enter your PIN", `"c":{"type":"integer"},"sure":{"type":"boolean"}`, []string{"c"}},
		{"?", `"a":{"type":"string"}`, nil},
	} {
		p := &mcp.ElicitParams{Message: test.message, RequestedSchema: jsontext.Value(`{"type":"object","properties":{` + test.properties + `}}`)}
		if got := host.SecretFields(p); !slices.Equal(got, test.want) {
			t.Errorf("%s %s: got %q, want %q", test.message, test.properties, got, test.want)
		}
	}
}
