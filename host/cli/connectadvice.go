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
	path, _ := m.Getenv(authoritiesVariable)
	if path == "" || runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		m.Message("%s: %v; certificates of its authorities are not trusted", authoritiesVariable, err)
		return
	}
	_ = f.Close()
}

// connectAdvice says what to do about an error of net/http or crypto/x509, which names no setting, by a
// part of its text. It is empty for others.
func connectAdvice(text string) string {
	switch {
	case strings.Contains(text, "certificate signed by unknown authority"):
		return "; if the network of a company replaces certificates, add its authority to the store of the system, or name its file in " + authoritiesVariable
	case strings.Contains(text, "proxyconnect tcp"):
		return "; the proxy is that of HTTPS_PROXY; want its URL, such as http://proxy.example.com:3128, or the host in NO_PROXY"
	}
	return ""
}
