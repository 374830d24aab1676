package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/xml"
	"errors"
	"fmt"
)

// Icon is an image that represents something in a user interface. Treat icons
// from a peer as untrusted, both their URLs and their bytes.
//
// Spec: 2026-07-28 basic#icons
type Icon struct {
	// Src is a URL, https or data.
	Src string `json:"src"`
	// MIMEType overrides that of the source.
	MIMEType string `json:"mimeType,omitzero"`
	// Sizes lists the sizes that the icon is made for: "48x48", or "any" for a
	// scalable one. Empty means any size.
	Sizes []string `json:"sizes,omitzero"`
	// Theme is the background that the icon is designed for; empty means any.
	Theme IconTheme `json:"theme,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// IconTheme is a background that icons are designed for.
type IconTheme string

// The themes of icons.
const (
	IconLight IconTheme = "light"
	IconDark  IconTheme = "dark"
)

// MaxIconBytes is the maximum size of an image that IconFromBytes accepts.
const MaxIconBytes = 256 << 10

// IconFromBytes returns an icon that holds its image in a data URL. The image
// is a PNG, JPEG, WebP or SVG, recognized by its first bytes, of at most
// MaxIconBytes.
func IconFromBytes(data []byte) (Icon, error) {
	if len(data) > MaxIconBytes {
		return Icon{}, fmt.Errorf("icon: %d bytes, want at most %d", len(data), MaxIconBytes)
	}
	mimeType := sniffIcon(data)
	if mimeType == "" {
		return Icon{}, errors.New("icon: unknown kind of image, want PNG, JPEG, WebP or SVG")
	}
	icon := Icon{Src: "data:" + mimeType + ";base64," + base64.StdEncoding.EncodeToString(data), MIMEType: mimeType}
	if mimeType == "image/svg+xml" {
		icon.Sizes = []string{"any"}
	}
	return icon, nil
}

// sniffIcon returns the media type of an image that may be an icon, and the
// empty string for everything else.
//
// Spec: https://mimesniff.spec.whatwg.org/#matching-an-image-type-pattern
func sniffIcon(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case len(data) >= 14 && string(data[:4]) == "RIFF" && string(data[8:14]) == "WEBPVP":
		return "image/webp"
	case isSVG(data):
		return "image/svg+xml"
	}
	return ""
}

// isSVG reports whether the root element of an XML document is that of SVG.
func isSVG(data []byte) bool {
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if start, ok := token.(xml.StartElement); ok {
			return start.Name == xml.Name{Space: "http://www.w3.org/2000/svg", Local: "svg"}
		}
	}
}
