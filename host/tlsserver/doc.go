// Package tlsserver has the certificates with which the host serves HTTPS: of two files that
// are read again when they change, or of an authority that issues them by ACME.
package tlsserver

import "crypto/tls"

// config returns what all configurations have in common.
func config(getCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: getCertificate,
	}
}
