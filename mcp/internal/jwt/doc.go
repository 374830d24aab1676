// Package jwt signs JSON Web Tokens and verifies their signatures, with asymmetric algorithms
// only. It does not know what the claims of a token mean.
//
// It is the only importer of the library for JSON Web Signatures and exports none of its types.
// The library verifies signatures and reads keys; headers are read a second time, strictly.
//
// Spec: RFC 7515; RFC 7517; RFC 7519; RFC 8725
package jwt
