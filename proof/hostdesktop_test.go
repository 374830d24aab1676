//go:build (hostile || load) && linux

package proof

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// addDesktop gives the user a desktop, and returns the file to which its notifications are added.
func (u *hostUser) addDesktop() (notified string) {
	u.t.Helper()
	notified = filepath.Join(u.home, "notified")
	program := u.write("bin/notify-send", "#!/bin/sh\nprintf '%s\\n' \"$@\" >>"+notified+"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		u.t.Fatal(err)
	}
	u.env = append(u.env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere")
	return notified
}

// codeOf waits for the notification of a question and returns its code.
func (u *hostUser) codeOf(question, notified string) string {
	u.t.Helper()
	pattern := regexp.MustCompile(`answer ` + question + ` yes --code (\d{6})`)
	for deadline := time.Now().Add(replyTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(notified)
		if found := pattern.FindStringSubmatch(string(text)); found != nil {
			return found[1]
		}
	}
	u.t.Fatalf("question %s was not shown", question)
	return ""
}

// control returns a client of the control socket.
func (u *hostUser) control() *http.Client {
	u.t.Helper()
	sockets, err := filepath.Glob(filepath.Join(u.home, "run", "fondaco", "*.sock"))
	if err != nil || len(sockets) != 1 {
		u.t.Fatalf("got %q, %v", sockets, err)
	}
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sockets[0])
	}}}
}
