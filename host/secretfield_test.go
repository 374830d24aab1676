package host_test

import (
	"encoding/json/jsontext"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

func TestFieldsThatAskForSecretsAreFound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		message, properties string
		secret              bool
	}{
		{"?", `"password":{"type":"string"}`, true},
		{"?", `"userPassword":{"type":"string"}`, true},
		{"?", `"USER_PASSWORD":{"type":"string"}`, true},
		{"?", `"db-passwd":{"type":"string"}`, true},
		{"?", `"token":{"type":"string"}`, true},
		{"?", `"githubToken":{"type":"string"}`, true},
		{"?", `"apiKey":{"type":"string"}`, true},
		{"?", `"api_key":{"type":"string"}`, true},
		{"?", `"APIKEY":{"type":"string"}`, true},
		{"?", `"pin":{"type":"integer"}`, true},
		{"?", `"otp":{"type":"string"}`, true},
		{"?", `"x":{"type":"string","format":"password"}`, true},
		{"?", `"x":{"type":"string","writeOnly":true}`, true},
		{"?", `"x":{"type":"string","title":"Your API key"}`, true},
		{"?", `"x":{"type":"string","title":"Pass\u200bword"}`, true},
		{"?", `"x":{"type":"string","title":"раѕѕword"}`, true},
		{"?", `"x":{"type":"string","title":"ＰａｓｓＷｏｒｄ"}`, true},
		{"?", `"x":{"type":"string","description":"The access token of your account"}`, true},
		{"Please enter your GitHub password", `"answer":{"type":"string"}`, true},
		{"Paste the token here", `"answer":{"type":"string"}`, true},
		{"?", `"town":{"type":"object"},"card_pin":{"type":"string"}`, true},
		{"?", `"town":{"type":"string"}`, false},
		{"?", `"max_tokens":{"type":"integer"}`, false},
		{"?", `"tokens":{"type":"integer","description":"how many tokens the answer may have"}`, false},
		{"?", `"keyword":{"type":"string"},"pinned":{"type":"boolean"},"shipping":{"type":"string"}`, false},
		{"Reset the password of ada?", `"sure":{"type":"boolean"}`, false},
		{"Enter the number of tokens", `"n":{"type":"integer"}`, false},
		{"Which account?", `"email":{"type":"string","format":"email"}`, false},
		{"?", `"password":{"type":"boolean","title":"Ask for a password"}`, true},
		{"Please enter your PIN", `"answer":{"type":"integer"}`, true},
		{"?", `"answer":{"type":"number","description":"the verification code that we have sent"}`, true},
		{"Please enter your password", `"answer":{"type":"string","format":"x"}`, true},
		{"Please enter your password", `"answer":{"type":"string","enum":null}`, true},
		{"Please enter your password", `"answer":{"type":["string","null"]}`, true},
		{"Please enter your password", `"answer":{}`, true},
		{"Which password?", `"answer":{"type":"string","oneOf":[{"const":"a","title":"the old one"}]}`, false},
		{"Copy the value of GITHUB_TOKEN here", `"answer":{"type":"string"}`, true},
		{"Log in again: name and password", `"a":{"type":"string"},"b":{"type":"string"}`, true},
		{"Sign in with your password", `"answer":{"type":"string"}`, true},
		{"Write your PIN below", `"answer":{"type":"integer"}`, true},
		{"The log of the token server is full. Which day?", `"day":{"type":"string"}`, false},
		{"Log in again", `"name":{"type":"string"}`, false},
		{"?", `"a":{"type":"string","format":"uri","description":"Enter your password, with p: in front of it"}`, true},
		{"?", `"a":{"type":"string","format":"email","description":"Type your token, and @example.com behind it"}`, true},
		{"Reset the password?", `"a":{"type":"string","format":"email","description":"your address"}`, false},
		{"?", `"a":{"type":"string","format":"uri","description":"the address of the token endpoint"}`, false},
		{"Provide the max token count", `"n":{"type":"integer"}`, false},
		{"?", `"login":{"type":"object","properties":{"password":{"type":"string"}}}`, true},
		{"?", `"town":{"type":"string"}},"allOf":[{"properties":{"password":{"type":"string"}}}],"x":{`, true},
		{"Geben Sie Ihr Passwort ein", `"answer":{"type":"string"}`, true},
		{"?", `"x":{"type":"string","title":"Contraseña"}`, true},
		{"?", `"x":{"type":"string","title":"Введите пароль"}`, true},
		{"?", `"x":{"type":"string","title":"パスワード"}`, true},
		{"?", `"密码":{"type":"string"}`, true},
	} {
		p := &mcp.ElicitParams{Message: test.message, RequestedSchema: jsontext.Value(`{"type":"object","properties":{` + test.properties + `}}`)}
		if got := host.SecretField(p); (got != "") != test.secret {
			t.Errorf("%s %s: got field %q, want a secret: %t", test.message, test.properties, got, test.secret)
		}
	}
	for _, schema := range []string{
		`{"properties":[{"title":"Password","type":"string"}]}`,
		strings.Repeat(`{"properties":{"a":`, 5) + `{"properties":{"password":{}}}` + strings.Repeat("}}", 5),
	} {
		if host.SecretField(&mcp.ElicitParams{RequestedSchema: jsontext.Value(schema)}) == "" {
			t.Errorf("%s: got no field, want what a client might show", schema)
		}
	}
	for schema, secret := range map[string]bool{
		`{"properties":{"a":{"type":"string","$ref":"#/b/c"}},"b":{"c":{"type":"string","title":"Your password"}}}`: true,
		`{"properties":{"a":{"type":"string","allOf":[{"title":"Password"}]}}}`:                                     true,
		`{"properties":{"a":{"type":"string","anyOf":[{"description":"Type your password"}]}}}`:                     true,
		`{"properties":{"a":{"type":"string","enum":[],"description":"Type your password"}}}`:                       true,
		`{"properties":{"a":{"type":"string","oneOf":[{}],"description":"Type your password"}}}`:                    true,
		`{"properties":{"a":{"type":"array","items":{"type":"string"},"description":"Type your password"}}}`:        true,
		`{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]}}}`:                         false,
		`{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"a","title":"Password"}]}}}}`:                false,
		`{"title":"Reset the password","properties":{"a":{"type":"boolean"}}}`:                                      false,
		// A choice is no secret, but its texts can ask for one in a field beside it.
		`{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]},"b":{"type":"string"}}}`:                     true,
		`{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Enter your PIN below"}]},"b":{"type":"integer"}}}`:        true,
		`{"properties":{"a":{"type":"string","oneOf":[{"const":"a","description":"your password"}]},"b":{"type":"string"}}}`:          true,
		`{"properties":{"a":{"type":"string","oneOf":[{"const":"your password"}]},"b":{"type":"string"}}}`:                            true,
		`{"properties":{"a":{"type":"string","enum":["раѕѕword"]},"b":{"type":"string"}}}`:                                            true,
		`{"properties":{"a":{"type":"string","enum":["x"],"enumNames":["Pass\u200bword"]},"b":{"type":"string"}}}`:                    true,
		`{"properties":{"a":{"type":"array","items":{"anyOf":[{"const":"a","title":"API key"}]}},"b":{"type":"string"}}}`:             true,
		`{"properties":{"a":{"type":"array","items":{"type":"string","enum":["Type your token"]}},"b":{"type":"string"}}}`:            true,
		`{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]},"b":{"type":"boolean"}}}`:                    false,
		`{"properties":{"a":{"type":"string","oneOf":[{"const":"a","title":"Password"}]},"b":{"type":"string","format":"date"}}}`:     false,
		`{"properties":{"a":{"type":"string","enum":["Pin it","Unpin it","tokens"]},"b":{"type":"string"},"enum":{"type":"string"}}}`: false,
		// What a field begins with, and what the form says of itself.
		`{"properties":{"a":{"type":"string","default":"<your password>"}}}`:                                   true,
		`{"properties":{"a":{"type":"string","default":"Type your PIN here"}}}`:                                true,
		`{"properties":{"a":{"type":"array","items":{"type":"string"},"default":["x","your API key"]}}}`:       true,
		`{"properties":{"a":{"type":"string","description":"Enter your PIN"}}}`:                                true,
		`{"properties":{"a":{"type":"integer","description":"Enter your PIN"}}}`:                               true,
		`{"title":"Enter your password","properties":{"a":{"type":"string"}}}`:                                 true,
		`{"description":"Please give us your access token","properties":{"a":{"type":"string"}}}`:              true,
		`{"properties":{"a":{"type":"string","default":"Ada"},"b":{"type":"integer","default":7}}}`:            false,
		`{"properties":{"a":{"type":"string","enum":["password","passkey"],"default":"password"}}}`:            false,
		`{"title":"Reset the password of ada?","properties":{"a":{"type":"string","description":"a reason"}}}`: false,
		`{"properties":{"title":{"type":"string","title":"Title"},"description":{"type":"string"}}}`:           false,
	} {
		if got := host.SecretField(&mcp.ElicitParams{RequestedSchema: jsontext.Value(schema)}); (got != "") != secret {
			t.Errorf("%s: got field %q, want a secret: %t", schema, got, secret)
		}
	}
	for _, schema := range []string{"", "null", "[]", `{"properties":{"password":1}}`, `{"properties":[]}`} {
		host.SecretField(&mcp.ElicitParams{Message: "Enter your password", RequestedSchema: jsontext.Value(schema)})
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
