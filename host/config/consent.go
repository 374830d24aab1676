package config

import (
	"time"

	"github.com/fondaco/fondaco/host"
)

// consentNames are the members of the settings for consent.
var consentNames = []string{"wait", "clients", "notify", "questions"}

// maxConsentWait is how long a question can be answered.
const maxConsentWait = 10 * time.Minute

// LoadConsent returns the settings for consent in the user's own file, at DefaultPath. They
// are zero if there is no such file.
func LoadConsent(env Env) (host.ConsentSettings, error) {
	return loadHostSettings(env, "consent", (*file).consentSettings)
}

func (f *file) consentSettings(all value) (settings host.ConsentSettings) {
	if !f.requireKind(all, kindObject) {
		return settings
	}
	f.each(all, func(m member, v value) {
		switch m.name {
		case "wait":
			if settings.Wait = f.duration(v); settings.Wait > maxConsentWait {
				f.addError(v, "found %q, want at most %v", v.text, maxConsentWait)
				settings.Wait = 0
			}
		case "clients":
			settings.Clients = f.texts(v)
		case "notify":
			settings.Silent = f.requireKind(v, kindBoolean) && !f.boolean(v)
		case "questions":
			settings.Questions = f.permission(v)
		default:
			f.addError(all.named(m), "found %q, want %s%s", m.name, oneOf(consentNames), suggest(m.name, consentNames))
		}
	})
	return settings
}
