package api

// secret is a token that is never printed: if a value with it is formatted, the output has an address.
type secret struct{ value *string }

func newSecret(token string) secret { return secret{&token} }

// redacted replaces a token that an answer repeats.
const redacted = "[redacted]"
