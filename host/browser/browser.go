// Package browser opens a link in the web browser of the user, with the program that the system has for it. No shell is
// involved, and no other user of the machine sees the link.
package browser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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

// Open opens a link over http or https. It is on a page in a directory of the user, which leads there: every user of the
// machine sees the arguments of programs. The page of the next link replaces it. Env looks up a variable, like
// os.LookupEnv. The error wraps ErrNone if nothing could be tried.
func Open(ctx context.Context, env func(string) (string, bool), dir, link string) error {
	program := find(env)
	if program == nil {
		return ErrNone
	}
	var page bytes.Buffer
	if err := linkPage.Execute(&page, link); err != nil {
		return fmt.Errorf("open the browser: %w", err)
	}
	path := filepath.Join(dir, "open.html")
	if err := userfile.WriteFile(path, page.Bytes()); err != nil {
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
