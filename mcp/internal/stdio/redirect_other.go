//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package stdio

import "os"

// redirect sets os.Stdin and os.Stdout to the substitutes and returns the
// original files.
func redirect() (*streams, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	in, out := os.Stdin, os.Stdout
	os.Stdin, os.Stdout = null, os.Stderr
	return &streams{in: in, out: out, restore: func() error {
		os.Stdin, os.Stdout = in, out
		return null.Close()
	}}, nil
}
