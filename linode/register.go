package linode

import (
	"errors"
	"sync"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/lkeplan/lkeplan/linode/instancetype"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	lkeplanv1alpha1 "github.com/lkeplan/lkeplan/schemas/lkeplan/v1alpha1"
)

// Register does for the linked Karpenter what instancetype.Register does, and adds the kinds LinodeNodeClass and
// CapacityLimit to client-go's scheme. It must be called before any code of Karpenter runs. Further calls do
// nothing.
func Register() { register() }

var register = sync.OnceFunc(func() {
	instancetype.Register()
	if err := errors.Join(linodev1alpha1.AddToScheme(scheme.Scheme),
		lkeplanv1alpha1.AddToScheme(scheme.Scheme)); err != nil {
		panic(err) // it never fails
	}
})
