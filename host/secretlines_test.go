package host_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
)

// secretTexts are texts as programs and people write them, in which CANARY or 4711 is secret.
var secretTexts = []string{
	"password: CANARY", "Password:CANARY", "the password: CANARY was wrong", "db_password: CANARY\nuser: ada", "PASSWORD : CANARY", "passphrase: correct CANARY staple",
	"client_secret: CANARY", "apiKey: CANARY,", "api-key: CANARY.", "secret: CANARY;", "{password: CANARY, user: ada}", "MYSQL_PWD: CANARY", `{"password": 47114711}`,
	"pin: 4711", "otp: 4711", "cvv: 4711", "mnemonic: one two CANARY three", "recovery-phrase: one CANARY",
	"token: CANARY1234567", "access_token: CANARY", "Api-Token: CANARY1234567", "key: CANARY-1234567", "auth: CANARY1234567", "code: CANARY1234567",
	"Cookie: sid=CANARY; theme=dark", "Set-Cookie: a=CANARY; Path=/", "Authorization: Token CANARY1", "Proxy-Authorization: Digest user=\"x\", response=CANARY",
	"X-Api-Key: CANARY1234567", "X-Auth-Token: CANARY1234567", "X-Amz-Security-Token: CANARY1234567", "x-csrf-token: CANARY1234567",
	"--password CANARY", "run mysql --password CANARY -u root", "--api-key CANARY", "curl --token CANARY1234567 x", "--client-secret CANARY",
	"sig=CANARY", "https://a.example/b?sv=2024&sig=CANARY&se=1", "?sessionid=CANARY", "session_id=CANARY", "JSESSIONID=CANARY", "PHPSESSID=CANARY;", "ASP.NET_SessionId=CANARY",
	"connect.sid=CANARY", "sid=CANARY", "csrf=CANARY", "xsrf=CANARY", "hmac=CANARY", "code_verifier=CANARY", "client_assertion=CANARY", "db_pass=CANARY", "creds=CANARY",
	"hf_CANARYCANARY12345678901234567890ab", "ya29.CANARYCANARYCANARY123", "xapp-1-CANARYCANARYCANARY123", "whsec_CANARYCANARYCANARY123", "pypi-CANARY12345678901234567890123456789012345678901234567890",
	"SG.CANARYCANARYCANARYCANARYCA.CANARYCANARYCANARYCANARY",
}

// plainTexts are texts about the same things without a secret.
var plainTexts = []string{
	"password: required", "password: must have 8 characters", "password: incorrect", "Password: too short", "Enter the password", "the password: it has expired",
	"secret: not found", "secret: unknown", "credentials: their owner has changed", "passwords: users of the machine", "secrets: a list",
	"token: not found", "unexpected token: identifier", "invalid token: expected }", "token: end of file", "token_type: Bearer", "max_tokens: 4096", "tokens: 1234",
	"key: value", "key: not found", "duplicate key: name", "sort-key: name1234567", "public_key: none", "code: 404", "exit code: 137", "status code: 503", "error code: E1",
	"auth: failed", "authorization: required", "cookie: missing", "signature: mismatch", "pin: 4 digits", "pin: optional", "otp: disabled", "session: started",
	"--password is required", "use --password or --token", "--token and --header are for URLs", "--auth-tokens FILE", "--key FILE", "the flag --secret must be set",
	"author: ada1234567", "keyboard: qwerty1234", "passenger: lovelace12", "design: x1234567", "sigma=3", "side=left", "inside=2", "assertion failed: x=1", "bypass=1", "compass: n12345678",
	"open /home/ada/token: no such file", "read tcp 10.0.0.1:1234: i/o timeout", "auth::Token(x)", "a::key: b", "Secret: os.Getenv(x)", "connect https://token:1", "at 12:30: done",
}

func TestSecretsInTextsAreHidden(t *testing.T) {
	t.Parallel()
	for _, text := range secretTexts {
		for _, around := range []string{text, "error: " + text, text + "\nnext line", "{\"message\": \"" + strings.ReplaceAll(text, `"`, `\"`) + "\"}"} {
			if got := host.HideSecrets(around); strings.Contains(got, "CANARY") || strings.Contains(got, "4711") || !strings.Contains(got, host.Hidden) {
				t.Errorf("%q: got %q, want the secret hidden", around, got)
			}
		}
	}
}

func TestTextsWithoutSecretsAreShown(t *testing.T) {
	t.Parallel()
	for _, text := range plainTexts {
		for _, around := range []string{text, "error: " + text, text + "\nnext line", "{\"message\": \"" + text + "\"}"} {
			if got := host.HideSecrets(around); got != around {
				t.Errorf("%q: got %q, want nothing hidden", around, got)
			}
		}
	}
}
