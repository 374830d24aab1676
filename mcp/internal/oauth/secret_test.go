package oauth_test

import (
	"bytes"
	jsonv2 "encoding/json/v2"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/oauth"
)

const canary = "canary-7b1f"

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-181a")
	secret := oauth.Secret(canary)
	holder := struct {
		Secret oauth.Secret
		Nested *oauth.Secret
	}{secret, &secret}
	for _, verb := range strings.Fields("%v %+v %#v %s %q %x %X %d %t %b %o %c %U %e %g %T %10s %-5v %.3s") {
		for _, value := range []any{secret, &secret, holder, []oauth.Secret{secret}, map[string]oauth.Secret{"s": secret}, map[oauth.Secret]int{secret: 1}} {
			if got := fmt.Sprintf(verb, value); leaks(got) {
				t.Errorf("%s of a %T: got %s", verb, value, got)
			}
		}
	}
	for _, got := range []string{secret.String(), secret.GoString(), fmt.Sprint(secret), fmt.Errorf("failed with %w", fmt.Errorf("%v", secret)).Error()} {
		if leaks(got) {
			t.Errorf("got %s", got)
		}
	}
}

func TestSecretsAreNeverEncodedOrLogged(t *testing.T) {
	t.Parallel()
	secret := oauth.Secret(canary)
	text, err := jsonv2.Marshal(map[oauth.Secret]any{secret: []any{secret, &secret, struct{ S oauth.Secret }{secret}}})
	if err != nil || leaks(string(text)) || !strings.Contains(string(text), "[redacted]") {
		t.Errorf("got %s, %v", text, err)
	}
	var log bytes.Buffer
	for _, logger := range []*slog.Logger{slog.New(slog.NewTextHandler(&log, nil)), slog.New(slog.NewJSONHandler(&log, nil))} {
		logger.Info("token", "secret", secret, "pointer", &secret, slog.Any("struct", struct{ S oauth.Secret }{secret}))
	}
	if leaks(log.String()) || strings.Count(log.String(), "[redacted]") < 4 {
		t.Errorf("got %s", log.String())
	}
}

// leaks reports whether a text holds the canary, or what a verb has made of it.
func leaks(text string) bool {
	plain := strings.ToLower(text)
	return strings.Contains(plain, "canary") || strings.Contains(plain, fmt.Sprintf("%x", canary[:4])) || strings.Contains(plain, fmt.Sprint([]byte(canary[:3]))[1:])
}

func TestSecretsRevealAndCompare(t *testing.T) {
	t.Parallel()
	secret := oauth.Secret(canary)
	if secret.Reveal() != canary || !secret.Equal(canary) || secret.Equal("canary-7b1g") || secret.Equal("") {
		t.Error("want the secret as it was given, equal to itself alone")
	}
	if got := oauth.Secret("").String(); got != "" {
		t.Errorf("no secret: got %q", got)
	}
}
