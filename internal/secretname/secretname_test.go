package secretname_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/secretname"
)

func TestNamesOfSecrets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		names        string
		is, contains bool
	}{
		{`password userPassword user_password dbpassword APIKey x-api-key X-API-Key api.keys clientsecret token2 OTPCode one-time-password
			sessionId Authorization cookies oauth2Token cardPin`, true, true},
		{"раѕѕword ｐａｓｓｗｏｒｄ pass\u200bword Passwort benutzerpasswort contraseña mot_de_passe пароль 密码 パスワード", true, true}, // disguised, or of another language
		{"key auth code tokens sig", true, false}, // alone
		{"pass creds", true, true},
		{"db_pass SMTP_PASS userPass aws-creds csrftoken mysecretvalue xapikeyhash secretion password_length", false, true},
		{"passenger pass_count bypass compass keyboard monkey primary_key sort-key tokenizer max_tokens author decode status_code tokenCount token_url url", false, false},
	} {
		for name := range strings.FieldsSeq(test.names) {
			if got := secretname.Is(secretname.Words(name)); got != test.is {
				t.Errorf("Is(%s): got %t, want %t", name, got, test.is)
			}
			if got := secretname.Contains(name); got != test.contains {
				t.Errorf("Contains(%s): got %t, want %t", name, got, test.contains)
			}
		}
	}
}

func TestSomeWordsMeanASecretAtSomePlacesAlone(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][]secretname.Use{
		"password":  {secretname.Text, secretname.Request, secretname.Number, secretname.Field, secretname.Hidden},
		"token":     {secretname.Request, secretname.Field, secretname.Hidden},
		"pin":       {secretname.Request, secretname.Number, secretname.Field, secretname.Hidden},
		"jwt":       {secretname.Field, secretname.Hidden},
		"signature": {secretname.Hidden},
		"name":      nil,
	} {
		var got []secretname.Use
		for _, use := range []secretname.Use{secretname.Text, secretname.Request, secretname.Number, secretname.Field, secretname.Hidden} {
			if secretname.Mean([]string{word}, use) {
				got = append(got, use)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", word, got, want)
		}
	}
}
