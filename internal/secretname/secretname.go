// Package secretname says which names are those of secrets: of members, parameters, variables, flags,
// headers and fields. The library and the host share it, so that what one hides the other hides, too. It
// reads names by their words, so that a secretary is none, and as they look: other letters, and characters
// that are not shown, do not disguise them.
package secretname

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fondaco/fondaco/internal/lookalike"
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
			recoveryphrase onetimecode onetimepassword 2fa mfa totp otp verificationcode securitycode socialsecuritynumber
			backupcode backupphrase smscode logincode authenticationcode senha`,
		Request | Field | Hidden:          `token`,
		Request | Number | Field | Hidden: `pin`,
		Field | Hidden:                    `iban jwt cookie`,
		Field:                             `creds`,
		Hidden:                            `cookies signature authorization bearer sessionid sessid connectionstring`,
	} {
		for word := range strings.FieldsSeq(words) {
			if len(word) >= maxLength {
				panic("secretname: maxLength is less than the length of " + word)
			}
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

// foreignWords are words for a password in other languages. Scripts other than Latin may not separate words, so
// foreignPhrases count at any place of a text, as the phrases of several words do.
var foreignWords, foreignPhrases = func() (single, phrases []string) {
	for _, password := range []string{
		"passwort", "kennwort", "mot de passe", "contraseña", "clave de acceso", "palavra passe", "parola d ordine", "wachtwoord", "hasło", "heslo", "lozinka",
		"lösenord", "passord", "adgangskode", "salasana", "jelszó", "parolă", "şifre", "mật khẩu", "kata sandi", "пароль", "пароля", "κωδικός πρόσβασης",
		"סיסמה", "كلمة المرور", "كلمة السر", "पासवर्ड", "รหัสผ่าน", "비밀번호", "パスワード", "暗証番号", "密码", "密碼", "口令",
	} {
		look := strings.Join(TextWords(password), " ")
		if strings.Contains(look, " ") || !isASCII(look) {
			phrases = append(phrases, look)
		} else {
			single = append(single, look)
		}
	}
	return single, phrases
}()

// isForeign reports whether some of the words are a password in another language, or begin or end with one.
func isForeign(words []string) bool {
	for _, word := range words {
		for _, password := range foreignWords {
			if strings.HasPrefix(word, password) || strings.HasSuffix(word, password) {
				return true
			}
		}
	}
	if len(words) == 1 && isASCII(words[0]) { // most names are
		return false
	}
	text := strings.Join(words, " ")
	return slices.ContainsFunc(foreignPhrases, func(password string) bool { return strings.Contains(text, password) })
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// maxWords limits the words of one entry of uses, such as one time password, and maxLength its bytes.
const (
	maxWords  = 3
	maxLength = 24
)

// Is reports whether the words of a name are those of a value that is not shown.
func Is(words []string) bool {
	return len(words) == 1 && slices.Contains(whole, words[0]) || Mean(words, Hidden)
}

// Mean reports whether one of the words, or it and the next ones, mean a secret at a place of a use. A password in another
// language means one at each place.
func Mean(words []string, use Use) bool {
	for i := range words {
		if meanAt(words, i, use) {
			return true
		}
	}
	return isForeign(words)
}

// meanAt reports whether the words that begin at i mean a secret in English.
func meanAt(words []string, i int, use Use) bool {
	isName := use&(Field|Hidden) != 0
	var space [maxLength]byte
	joined := space[:0]
	for end := i + 1; end <= min(i+maxWords, len(words)); end++ {
		fits := len(joined)+len(words[end-1]) <= maxLength
		if fits {
			joined = append(joined, words[end-1]...)
		}
		if found := fits && uses[string(joined)]&use != 0; found || end == i+1 && endsInSecret(words[i]) {
			if rest := words[end:]; !isName || len(rest) != 1 || !slices.Contains(facts, rest[0]) {
				return true
			}
		}
		if !fits {
			return false
		}
	}
	return false
}

// askingWords are words of messages that ask for what follows.
var askingWords = []string{
	"enter", "type", "paste", "copy", "write", "fill", "put", "provide", "give", "send", "share", "tell", "input", "insert", "submit", "confirm", "repeat", "need",
	"supply", "specify", "verify", "authenticate", "require", "requires", "login",
}

// askingPairs are askingWords of two words.
var askingPairs = [][2]string{{"what", "is"}, {"what", "s"}, {"log", "in"}, {"sign", "in"}}

const (
	// maxAsked is how many words after such a word a secret counts as asked for.
	maxAsked = 12
	// maxOwned is how many words after "your" a secret counts as asked for, as in "your old password".
	maxOwned = 3
)

// fillers are words of messages that ask by the name of a secret alone.
var fillers = []string{"please", "required", "requested", "needed", "missing", "invalid", "wrong", "expected", "here", "now", "the", "a", "an"}

// Asks reports whether the words of a message ask for a secret. A password in another language counts wherever it is named.
func Asks(words []string, use Use) bool {
	asked, owned := 0, 0 // words that are left after one that asks
	for i, word := range words {
		if asked > 0 && meanAt(words, i, use) || owned > 0 && meanAt(words, i, Text) {
			return true
		}
		asked--
		owned--
		if word == "your" {
			owned = maxOwned
		}
		if slices.Contains(askingWords, word) || i > 0 && slices.Contains(askingPairs, [2]string{words[i-1], word}) {
			asked = maxAsked
		}
	}
	return isPrompt(words, use) || isForeign(words)
}

// isPrompt reports whether a message has no more than the name of a secret, and for what it is: Password for ada.
func isPrompt(words []string, use Use) bool {
	if i := slices.Index(words, "for"); i > 0 {
		words = words[:i]
	}
	name := ""
	for _, word := range words {
		if !slices.Contains(fillers, word) {
			if name += word; len(name) > maxLength {
				return false
			}
		}
	}
	return uses[name]&use != 0
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

// Words returns the words of a name or a title in small letters, also of one in camel case, without the numbers that
// follow them.
func Words(name string) []string { return trimNumbers(TextWords(splitCase(name))) }

// TextWords returns the words of a text in small letters.
func TextWords(text string) []string { return lookalike.Words(lookalike.Fold(text)) }

// splitCase returns a name with a blank in front of each word in camel case.
func splitCase(name string) string {
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

// trimNumbers removes the numbers that follow words, as in token2. It changes the slice.
func trimNumbers(words []string) []string {
	for i, word := range words {
		if trimmed := strings.TrimRight(word, "0123456789"); trimmed != "" {
			words[i] = trimmed
		}
	}
	return words
}
