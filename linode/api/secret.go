package api

// secret is a token that is never printed: wherever it is formatted, in any value,
// an address is.
type secret struct{ value *string }

func newSecret(token string) secret { return secret{&token} }

// redacted stands for a token that an answer repeats.
const redacted = "[redacted]"
