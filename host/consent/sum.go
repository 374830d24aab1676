package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// sumOf returns the SHA-256 of the content of a file, in hex. It is made anew at
// every start: size and times of a file can be made to look unchanged.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
