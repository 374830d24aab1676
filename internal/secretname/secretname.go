// Package secretname says which names are those of secrets: of members, parameters, variables, flags,
// headers and fields. The library and the host share it, so that what one hides the other hides, too. It
// reads names by their words, so that a secretary is none.
package secretname

import (
	"slices"
	"strings"
	"unicode"
)

// Use says where words mean a secret.
type Use uint8

const (
	Text    Use = 1 << iota // a text about a field
	Request                 // a message that asks for a text
	Number                  // a message that asks for a number
	Field                   // the name or the title of a field
	Hidden                  // the name of a value that is not shown

	always = Text | Request | Number | Field | Hidden
)

// uses are words for secrets, each run together, with where they mean one. Those of always have a
// plural, too.
var uses = func() map[string]Use {
	all := make(map[string]Use)
	for use, words := range map[Use]string{
		always: `password passwd passphrase passcode pwd secret apikey accesskey privatekey secretkey signingkey encryptionkey sshkey
			recoverykey licensekey licencekey authkey masterkey accountkey accesstoken authtoken apitoken bearertoken refreshtoken sessiontoken
			idtoken personalaccesstoken oauthtoken securitytoken credential cvv cvc ssn creditcard cardnumber seedphrase mnemonic recoverycode
			recoveryphrase onetimecode onetimepassword 2fa mfa totp otp verificationcode`,
		Request | Field | Hidden:          `token`,
		Request | Number | Field | Hidden: `pin`,
		Field | Hidden:                    `iban jwt cookie`,
		Hidden:                            `cookies signature authorization bearer sessionid sessid connectionstring`,
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] = use
			if use == always {
				all[word+"s"] = use
			}
		}
	}
	return all
}()

var (
	// whole are names of values that are not shown. They mean other things within names of several words.
	whole = []string{"key", "auth", "code", "pass", "tokens", "sig", "creds"}
	// endings mean a secret at the end of a longer word, too, such as dbpassword.
	endings = []string{"password", "passwords", "passwd", "passphrase", "pwd", "secret", "secrets", "apikey"}
	// facts follow words for a secret in the name of something that is none, such as password_length.
	facts = []string{"count", "limit", "budget", "length", "size", "type", "url", "uri", "endpoint", "policy", "expiry"}
	// last mean a secret at the end of a name in a log, such as smtp_pass.
	last = []string{"pass", "creds"}
	// parts mean a secret wherever they are in a name whose words are run together.
	parts = []string{
		"password", "passwd", "passphrase", "passcode", "secret", "apikey", "privatekey", "accesskey", "credential", "authorization", "cookie",
		"accesstoken", "refreshtoken", "idtoken", "authtoken", "bearer", "connectionstring", "sessionid", "seedphrase", "mnemonic",
	}
)

// ForeignPasswords returns words for a password in other languages, as they are written, in small letters.
func ForeignPasswords() []string {
	return []string{
		"passwort", "kennwort", "mot de passe", "contraseña", "palavra passe", "parola d ordine", "wachtwoord", "hasło", "heslo", "lozinka",
		"lösenord", "passord", "adgangskode", "salasana", "jelszó", "parolă", "şifre", "mật khẩu", "kata sandi", "пароль", "пароля", "κωδικός πρόσβασης",
		"סיסמה", "كلمة المرور", "كلمة السر", "पासवर्ड", "รหัสผ่าน", "비밀번호", "パスワード", "暗証番号", "密码", "密碼", "口令",
	}
}

// HavePassword reports whether some of the words are one of the passwords, or begin or end with one. Scripts other
// than Latin may not separate words.
func HavePassword(words, passwords []string) bool {
	text := strings.Join(words, " ")
	return slices.ContainsFunc(passwords, func(password string) bool {
		if strings.IndexFunc(password, func(r rune) bool { return r == ' ' || r > unicode.MaxASCII }) >= 0 {
			return strings.Contains(text, password)
		}
		return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, password) || strings.HasSuffix(word, password) })
	})
}

// maxWords limits the words of one entry of uses, such as one time password.
const maxWords = 3

// Is reports whether the words of a name are those of a value that is not shown.
func Is(words []string) bool {
	return len(words) == 1 && slices.Contains(whole, words[0]) || Mean(words, Hidden)
}

// Mean reports whether one of the words, or it and the next ones, mean a secret at a place of a use. Words
// are in small letters.
func Mean(words []string, use Use) bool {
	for i := range words {
		if MeanAt(words, i, use) {
			return true
		}
	}
	return false
}

// MeanAt is Mean for the words that begin at i.
func MeanAt(words []string, i int, use Use) bool {
	isName := use&(Field|Hidden) != 0
	for end := i + 1; end <= min(i+maxWords, len(words)); end++ {
		text := strings.Join(words[i:end], "")
		if uses[text]&use == 0 && !(end == i+1 && endsInSecret(text)) {
			continue
		}
		if rest := words[end:]; !isName || len(rest) != 1 || !slices.Contains(facts, rest[0]) {
			return true
		}
	}
	return false
}

// askingWords are words of messages that ask for what follows.
var askingWords = []string{
	"enter", "type", "paste", "copy", "write", "fill", "put", "provide", "give", "send", "share", "tell", "input", "insert", "submit", "confirm", "repeat", "need",
}

// askingPairs are askingWords of two words.
var askingPairs = [][2]string{{"what", "is"}, {"log", "in"}, {"sign", "in"}}

// maxAsked is how many words after such a word a secret counts as asked for.
const maxAsked = 12

// Asks reports whether the words of a message ask for a secret.
func Asks(words []string, use Use) bool {
	asked := 0 // words that are left after one that asks
	for i, word := range words {
		if asked > 0 && MeanAt(words, i, use) {
			return true
		}
		asked--
		if slices.Contains(askingWords, word) || i > 0 && slices.Contains(askingPairs, [2]string{words[i-1], word}) {
			asked = maxAsked
		}
	}
	return false
}

func endsInSecret(word string) bool {
	return slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(word, ending) })
}

// Contains reports whether a name has a word for a secret at any place, also run together with others.
// It takes more names than Is does, for logs of what strangers send.
func Contains(name string) bool {
	words := Words(name)
	if Mean(words, Hidden) {
		return true
	}
	if n := len(words); n > 0 && slices.Contains(last, words[n-1]) {
		return true
	}
	text := strings.Join(words, "")
	return strings.HasSuffix(text, "token") || slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// Words returns the words of a name in small letters, also of one in camel case, without the numbers that
// follow them.
func Words(name string) []string {
	all := strings.FieldsFunc(strings.ToLower(SplitCase(name)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) })
	return TrimNumbers(all)
}

// SplitCase returns a name with a blank in front of each word in camel case.
func SplitCase(name string) string {
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
	return b.String()
}

// TrimNumbers removes the numbers that follow words, as in token2. It changes the slice.
func TrimNumbers(words []string) []string {
	for i, word := range words {
		if trimmed := strings.TrimRight(word, "0123456789"); trimmed != "" {
			words[i] = trimmed
		}
	}
	return words
}
