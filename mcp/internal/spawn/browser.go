package spawn

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// openingTime is how long Open waits for the program that opens an address to fail.
const openingTime = 5 * time.Second

// desktop lists the variables with which that program finds the user's display.
var desktop = []string{"BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DESKTOP_SESSION"}

// Open shows an address in the user's browser. The scheme must be https, or http on this
// machine. Open reassembles the address from its parsed parts and passes it as one argument
// to one program, without a shell. It returns an error if the program fails within five
// seconds. A program that keeps running is the browser; Open does not end it.
func Open(ctx context.Context, address string) error {
	err := open(ctx, address, launch)
	if err != nil {
		return fmt.Errorf("open browser: %w", err)
	}
	return nil
}

func open(ctx context.Context, address string, launch func(context.Context, []string) error) error {
	clean, err := webAddress(address)
	if err != nil {
		return err
	}
	program := browserCommand()
	if len(program) == 0 {
		return fmt.Errorf("no program is known that opens addresses on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	return launch(ctx, append(program, clean))
}

// plainHost matches hosts without characters that a program could misinterpret.
var plainHost = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?$`)

// webAddress reassembles an address from its parts. The result begins with its scheme, so that
// no program takes it for an option, and has no space, quote, dollar sign or other character
// with which a command could begin.
func webAddress(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || !plainHost.MatchString(u.Host):
		return "", errors.New("want an absolute web address with a host in ASCII")
	case u.User != nil:
		return "", errors.New("want an address without a user")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return "", fmt.Errorf("scheme %.16q: want https, or http on this machine", u.Scheme)
	}
	clean := u.Scheme + "://" + u.Host + plain(u.EscapedPath())
	if u.RawQuery != "" {
		clean += "?" + plain(u.RawQuery)
	}
	if u.Fragment != "" {
		clean += "#" + plain(u.EscapedFragment())
	}
	return clean, nil
}

// notPlain lists the characters that are escaped in addition to those that a URL requires.
var notPlain = regexp.MustCompile(`%[0-9A-Fa-f]{2}|[^A-Za-z0-9._~/?:@=&+,-]`)

func plain(part string) string {
	return notPlain.ReplaceAllStringFunc(part, func(found string) string {
		if len(found) == 3 && found[0] == '%' {
			return found
		}
		var escaped strings.Builder
		for _, b := range []byte(found) {
			fmt.Fprintf(&escaped, "%%%02X", b)
		}
		return escaped.String()
	})
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// launch starts a program, and returns its error if it fails within openingTime. A program
// that keeps running is not ended.
func launch(ctx context.Context, argv []string) error {
	screen := make(map[string]string)
	for _, name := range desktop {
		if value, ok := os.LookupEnv(name); ok {
			screen[name] = value
		}
	}
	env, err := environ("", screen, false)
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.SysProcAttr = inOwnGroup()
	closeDescriptorsOnExec()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // ends with the program, which is not ours to end
	select {
	case err := <-ended:
		return err
	case <-time.After(openingTime):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
