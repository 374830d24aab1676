package cli

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/userfile"
)

// tokenVariable is the variable of the token for the server at urlVariable.
const tokenVariable = "FONDACO_TOKEN"

// requestHeaders are the headers that the command line adds to the requests of a command
// to a server over HTTP, its token among them.
type requestHeaders struct {
	token string
	lines list
	// references are allowed: a program that reads the headers from a file expands them.
	references bool
}

func (h *requestHeaders) declare(f *flag.FlagSet) {
	f.StringVar(&h.token, "token", "", "send the bearer token `TOKEN`, or that in @FILE")
	f.Var(&h.lines, "header", "send a header `KEY: VALUE`, or those in @FILE")
}

// given reports whether the command line has any.
func (h *requestHeaders) given() bool { return h.token != "" || len(h.lines) > 0 }

// read returns the headers, and reads the files that the flags name. fallback is the token
// if the flags give no credentials.
func (h *requestHeaders) read(fallback string) (http.Header, error) {
	header := make(http.Header)
	for _, value := range h.lines {
		lines := []string{value}
		if path, ok := strings.CutPrefix(value, "@"); ok {
			text, err := readSecret(path)
			if err != nil {
				return nil, usagef("--header: %w", err)
			}
			lines = strings.Split(text, "\n")
		}
		for _, line := range lines {
			if err := addHeader(header, strings.TrimSpace(line)); err != nil {
				return nil, err
			}
		}
	}
	from, value := "--token", h.token
	switch named := header.Get("Authorization") != ""; {
	case named && value != "":
		return nil, usagef("found both --token and a header Authorization, want one of them")
	case named, value == "" && fallback == "":
		return header, nil
	case value == "":
		from, value = "$"+tokenVariable, fallback
	}
	token := value
	if !h.references || !config.Refers(value) {
		var err error
		if token, err = tokenOf(value); err != nil {
			return nil, usagef("%s: %w", from, err)
		}
	}
	header.Set("Authorization", "Bearer "+token)
	return header, nil
}

var bearerToken = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

// addHeader adds the header of a line. Errors contain no value, which may be a secret.
func addHeader(header http.Header, line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	name, value, ok := strings.Cut(line, ":")
	if !ok || !config.IsHeaderName(name) {
		return usagef("--header: want KEY: VALUE, or @FILE with such lines")
	}
	if value = strings.TrimSpace(value); !config.IsHeaderValue(value) {
		return usagef("--header: the value of %q has a control character", name)
	}
	header.Add(name, value)
	return nil
}

// tokenOf returns the token that a flag or variable gives: itself, or the content of
// @FILE.
func tokenOf(value string) (string, error) {
	if path, ok := strings.CutPrefix(value, "@"); ok {
		text, err := readSecret(path)
		if err != nil {
			return "", err
		}
		value = tokenIn(text)
	}
	if !bearerToken.MatchString(value) {
		return "", fmt.Errorf("found no bearer token, want letters, digits and -._~+/ alone, or @FILE")
	}
	return value, nil
}

// tokenIn returns the token in a file: all of its text or, in a file of lines NAME:TOKEN, the first
// token that is not a digest.
func tokenIn(text string) string {
	text = strings.TrimSpace(text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		_, token, ok := strings.Cut(line, ":")
		if ok && !strings.HasPrefix(line, "#") && !strings.HasPrefix(token, "sha256:") {
			return token
		}
	}
	return text
}

// maxSecret limits a file of a token or of headers, in bytes.
const maxSecret = 1 << 16

// readSecret reads a file that only the user can read. What is no file, such as the pipe
// of a shell's <(command), is read as it is.
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxSecret))
		return textOf(path, text, err)
	}
	text, err := userfile.ReadFile(path, maxSecret)
	return textOf(path, text, cmp.Or(err, userfile.CheckPrivate(path)))
}

// textOf returns the text that was read from a file, without a byte order mark.
func textOf(path string, content []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	text, err := userfile.Text(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return string(text), nil
}
