package cli

import (
	"os"
	"runtime"
	"strings"
)

// authoritiesVariable names a file with certificate authorities, such as those of a company.
const authoritiesVariable = "SSL_CERT_FILE"

// warnOfAuthorities says that the file of SSL_CERT_FILE cannot be read: Go then trusts fewer authorities,
// without a word. Windows and macOS have stores of their own.
func (m *Main) warnOfAuthorities() {
	path, _ := m.getenv(authoritiesVariable)
	if path == "" || runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		m.message("%s: %v; certificates of its authorities are not trusted", authoritiesVariable, err)
		return
	}
	_ = f.Close()
}

// unknownAuthority is the error of crypto/x509 for a certificate of an authority that is not trusted.
const unknownAuthority = "certificate signed by unknown authority"

// authorityAdvice says what to do about the error in a text if it is unknownAuthority. It is empty for
// others.
func authorityAdvice(text string) string {
	if !strings.Contains(text, unknownAuthority) {
		return ""
	}
	return "; if the network of a company replaces certificates, add its authority to the store of the system, or name its file in " + authoritiesVariable
}
