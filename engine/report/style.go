package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

//go:embed page.css
var css string

// CSS is the style sheet. Pages hold it whole.
func CSS() string { return css }

// ContentPolicy has a browser load nothing, and allows the style sheet that is in the page.
func ContentPolicy() string {
	digest := sha256.Sum256([]byte(css))
	hash := base64.StdEncoding.EncodeToString(digest[:])
	return "default-src 'none'; style-src 'sha256-" + hash + "'; base-uri 'none'; form-action 'none'"
}
