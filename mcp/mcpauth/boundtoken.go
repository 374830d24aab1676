package mcpauth

import (
	"errors"
	"net/http"

	"github.com/fondaco/fondaco/mcp/internal/dpop"
)

// checkProof verifies that the sender of a bound token has its key. A bound token needs a proof,
// and a proof needs a bound token. The header is that of the response, to which checkProof may
// add a nonce.
//
// Spec: RFC 9449 7.1, 7.2
func (r *Resource) checkProof(answer http.Header, req *http.Request, c credentials, t *Token) error {
	switch {
	case t.ProofKey == "" && r.proofRequired:
		return invalidToken("the token is not bound to a key: want one that is")
	case t.ProofKey == "" && c.scheme == schemeProof:
		return invalidToken("the token is not bound to a key: send it as Bearer")
	case t.ProofKey == "":
		return nil
	case c.scheme != schemeProof:
		return invalidToken("the token is bound to a key: send it as DPoP, with a proof")
	}
	err := r.proofs.Check(answer, req, c.token, t.ProofKey)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, dpop.ErrNonce):
		return &denial{status: statusInvalidToken, code: codeUseNonce, reason: err.Error()}
	case errors.Is(err, dpop.ErrFull), errors.Is(err, dpop.ErrStore):
		return unavailable(err)
	}
	return invalidProof(err.Error())
}
