package compare

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// ObjectOf returns a live object in the form of a plan, with the address of a block of its name. Lists leave out
// its kind.
func ObjectOf(block schemas.Block, live metav1.Object) (config.Object, error) {
	fields, err := manifest.Untyped(live)
	if err != nil {
		return config.Object{}, fmt.Errorf("read %s %s: %w", block.Object.Kind, live.GetName(), err)
	}
	fields["apiVersion"], fields["kind"] = block.Object.APIVersion, block.Object.Kind
	return config.Object{Addr: config.Addr{Type: block.Type, Name: live.GetName()}, Manifest: fields, Defaulted: fields}, nil
}
