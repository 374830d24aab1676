package host

import (
	"slices"
	"strings"
	"unicode"
)

// secretUse says where words mean a secret.
type secretUse uint8

const (
	secretText    secretUse = 1 << iota // a text about a field
	secretRequest                       // a message that asks for a text
	secretNumber                        // a message that asks for a number
	secretName                          // the name or the title of a field
	secretHidden                        // the name of a value that is not shown

	secretAlways = secretText | secretRequest | secretNumber | secretName | secretHidden
)

// secretWords are words for secrets, each run together, with where they mean one. Those of
// secretAlways have a plural, too.
var secretWords = func() map[string]secretUse {
	all := make(map[string]secretUse)
	for use, words := range map[secretUse]string{
		secretAlways: `password passwd passphrase passcode pwd secret apikey accesskey privatekey secretkey signingkey encryptionkey sshkey
			recoverykey licensekey licencekey authkey masterkey accountkey accesstoken authtoken apitoken bearertoken refreshtoken sessiontoken
			idtoken personalaccesstoken oauthtoken securitytoken credential cvv cvc ssn creditcard cardnumber seedphrase mnemonic recoverycode
			recoveryphrase onetimecode onetimepassword 2fa mfa totp otp verificationcode`,
		secretRequest | secretName | secretHidden:                `token`,
		secretRequest | secretNumber | secretName | secretHidden: `pin`,
		secretName | secretHidden:                                `iban jwt cookie`,
		secretHidden:                                             `cookies signature authorization bearer sessionid sessid connectionstring`,
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] = use
			if use == secretAlways {
				all[word+"s"] = use
			}
		}
	}
	return all
}()

var (
	// wholeSecretNames are names of values that are not shown. They mean other things within
	// names of several words.
	wholeSecretNames = []string{"key", "auth", "code", "pass", "tokens", "sig", "creds"}
	// secretEndings mean a secret at the end of a longer word, too, such as dbpassword.
	secretEndings = []string{"password", "passwords", "passwd", "passphrase", "pwd", "secret", "secrets", "apikey"}
	// secretFacts follow words for a secret in the name of something that is none, such as
	// password_length.
	secretFacts = []string{"count", "limit", "budget", "length", "size", "type", "url", "uri", "endpoint", "policy", "expiry"}
)

// maxSecretWords limits the words of one entry of secretWords, such as one time password.
const maxSecretWords = 3

// passwords are words for a password in other languages.
var passwords = func() []string {
	all := []string{
		"passwort", "kennwort", "mot de passe", "contraseña", "palavra-passe", "parola d'ordine", "wachtwoord", "hasło", "heslo", "lozinka",
		"lösenord", "passord", "adgangskode", "salasana", "jelszó", "parolă", "şifre", "mật khẩu", "kata sandi", "пароль", "пароля", "κωδικός πρόσβασης",
		"סיסמה", "كلمة المرور", "كلمة السر", "पासवर्ड", "รหัสผ่าน", "비밀번호", "パスワード", "暗証番号", "密码", "密碼", "口令",
	}
	for i, word := range all {
		all[i] = strings.Join(words(foldLookalikes(word)), " ")
	}
	return all
}()

// IsSecretName reports whether the value of a member, parameter, variable or flag of this name is
// probably a secret, so that it should not be shown: of words in camel case or with separators,
// one or several together mean a secret.
func IsSecretName(name string) bool {
	all := nameWords(name)
	return len(all) == 1 && slices.Contains(wholeSecretNames, all[0]) || meanSecret(all, secretHidden)
}

// plainKeys are words in front of "key" in names of what is no secret.
var plainKeys = []string{"primary", "public", "foreign", "sort", "partition", "row", "object", "cache", "unique", "hot", "map"}

// mayNameSecret is IsSecretName for texts that anybody has written, in which words are run together
// and names belong to one service, such as csrftoken, x-functions-key and device_code.
func mayNameSecret(name string) bool {
	all := nameWords(name)
	if IsSecretName(name) || len(all) == 0 {
		return len(all) > 0
	}
	before, last := "", all[len(all)-1]
	if len(all) > 1 {
		before = all[len(all)-2]
	}
	switch last {
	case "key":
		return !slices.Contains(plainKeys, before)
	case "code":
		return slices.Contains([]string{"auth", "authorization", "device", "user"}, before)
	}
	return slices.Contains(lastSecretWords, last) || slices.ContainsFunc(lastSecretEndings, func(ending string) bool { return strings.HasSuffix(last, ending) })
}

// lastSecretWords and lastSecretEndings end the names of secrets in texts.
var (
	lastSecretWords   = []string{"sig", "sid", "pass", "creds", "csrf", "xsrf", "hmac", "verifier", "assertion"}
	lastSecretEndings = []string{"token", "signature", "sessionid", "sessid"}
)

// meanSecret reports whether some of the words mean a secret at a place of a use.
func meanSecret(all []string, use secretUse) bool {
	for i := range all {
		if secretAt(all, i, use) {
			return true
		}
	}
	return nameForeignPassword(all)
}

// secretAt reports whether one of the words, or it and the next ones, mean a secret at a place of
// a use.
func secretAt(all []string, i int, use secretUse) bool {
	isName := use&(secretName|secretHidden) != 0
	for end := i + 1; end <= min(i+maxSecretWords, len(all)); end++ {
		text := strings.Join(all[i:end], "")
		if secretWords[text]&use == 0 && !(end == i+1 && endsInSecret(text)) {
			continue
		}
		if rest := all[end:]; !isName || len(rest) != 1 || !slices.Contains(secretFacts, rest[0]) {
			return true
		}
	}
	return false
}

// nameForeignPassword reports whether some of the words are a password in another language, or
// begin or end with one. Scripts other than Latin may not separate words.
func nameForeignPassword(all []string) bool {
	text := strings.Join(all, " ")
	return slices.ContainsFunc(passwords, func(password string) bool {
		if strings.IndexFunc(password, func(r rune) bool { return r == ' ' || r > unicode.MaxASCII }) >= 0 {
			return strings.Contains(text, password)
		}
		return slices.ContainsFunc(all, func(word string) bool { return strings.HasPrefix(word, password) || strings.HasSuffix(word, password) })
	})
}

func endsInSecret(word string) bool {
	return slices.ContainsFunc(secretEndings, func(ending string) bool { return strings.HasSuffix(word, ending) })
}

// textWords returns the words of a text in small letters, without disguise.
func textWords(text string) []string { return words(foldLookalikes(text)) }

// nameWords returns the words of a name or a title, also of one in camel case, without the numbers
// that follow them.
func nameWords(name string) []string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		if i > 0 && unicode.IsUpper(r) {
			endsAcronym := i+1 < len(letters) && unicode.IsLower(letters[i+1])
			if before := letters[i-1]; unicode.IsLower(before) || endsAcronym && (unicode.IsUpper(before) || unicode.IsDigit(before)) {
				b.WriteByte(' ')
			}
		}
		b.WriteRune(r)
	}
	all := textWords(b.String())
	for i, word := range all {
		if trimmed := strings.TrimRight(word, "0123456789"); trimmed != "" {
			all[i] = trimmed
		}
	}
	return all
}
