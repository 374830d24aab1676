// Package oauth holds what OAuth 2.1 says about bytes on the wire, without a
// notion of MCP: how what was received is read and checked, and how requests are
// made that give nothing away.
//
// What a peer has sent is never repeated in an error but for what the standards
// restrict to a few harmless characters, such as error codes. Secrets are of type
// [Secret] from where they are read to where they are sent.
package oauth
