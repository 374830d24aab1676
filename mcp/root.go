package mcp

import (
	"encoding/json/jsontext"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Root is a directory or file that a server may work on.
//
// Spec: 2026-07-28 client/roots
//
// Deprecated: Roots are deprecated by SEP-2577. The first revision released on
// or after 2027-07-28 may remove them. Pass directories and files in tool
// arguments, resource URIs or the configuration of the server instead.
type Root struct {
	// URI is a file URI.
	URI string `json:"uri"`
	// Name is the name for users.
	Name string `json:"name,omitzero"`
	Meta Meta   `json:"_meta,omitempty"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// ListRootsResult holds the roots of a client.
//
// Deprecated: part of Roots (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
type ListRootsResult struct {
	ResultBase
	Roots []Root `json:"roots"`
}

// Path returns the file path of the root in the form of the operating system.
// It returns an error if URI is not an absolute file URI of this machine.
//
// Spec: RFC 8089 2
func (r Root) Path() (string, error) {
	u, err := url.Parse(r.URI)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("root %.256q: want a file URI of this machine, such as file:///home/me/project", r.URI)
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' && filepath.Separator == '\\' {
		path = path[1:] // file:///C:/project
	}
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("root %.256q: want an absolute path", r.URI)
	}
	return filepath.Clean(path), nil
}
