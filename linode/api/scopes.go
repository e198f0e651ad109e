package api

import (
	"slices"
	"strings"
)

// ScopePools is the scope that all calls for clusters and pools need.
const ScopePools = "lke:read_write"

// ScopeInstances is the scope that all calls for Linodes need.
const ScopeInstances = "linodes:read_write"

// ScopeEvents and ScopeReadInstances are the scopes of the optional calls of an LKE controller: Failures and
// Offline.
const (
	ScopeEvents        = "events:read_only"
	ScopeReadInstances = "linodes:read_only"
)

// Scopes returns the token's scopes, such as lke:read_write, as the last answer
// named them; nil if no answer has.
func (c *Client) Scopes() []string {
	if s := c.transport.scopes.Load(); s != nil {
		return *s
	}
	return nil
}

// MayUse reports whether the token has a scope. It is true if no answer has named the scopes: then the first
// refused call reports the lack.
func (c *Client) MayUse(scope string) bool {
	scopes := c.Scopes()
	return scopes == nil || coversScope(scopes, scope)
}

// coversScope reports whether scopes include one: * includes all, and write access includes read access.
func coversScope(scopes []string, scope string) bool {
	thing, access, _ := strings.Cut(scope, ":")
	return slices.ContainsFunc(scopes, func(have string) bool {
		return have == "*" || have == scope || have == thing+":*" || access == "read_only" && have == thing+":read_write"
	})
}

// scopesOf reads a header of scopes. The API reports "unknown" for a token that it does not know.
func scopesOf(header string) []string {
	if header == "unknown" {
		return nil
	}
	return strings.FieldsFunc(header, func(r rune) bool { return r == ' ' || r == ',' })
}
