package api

// secret is a token that nothing prints: where it is shown, whatever it is in,
// an address is.
type secret struct{ value *string }

func newSecret(token string) secret { return secret{&token} }

// redacted stands for a token that an answer repeats.
const redacted = "[redacted]"
