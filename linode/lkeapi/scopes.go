package lkeapi

import (
	"slices"
	"strings"
)

// ScopePools is the one scope that everything needs which this package does.
const ScopePools = "lke:read_write"

// Scopes returns what the token may do, as the last answer said it, such as
// lke:read_write; nothing where no answer has said it.
func (c *Client) Scopes() []string {
	if s := c.scopes.Load(); s != nil {
		return *s
	}
	return nil
}

// MayUse reports whether the token has a scope. It says yes where no answer has
// told the scopes: then the first call that is refused tells.
func (c *Client) MayUse(scope string) bool {
	scopes := c.Scopes()
	return scopes == nil || covers(scopes, scope)
}

// covers reports whether scopes include one: all do so with *, and who may
// write may read.
func covers(scopes []string, scope string) bool {
	thing, access, _ := strings.Cut(scope, ":")
	return slices.ContainsFunc(scopes, func(have string) bool {
		return have == "*" || have == scope || have == thing+":*" || access == "read_only" && have == thing+":read_write"
	})
}

// scopesOf reads a header of scopes.
func scopesOf(header string) []string {
	return strings.FieldsFunc(header, func(r rune) bool { return r == ' ' || r == ',' })
}
