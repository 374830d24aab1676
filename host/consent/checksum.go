package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// checksum returns the SHA-256 of the content of a file, in hex. It is computed at every
// start, because size and times of a file can be forged.
func checksum(path string) (string, error) {
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
