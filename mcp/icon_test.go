package mcp_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestIconFromBytes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, mimeType string }{
		{"png", "\x89PNG\r\n\x1a\n....", "image/png"},
		{"jpeg", "\xff\xd8\xff\xe0....", "image/jpeg"},
		{"webp", "RIFF\x10\x00\x00\x00WEBPVP8 ....", "image/webp"},
		{"svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml"},
		{"svg with prologue", "<?xml version=\"1.0\"?>\n<!-- c --><!DOCTYPE svg><svg xmlns=\"http://www.w3.org/2000/svg\"></svg>", "image/svg+xml"},
		{"gif", "GIF89a....", ""},
		{"riff", "RIFF\x10\x00\x00\x00WAVEfmt ", ""},
		{"html", `<html><svg xmlns="http://www.w3.org/2000/svg"/></html>`, ""},
		{"svg without namespace", `<svg/>`, ""},
		{"text", "svg", ""},
		{"empty", "", ""},
	} {
		icon, err := mcp.IconFromBytes([]byte(c.data))
		if c.mimeType == "" {
			if err == nil {
				t.Errorf("%s: got %+v, want an error", c.name, icon)
			}
			continue
		}
		if want := "data:" + c.mimeType + ";base64,"; err != nil || icon.MIMEType != c.mimeType || !strings.HasPrefix(icon.Src, want) {
			t.Errorf("%s: got %+v and error %v, want %s", c.name, icon, err, want)
		}
	}
}

func TestIconFromBytesCarriesTheImage(t *testing.T) {
	t.Parallel()
	icon, err := mcp.IconFromBytes([]byte("\xff\xd8\xff"))
	const want = `{"src":"data:image/jpeg;base64,/9j/","mimeType":"image/jpeg"}`
	if got := encode(t, icon); err != nil || got != want {
		t.Errorf("got %s and error %v, want %s", got, err, want)
	}
}

func TestIconFromBytesIsBounded(t *testing.T) {
	t.Parallel()
	image := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0}, mcp.MaxIconBytes-8)...)
	if _, err := mcp.IconFromBytes(image); err != nil {
		t.Errorf("%d bytes: %v", len(image), err)
	}
	if _, err := mcp.IconFromBytes(append(image, 0)); err == nil {
		t.Errorf("%d bytes: got no error", len(image)+1)
	}
}
