package eval

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/diag"
)

// secretsAmong returns the references to secrets. Their targets have been evaluated.
func (s *Scope) secretsAmong(references []hcl.Traversal) (secrets []hcl.Traversal) {
	for _, reference := range references {
		if s.isSecret(reference) {
			secrets = append(secrets, reference)
		}
	}
	return secrets
}

func (s *Scope) isSecret(reference hcl.Traversal) bool {
	root := s.roots[reference.RootName()]
	switch {
	case root.Node != nil:
		return root.Node.Secret
	case root.Table == nil:
		return false
	}
	if name, _, named := SecondName(reference); named {
		node := root.Table.Nodes[name]
		return node != nil && node.Secret
	}
	for _, node := range root.Table.Nodes {
		if node.Secret {
			return true
		}
	}
	return false
}

// refuseSecrets reports references to secrets, unless the scope is private: values are written into
// objects, which many users can read.
func (s *Scope) refuseSecrets(references []hcl.Traversal) (diags hcl.Diagnostics) {
	if s.private {
		return nil
	}
	for _, reference := range s.secretsAmong(references) {
		at := reference.SourceRange()
		name := reference.RootName()
		if second, _, named := SecondName(reference); named {
			name += "." + second
		}
		diags = append(diags, diag.At("Value from a Secret",
			fmt.Sprintf("%s comes from a Secret, but objects, names, guards and messages are readable by many "+
				"users. Refer to it only in conditions and locals, or move values that are not secret to a "+
				"ConfigMap.", name), at))
	}
	return diags
}
