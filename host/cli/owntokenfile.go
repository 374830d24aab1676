package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/userfile"
)

// ownTokenFile returns the path of the file of tokens that the host creates for its user:
// clients.tokens in the directory of the state. If it does not exist it is created, with
// one token.
func (m *Main) ownTokenFile() (string, error) {
	dir, err := storage.Dir(m.Getenv)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "clients.tokens")
	_, err = os.Lstat(path)
	switch {
	case err == nil:
		m.Message("clients need a token of %s", path)
		return path, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if err := userfile.MkdirAll(dir); err != nil {
		return "", err
	}
	if repository := repositoryOf(dir); repository != "" {
		return "", usagef("%s is below the repository %s, where a token could be published; want $XDG_STATE_HOME elsewhere, or --auth-tokens FILE", dir, repository)
	}
	content := "# Tokens for clients of this host, one NAME:TOKEN a line.\nuser:" + rand.Text() + "\n"
	if err := userfile.WriteFile(path, []byte(content)); err != nil {
		return "", fmt.Errorf("create a token: %w", err)
	}
	m.Message("clients need the token that was created in %s", path)
	return path, nil
}

// tokenFlag returns the flag with which a command uses the first token of a file of tokens. It is
// empty if there is no file, or the file has digests alone.
func tokenFlag(path string) string {
	if path == "" {
		return ""
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = tokenOf("@" + path)
	}
	if err != nil {
		return ""
	}
	return "--token " + host.ShellQuote("@"+path)
}
