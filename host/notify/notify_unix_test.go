//go:build unix && !darwin && !race

package notify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/notify"
)

func TestNotificationIsShownByOneProgramWithPlainTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := "#!/bin/sh\nprintf '<%s>' \"$@\" >" + dir + "/shown\nexport >" + dir + "/env\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"PATH": "bin:" + dir + ":/usr/bin:/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x", "SECRET": "cAnArY"}
	env := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	n := notify.Find(env)
	if n == nil {
		t.Fatal("found no program")
	}
	if err := n.Show(t.Context(), "--help", "a <b>bold</b> $(id) `id` \u202e\x1b[2J\nsecond line"); err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile(filepath.Join(dir, "shown"))
	want := "<--app-name=Fondaco><--urgency=critical><--><--help><a &lt;b&gt;bold&lt;/b&gt; $(id) `id` \\u202e\\u001b[2J\nsecond line>"
	if string(shown) != want || err != nil {
		t.Errorf("got %s, %v, want %s", shown, err, want)
	}
	if passed, err := os.ReadFile(filepath.Join(dir, "env")); err != nil || strings.Contains(string(passed), "cAnArY") {
		t.Errorf("got %s, %v, want no other variable passed on", passed, err)
	}
	delete(variables, "DBUS_SESSION_BUS_ADDRESS")
	if notify.Find(env) != nil {
		t.Error("found a program without a desktop")
	}
}
