// Package browser opens a link in the web browser of the user, with the program that the system has for it. No shell is
// involved, and no other user of the machine sees the link.
package browser

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host/userfile"
)

// ErrNone reports that there is no desktop, or no program of it that opens a page.
var ErrNone = errors.New("no desktop was found")

// openTime is how long the program of the system may take. A program that takes longer is the
// browser, and goes on.
const openTime = 5 * time.Second

// variables are those of the desktop that the program gets.
var variables = []string{
	"BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION", "XDG_CURRENT_DESKTOP", "XDG_RUNTIME_DIR",
	"XDG_DATA_DIRS", "HOME", "USER", "PATH", "LANG", "SystemRoot", "SystemDrive", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP",
}

// linkPage leads to a link.
var linkPage = template.Must(template.New("link").Parse(`<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>Fondaco</title>
<a href="{{.}}">Open the page</a>
`))

// pagePattern are the names of the pages in their directory.
const pagePattern = "open-*.html"

// pageTime is how long a page stays: a browser that starts may read it minutes later, and a link to the console works for
// this time.
const pageTime = 10 * time.Minute

// Open opens a link over http or https. It is on a page in a directory of the user, which leads there: every user of the
// machine sees the arguments of programs. Each link has a page of its own, so several processes can open one at once. Only
// the user can read it and nobody can guess its name; it is removed by the first Open ten minutes later. Env looks up a
// variable, like os.LookupEnv. The error wraps ErrNone if nothing could be tried.
func Open(ctx context.Context, env func(string) (string, bool), dir, link string) error {
	program := find(env)
	if program == nil {
		return ErrNone
	}
	removeOldPages(dir)
	path, err := writePage(dir, link)
	if err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	c := exec.Command(program[0], append(program[1:], path)...)
	c.Env = []string{} // never nil, which would pass on all variables
	for _, name := range variables {
		if value, ok := env(name); ok {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	c.Dir = filepath.Dir(program[0])
	if err := c.Start(); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	wait := time.NewTimer(openTime)
	defer wait.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("open the browser: %s: %w", filepath.Base(program[0]), err)
		}
		return nil
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// writePage writes the page that leads to a link, and returns its path.
func writePage(dir, link string) (path string, err error) {
	var page bytes.Buffer
	if err := linkPage.Execute(&page, link); err != nil {
		return "", err
	}
	path = filepath.Join(dir, strings.Replace(pagePattern, "*", rand.Text(), 1))
	return path, userfile.WriteFile(path, page.Bytes())
}

// removeOldPages removes the pages that no browser reads any more. What another process removes meanwhile is no error.
func removeOldPages(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // writePage says why
	}
	for _, entry := range entries {
		if ours, _ := filepath.Match(pagePattern, entry.Name()); !ours {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > pageTime {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// find returns the program of the system with its arguments, or nil.
func find(env func(string) (string, bool)) []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{"/usr/bin/open"}
	case "windows":
		if root, _ := env("SystemRoot"); filepath.IsAbs(root) {
			return []string{filepath.Join(root, "System32", "rundll32.exe"), "url.dll,FileProtocolHandler"}
		}
		return nil
	}
	x11, _ := env("DISPLAY")
	if wayland, _ := env("WAYLAND_DISPLAY"); x11+wayland == "" {
		return nil
	}
	path, _ := env("PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // the working directory may belong to a project
		}
		program := filepath.Join(dir, "xdg-open")
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return []string{program}
		}
	}
	return nil
}
