package mcp

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxIconURL is the maximum length in bytes of an icon's URL, unless it is a
// data URL.
const maxIconURL = 2048

// iconTypes are the media types of images that may be icons.
//
// Spec: 2026-07-28 basic#icons
var iconTypes = []string{"image/png", "image/jpeg", "image/webp", "image/svg+xml"}

// iconSize is one size. Each number has at most five digits, which is more than
// any screen has.
var iconSize = regexp.MustCompile(`^([1-9][0-9]{0,4}x[1-9][0-9]{0,4}|any)$`)

// Check returns an error if the icon must not be used. Src must be an https URL
// without user information, or a base64 data URL that holds an image: PNG,
// JPEG, WebP or SVG by its type and by its first bytes, of at most
// MaxIconBytes. The other members must be valid.
//
// Check alone does not make an icon safe. Code that fetches it must also accept
// only the origin of the server and trusted ones, send no credentials, follow no
// redirect to another origin, and check the response; code that draws an SVG must
// not run its scripts.
//
// Spec: 2026-07-28 basic#icons
func (i Icon) Check() error {
	if err := i.checkSource(); err != nil {
		return fmt.Errorf("icon: %w", err)
	}
	if i.MIMEType != "" && !slices.Contains(iconTypes, mediaType(i.MIMEType)) {
		return fmt.Errorf("icon: type %.64q: want PNG, JPEG, WebP or SVG", i.MIMEType)
	}
	for _, size := range i.Sizes {
		if !iconSize.MatchString(size) {
			return fmt.Errorf("icon: size %.64q: want such as 48x48, or any", size)
		}
	}
	if i.Theme != "" && i.Theme != IconLight && i.Theme != IconDark {
		return fmt.Errorf("icon: theme %.64q: want light or dark", i.Theme)
	}
	return nil
}

func (i Icon) checkSource() error {
	if isData(i.Src) {
		return i.checkData()
	}
	if len(i.Src) > maxIconURL {
		return fmt.Errorf("URL of %d bytes, want at most %d", len(i.Src), maxIconURL)
	}
	u, err := url.Parse(i.Src)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return errors.New("want an absolute URL, https or data")
	case !strings.EqualFold(u.Scheme, "https"):
		return fmt.Errorf("URL with scheme %.16q, want https or data", u.Scheme)
	case u.User != nil:
		return errors.New("URL with a user, want one without")
	}
	return nil
}

// checkData checks the image in a data URL.
//
// Spec: RFC 2397
func (i Icon) checkData() error {
	head, data, found := strings.Cut(i.Src[len("data:"):], ",")
	declared, coded := strings.CutSuffix(head, ";base64")
	if !found || !coded {
		return errors.New("data URL: want the image in base64")
	}
	if base64.StdEncoding.DecodedLen(len(data)) > MaxIconBytes+2 {
		return fmt.Errorf("data URL with an image of about %d bytes, want at most %d", base64.StdEncoding.DecodedLen(len(data)), MaxIconBytes)
	}
	image, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return errors.New("data URL: the base64 is not valid")
	}
	sniffed := sniffIcon(image)
	if sniffed == "" || mediaType(declared) != sniffed || mediaType(cmp.Or(i.MIMEType, sniffed)) != sniffed {
		return fmt.Errorf("data URL: found an image of type %.64q, want PNG, JPEG, WebP or SVG, and the same as declared", cmp.Or(sniffed, "unknown"))
	}
	return nil
}

// isData reports whether a URL is a data URL.
func isData(src string) bool {
	return len(src) >= len("data:") && strings.EqualFold(src[:len("data:")], "data:")
}

// mediaType returns a media type without parameters, and the standard name for
// an alias.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "image/jpg" {
		return "image/jpeg"
	}
	return s
}
