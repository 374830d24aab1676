package mcpauth_test

import (
	"bytes"
	"encoding/json/v2"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpauth"
)

func TestSecretsAndKeysAreNotShown(t *testing.T) {
	t.Parallel()
	secret := mcpauth.Secret(canaryText)
	key := mcpauth.Key{ID: "nonces", Secret: []byte(canaryText)}
	holder := struct {
		Secret mcpauth.Secret
		Key    *mcpauth.Key
	}{secret, &key}
	var shown []string
	for _, verb := range strings.Fields("%v %+v %#v %s %q %x %d %10s %.3s") {
		for _, value := range []any{secret, &secret, key, &key, holder} {
			shown = append(shown, fmt.Sprintf(verb, value))
		}
	}
	text, err := json.Marshal(map[mcpauth.Secret]any{secret: &secret})
	if want := `{"[redacted]":"[redacted]"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("signing in", "secret", secret, "key", key)
	for _, got := range append(shown, log.String(), secret.String(), secret.GoString()) {
		if strings.Contains(got, canaryText) || strings.Contains(got, canaryText[:3]) || strings.Contains(got, fmt.Sprintf("%x", canaryText)) {
			t.Errorf("got %s", got)
		}
	}
	if secret.Reveal() != canaryText || !secret.Equal(canaryText) || secret.Equal("") {
		t.Error("got another secret")
	}
}
