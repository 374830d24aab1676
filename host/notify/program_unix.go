//go:build unix

package notify

import (
	"html"
	"os"
	"path/filepath"
	"runtime"
)

// find returns the program of the system, and the variables that it needs. On desktops with
// D-Bus it is notify-send, if there is a session.
func find(env func(string) (string, bool)) (program string, needs []string) {
	if runtime.GOOS == "darwin" {
		return "/usr/bin/osascript", []string{"HOME", "USER"}
	}
	if bus, _ := env("DBUS_SESSION_BUS_ADDRESS"); bus == "" {
		return "", nil
	}
	path, _ := env("PATH")
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // the working directory may belong to a project
		}
		program := filepath.Join(dir, "notify-send")
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return program, []string{"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "HOME", "LANG"}
		}
	}
	return "", nil
}

// script shows the second of its arguments under the first.
var script = []string{"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run"}

// arguments returns the arguments of the program. notify-send reads markup in the text.
func arguments(title, text string) (args, variables []string) {
	if runtime.GOOS == "darwin" {
		return append(append([]string{}, script...), "--", title, text), nil
	}
	return []string{"--app-name=Fondaco", "--urgency=critical", "--", title, html.EscapeString(text)}, nil
}
