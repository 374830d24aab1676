package exchange

// ValidUntil is the function of WhileValid, with a clock.
var ValidUntil = validUntil
