package load

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
)

// A version is major, minor and patch.
type version [3]int

var (
	versionPattern    = regexp.MustCompile(`^v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?$`)
	constraintPattern = regexp.MustCompile(`^(~>|>=|<=|!=|>|<|=)?\s*(\S+)$`)
)

// parseVersion reads "1.2.3" and its short forms; parts is the number of given numbers.
func parseVersion(text string) (v version, parts int, ok bool) {
	m := versionPattern.FindStringSubmatch(text)
	if m == nil {
		return v, 0, false
	}
	for i, number := range m[1:] {
		if number != "" {
			v[i], _ = strconv.Atoi(number)
			parts++
		}
	}
	return v, parts, true
}

// satisfies reports whether v satisfies a constraint, such as "~> 0.3" or ">= 0.2, < 1.0". The
// operators are those of Terraform.
func (v version) satisfies(constraint string) (bool, error) {
	for _, term := range strings.Split(constraint, ",") {
		m := constraintPattern.FindStringSubmatch(strings.TrimSpace(term))
		if m == nil {
			return false, fmt.Errorf("%q is not a version constraint", term)
		}
		bound, parts, ok := parseVersion(m[2])
		if !ok {
			return false, fmt.Errorf("%q is not a version", m[2])
		}
		if !v.satisfiesBound(m[1], bound, parts) {
			return false, nil
		}
	}
	return true, nil
}

func (v version) satisfiesBound(operator string, bound version, parts int) bool {
	c := slices.Compare(v[:], bound[:])
	switch operator {
	case "~>": // the last given number can increase
		fixed := max(parts-1, 1)
		return c >= 0 && slices.Equal(v[:fixed], bound[:fixed])
	case ">=":
		return c >= 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case "<":
		return c < 0
	case "!=":
		return c != 0
	}
	return c == 0
}

// CheckVersion compares required_version with the version of this program. A development build
// satisfies all constraints.
func CheckVersion(blocks hcl.Blocks, running string) (diags hcl.Diagnostics) {
	for _, block := range blocks.OfType(schemas.Lkeplan.Type) {
		content, _, _ := block.Body.PartialContent(decode.Schema(schemas.Lkeplan))
		attr := content.Attributes["required_version"]
		if attr == nil {
			continue
		}
		constraint, valueDiags := decode.Literal(attr)
		if valueDiags.HasErrors() {
			diags = append(diags, valueDiags...)
			continue
		}
		v, _, _ := parseVersion(running)
		ok, err := v.satisfies(constraint)
		switch {
		case err != nil:
			diags = append(diags, diag.AtExpression("Invalid version constraint",
				fmt.Sprintf(`required_version must have a form such as "~> 0.3" or ">= 0.2, < 1.0": %s.`, err), attr.Expr))
		case !ok && running != "":
			diags = append(diags, diag.AtExpression("Unsupported version of lkeplan",
				fmt.Sprintf("This directory requires lkeplan %s, and this is %s. Install a matching version.",
					constraint, running), attr.Expr))
		}
	}
	return diags
}
