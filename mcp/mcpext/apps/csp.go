package apps

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// CSP are the origins that a document needs, such as https://api.example.com or,
// for all hosts below one, https://*.example.com.
//
// Spec: ext-apps 2026-01-26#ui-resource-format
type CSP struct {
	// ConnectDomains are the origins for requests and sockets, also with wss://.
	ConnectDomains []string `json:"connectDomains,omitzero"`
	// ResourceDomains are the origins for scripts, styles, images, fonts and media.
	ResourceDomains []string `json:"resourceDomains,omitzero"`
	// FrameDomains are the origins for frames in the document.
	FrameDomains []string `json:"frameDomains,omitzero"`
	// BaseURIDomains are the origins that a base URI of the document may have.
	BaseURIDomains []string `json:"baseUriDomains,omitzero"`
}

// maxSources is the maximum number of origins in one directive.
const maxSources = 64

// Policy returns the Content-Security-Policy of a document: it allows only content of the document
// itself, content from the origin of the sandbox, and the declared origins. Nil declares nothing.
//
// Declarations that are not origins are not in the policy and are returned, to be logged: keywords,
// bare schemes and wildcards, paths, URLs with user names, text with characters that have a meaning
// in a policy, and origins without encryption except those of the machine itself.
//
// Spec: ext-apps 2026-01-26#host-behavior, CSP Level 3 2.3.1
func (c *CSP) Policy() (policy string, refused []string) {
	if c == nil {
		c = new(CSP)
	}
	sources := func(declared []string, schemes ...string) []string {
		taken, not := split(declared, schemes)
		refused = append(refused, not...)
		return taken
	}
	resources := sources(c.ResourceDomains, "https", "http")
	fonts := slices.Concat([]string{"'self'"}, resources)
	if len(resources) == 0 {
		fonts = nil
	}
	directives := []string{
		"default-src 'none'",
		directive("script-src", append([]string{"'self'", "'unsafe-inline'"}, resources...)),
		directive("style-src", append([]string{"'self'", "'unsafe-inline'"}, resources...)),
		directive("img-src", append([]string{"'self'", "data:"}, resources...)),
		directive("media-src", append([]string{"'self'", "data:"}, resources...)),
		directive("font-src", fonts),
		directive("connect-src", sources(c.ConnectDomains, "https", "wss", "http", "ws")),
		directive("frame-src", sources(c.FrameDomains, "https", "http")),
		"object-src 'none'",
		"form-action 'none'",
	}
	bases := sources(c.BaseURIDomains, "https", "http")
	if len(bases) == 0 {
		bases = []string{"'self'"}
	}
	return strings.Join(append(directives, directive("base-uri", bases)), "; "), refused
}

func directive(name string, sources []string) string {
	if len(sources) == 0 {
		return name + " 'none'"
	}
	return name + " " + strings.Join(sources, " ")
}

// split separates the origins that a directive may have from the other declarations.
func split(declared, schemes []string) (taken, refused []string) {
	for _, d := range declared {
		if len(taken) < maxSources && isSource(d, schemes) {
			taken = append(taken, d)
			continue
		}
		refused = append(refused, d)
	}
	return taken, refused
}

var source = regexp.MustCompile(`^([a-z]+)://((?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(?::([0-9]{1,5}))?$`)

// isSource reports whether a text is an origin, with one of the schemes. A wildcard
// needs two names after it.
func isSource(text string, schemes []string) bool {
	parts := source.FindStringSubmatch(text)
	if parts == nil || !slices.Contains(schemes, parts[1]) {
		return false
	}
	host, wild := strings.CutPrefix(parts[2], "*.")
	if port, err := strconv.Atoi(parts[3]); parts[3] != "" && (err != nil || port < 1 || port > 65535) {
		return false
	}
	if slices.Contains(strings.Split(host, "."), "") || wild && !strings.Contains(host, ".") {
		return false
	}
	if parts[1] == "http" || parts[1] == "ws" {
		return !wild && isLoopback(host)
	}
	return !wild || !isAddress(host)
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
