package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// secretNames are names of values that are secrets, and plainNames of values that are none.
var (
	secretNames = strings.Fields(`password Password PASSWORD userPassword user_password dbpassword passwords passwd db-passwd pwd passphrase
		passPhrase secret secrets clientSecret client_secret clientsecret SECRET_KEY apiKey api_key apikey APIKey APIKEY x-api-key X-API-Key api.keys
		accessKey AWS_SECRET_ACCESS_KEY aws_access_key_id private_key ssh-key token githubToken GITHUB_TOKEN accessToken access_tokens authtoken
		X-Auth-Token token2 password1 credentials dbCredential otp totp OTPCode cvv cvv2 pin cardPin card_number creditCard iban jwt cookie
		recovery_code one-time-password OneTimeCode раѕѕword ｐａｓｓｗｏｒｄ Passwort benutzerpasswort contraseña mot_de_passe пароль 密码 パスワード
		password_old passwordConfirmation secret.value oauth2Token MFA_CODE`)
	hiddenNames = strings.Fields(`key auth code pass tokens cookies signature X-Amz-Signature authorization Authorization bearer bearer_value`)
	plainNames  = strings.Fields(`secretary secretaryName undersecretary secretion passenger passengers passage compass bypass passive passport
		keyboard keyword keywords monkey turkey primary_key publicKey sortKey foreign_key keys tokenizer tokenize tokenCount token_limit token_type token_url
		max_tokens maxTokens total_tokens pinned pinterest spin shipping opinion pine authors author authored authentic encode decode country_code
		statusCode postal_code exit_code zipcode signatures cooking cookiecutter card cardinal accesses access credit title town name description
		password_length passwordPolicy token_endpoint hotpot optional motto totpal ibanez theslot url id path query user email count`)
)

// assignmentForms are forms of a text that gives NAME the value CANARY.
var assignmentForms = []string{
	`NAME=CANARY`, `/x?NAME=CANARY&c=3`, `NAME="CANARY"`, `NAME='CANARY'`, `NAME = "CANARY"`, `NAME == 'CANARY'`, `NAME := "CANARY"`,
	`NAME: 'CANARY'`, `NAME: "CANARY"`, `{"NAME": "CANARY"}`, `{'NAME':'CANARY'}`, `{"NAME" => "CANARY"}`, "{\"NAME\":\n\t\"CANARY\"}",
	`NAME="one CANARY two"`, `NAME='one "CANARY" two'`, `NAME="it's CANARY"`, `NAME='it''s CANARY'`, `NAME="""CANARY"""`,
	`{"NAME": "CAN\"ARY"}`, `{"NAME": "one\\\"CANARY\\"}`,
	`{"text":"NAME=\"CANARY\""}`, `{"text":"{\"NAME\": \"CANARY\"}"}`, `{"text":"{\"NAME\": \"one\\\"CANARY\\\\\"}"}`, `{"text":"NAME=\"CANARY"}`,
	`"{\"text\":\"{\\\"NAME\\\":\\\"CAN ARY\\\"}\"}"`,
}

func TestNamesOfSecretsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	field := func(name string) bool {
		return host.SecretField(&mcp.ElicitParams{RequestedSchema: fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":"string"}}}`, name)}) != ""
	}
	for _, test := range []struct {
		names        []string
		value, field bool
	}{{secretNames, true, true}, {hiddenNames, true, false}, {plainNames, false, false}} {
		for _, name := range test.names {
			if got := host.IsSecretName(name); got != test.value {
				t.Errorf("%s: got %t, want the name of a secret: %t", name, got, test.value)
			}
			if got := field(name); got != test.field {
				t.Errorf("%s: got %t, want a field that asks for a secret: %t", name, got, test.field)
			}
			if strings.IndexFunc(name, func(r rune) bool { return r > '~' }) >= 0 {
				continue
			}
			for _, form := range assignmentForms {
				text := "a=1 " + strings.ReplaceAll(form, "NAME", name) + " b=2"
				hidden := host.HideSecrets(text)
				if strings.Contains(hidden, "CAN") == test.value || strings.Contains(hidden, "ARY") == test.value {
					t.Errorf("got %s for %s, want it hidden: %t", hidden, text, test.value)
				}
				if !strings.HasPrefix(hidden, "a=1 ") || !strings.HasSuffix(hidden, " b=2") {
					t.Errorf("got %s for %s, want what is beside it shown", hidden, text)
				}
			}
		}
	}
}

func TestValuesOfSecretsAreHiddenWithinTheirQuotes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`password="hunter2", user="me"`:  `password="[hidden]", user="me"`,
		`TOKEN='two words' a`:            `TOKEN='[hidden]' a`,
		`token="" user="me"`:             `token="[hidden]" user="me"`,
		`token="without end a=1`:         `token="[hidden]`,
		`{"q":"token=\"x\\\"y\\\\\",a"}`: `{"q":"token=\"[hidden]\",a"}`,
		`{"q":"token=\"x","a":"1"}`:      `{"q":"token=\"[hidden]","a":"1"}`,
		`csrftoken=x&a=1`:                `csrftoken=[hidden]&a=1`,
		`x-functions-key=x a`:            `x-functions-key=[hidden] a`,
		`{"bottoken": "x"}`:              `{"bottoken": "[hidden]"}`,
		`device_code=x&status_code=5`:    `device_code=[hidden]&status_code=5`,
		`max_tokens=5`:                   `max_tokens=5`,
		`token: not found`:               `token: not found`,
		`code = Unavailable`:             `code = Unavailable`,
		`{ code: 'MODULE_NOT_FOUND' }`:   `{ code: 'MODULE_NOT_FOUND' }`,
		`{"code":"ENOENT"}`:              `{"code":"ENOENT"}`,
		`code: 'WDJBMJHT'`:               `code: '[hidden]'`,
		`user_code: 'WDJB_MJHT'`:         `user_code: '[hidden]'`,
		`code: 'AB12_CD34'`:              `code: '[hidden]'`,
		`auth::Token("x")`:               `auth::Token("x")`,
	} {
		if got := host.HideSecrets(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestTextsAboutOtherThingsAskForNoSecret(t *testing.T) {
	t.Parallel()
	for text, secret := range map[string]bool{
		"Enter the name of your secretary": false, "Enter the number of passengers": false, "Provide a keyword": false, "Which town?": false,
		"Send it to the slot": false, "Enter your secret": true, "Type the API key": true, "Please provide your pass-phrase": true,
		"Send the code. " + strings.Repeat("x ", 100) + "password": false,
	} {
		p := &mcp.ElicitParams{Message: text, RequestedSchema: []byte(`{"type":"object","properties":{"answer":{"type":"string"}}}`)}
		if got := host.SecretField(p) != ""; got != secret {
			t.Errorf("%q: got %t, want %t", text, got, secret)
		}
	}
}
