package gateway

import (
	"strings"

	"github.com/fondaco/fondaco/host"
)

// privatePathError is an error without the path of a URL.
type privatePathError struct {
	text string
	err  error
}

func (e *privatePathError) Error() string { return e.text }

func (e *privatePathError) Unwrap() error { return e.err }

// hidePrivatePath returns an error whose text has no more of a private URL than its origin.
func hidePrivatePath(err error, u *host.Upstream) error {
	paths := u.PrivatePath()
	if err == nil || paths == nil {
		return err
	}
	text := err.Error()
	for _, path := range paths {
		text = strings.ReplaceAll(text, "/"+path, "/"+host.Hidden)
		if path = strings.TrimSuffix(path, "/"); path != "" { // below a well-known path
			text = strings.ReplaceAll(text, "/"+path, "/"+host.Hidden)
		}
	}
	return &privatePathError{text, err}
}
